//! The hash of members of sets and sorted sets and of fields of hashes: seeded once a process, so that nobody outside can
//! choose members that collide.

use crate::key_table::KeyHash;
use foldhash::quality::SeedableRandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

static STATE: LazyLock<SeedableRandomState> = LazyLock::new(SeedableRandomState::random);

/// The hash of a member: 64 good bits, the same for equal bytes as long as the process lives.
#[inline]
pub fn member_hash(bytes: &[u8]) -> u64 {
    let mut hasher = STATE.build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// [`member_hash`] as the collections ask for it; tests put others in its place.
#[derive(Clone, Copy, Debug)]
pub struct MemberHash;

impl KeyHash for MemberHash {
    #[inline]
    fn hash(bytes: &[u8]) -> u64 {
        member_hash(bytes)
    }
}
