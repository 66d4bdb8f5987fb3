//! The hash of keys: seeded once a process, so that nobody outside can choose keys that collide.

use foldhash::quality::SeedableRandomState;
use larder_collections::key_table::KeyHash;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

static STATE: LazyLock<SeedableRandomState> = LazyLock::new(SeedableRandomState::random);

/// The hash of a key.
#[inline]
pub(crate) fn hash(key: &[u8]) -> u64 {
    let mut hasher = STATE.build_hasher();
    hasher.write(key);
    hasher.finish()
}

/// The hash as the tables ask for it.
pub struct KeyspaceHash;

impl KeyHash for KeyspaceHash {
    #[inline]
    fn hash(key: &[u8]) -> u64 {
        hash(key)
    }
}
