//! The keys of a shard that a script has reserved, which lends the shard meanwhile: `locks/lending.rs`.
//!
//! They are known by their hashes: eight bytes and one more for each, with the free room of a hash table. So a command on a key of another database, or on
//! another key of the same hash, waits without need. Asking is O(1). Where there are none, which every command asks, the table is not there: one word of the shard.

use std::collections::HashSet;

/// See the module's comment.
#[derive(Default)]
pub(crate) struct Reserved(Option<Box<Hashes>>);

#[derive(Default)]
struct Hashes {
    all: HashSet<u64>,
}

impl Reserved {
    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the key with this hash is one of them.
    #[inline]
    pub(crate) fn has(&self, hash: u64) -> bool {
        self.0.as_ref().is_some_and(|hashes| hashes.all.contains(&hash))
    }

    /// Adds the key with this hash. Whether it was not there yet.
    pub(crate) fn add(&mut self, hash: u64) -> bool {
        self.0.get_or_insert_default().all.insert(hash)
    }
}
