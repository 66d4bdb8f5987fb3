//! What a set tells about itself.

use super::{Parts, Set};

impl Set {
    /// Allocations, roughly: what freeing the set costs.
    pub fn node_count(&self) -> u64 {
        let strings = self.strings().map_or(0, |strings| strings.node_count() as u64);
        self.ints().map_or(0, |ints| ints.node_count()) + strings
    }

    /// Heap bytes of the set. Exact when `samples` is 0; else only that many blocks of integers are looked at, and the
    /// rest is taken to be like them.
    pub fn memory_bytes(&self, samples: u64) -> u64 {
        let own = if matches!(self, Set::Both(_)) { size_of::<Parts>() + 2 * size_of::<usize>() } else { 0 };
        let strings = self.strings().map_or(0, |strings| strings.memory_bytes());
        (own + strings) as u64 + self.ints().map_or(0, |ints| ints.memory_bytes(samples))
    }
}
