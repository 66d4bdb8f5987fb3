//! A key, and the shard that it belongs to.

pub use crate::keyspace::hash::SHARDS;
use crate::keyspace::hash::{hash, shard_of};

/// A key with its hash, computed once a command.
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    /// The name.
    pub bytes: &'k [u8],
    /// The seeded hash of the name.
    pub hash: u64,
}

impl<'k> Key<'k> {
    /// Of a name.
    #[inline]
    pub fn of(bytes: &'k [u8]) -> Key<'k> {
        Key { bytes, hash: hash(bytes) }
    }

    /// The shard that the key belongs to.
    pub fn shard(&self) -> usize {
        shard_of(self.hash)
    }
}
