//! The hash of keys.

use larder_collections::key_table::KeyHash;
use larder_collections::keyed_hash::{Purpose, keyed_hasher, set_seed};
use siphasher::sip::SipHasher13;
use std::sync::LazyLock;

static HASHER: LazyLock<SipHasher13> = LazyLock::new(|| keyed_hasher(Purpose::Keys));

/// Has all hashes depend on a text in place of random numbers. False when it comes too late: something has been hashed.
pub fn set_hash_seed(text: &[u8]) -> bool {
    set_seed(text)
}

/// The hash of a key.
#[inline]
pub(crate) fn hash(key: &[u8]) -> u64 {
    HASHER.hash(key)
}

/// The hash as the tables ask for it.
pub struct KeyspaceHash;

impl KeyHash for KeyspaceHash {
    #[inline]
    fn hash(key: &[u8]) -> u64 {
        hash(key)
    }
}
