//! The hash of members of sets and sorted sets and of fields of hashes.

use crate::key_table::KeyHash;
use crate::keyed_hash::{Purpose, keyed_hasher};
use siphasher::sip::SipHasher13;
use std::sync::LazyLock;

static HASHER: LazyLock<SipHasher13> = LazyLock::new(|| keyed_hasher(Purpose::Members));

/// The hash of a member: 64 good bits, the same for equal bytes as long as the process lives.
#[inline]
#[must_use]
pub fn member_hash(bytes: &[u8]) -> u64 {
    HASHER.hash(bytes)
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
