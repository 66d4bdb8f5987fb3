//! What a stream costs.

use super::{Data, Stream};
use larder_packed::heap;

impl Stream {
    /// Bytes of heap, estimated from `samples` nodes, and packs of each group; 0 looks at all.
    pub fn memory_bytes(&self, samples: u64) -> u64 {
        let own = (heap::class_size(16 + size_of::<Data>()) + self.0.groups.capacity() * 8) as u64;
        own + self.0.nodes.heap_bytes(samples)
            + self.groups().map(|group| group.memory_bytes(samples)).sum::<u64>()
    }

    /// Number of nodes that hold entries.
    pub fn entry_node_count(&self) -> u64 {
        self.0.nodes.blocks()
    }

    /// Number of allocations, roughly.
    pub fn node_count(&self) -> u64 {
        1 + self.0.nodes.blocks() + self.groups().map(super::Group::node_count).sum::<u64>()
    }
}
