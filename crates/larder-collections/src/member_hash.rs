//! The hash of members and fields: seeded once a process, so that nobody outside can choose some that collide.

use crate::key_table::KeyHash;
use foldhash::quality::SeedableRandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

static STATE: LazyLock<SeedableRandomState> = LazyLock::new(SeedableRandomState::random);

/// The hash of a member of a set or a field of a hash.
#[inline]
pub fn member_hash(bytes: &[u8]) -> u64 {
    let mut hasher = STATE.build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// [`member_hash`] as tables ask for it; tests put others in its place.
pub struct MemberHash;

impl KeyHash for MemberHash {
    #[inline]
    fn hash(key: &[u8]) -> u64 {
        member_hash(key)
    }
}
