//! The keys of a shard that a script has reserved, which lends the shard meanwhile: `locks/lending.rs`.
//!
//! They are known by their hashes: eight bytes and one more for each, with the free room of a hash table. So a command on a key of another database, or on
//! another key of the same hash, waits without need. Asking is O(1), and nothing where there are none.

use std::collections::HashSet;

/// See the module's comment.
#[derive(Default)]
pub(crate) struct Reserved(HashSet<u64>);

impl Reserved {
    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the key with this hash is one of them.
    #[inline]
    pub(crate) fn has(&self, hash: u64) -> bool {
        !self.is_empty() && self.0.contains(&hash)
    }

    /// Adds the key with this hash. Whether it was not there yet.
    pub(crate) fn add(&mut self, hash: u64) -> bool {
        self.0.insert(hash)
    }
}
