//! What a set of integers tells about itself.

use super::{IntSet, IntTree};

/// Fewer blocks than this are all looked at: the last one is often emptier than the others.
const SAMPLES_MIN: usize = 64;

impl IntSet {
    /// Blocks: what freeing the set costs.
    pub fn node_count(&self) -> u64 {
        match self {
            IntSet::Packed(_) => 1,
            IntSet::Tree(tree) => tree.0.tree.heap_bytes().1 as u64,
        }
    }

    /// Heap bytes of the set. Exact when `samples` is 0; else only that many blocks are looked at, and the rest is taken
    /// to be like them.
    pub fn memory_bytes(&self, samples: u64) -> u64 {
        let (directory, blocks) = match self {
            IntSet::Packed(block) => return block.heap_bytes() as u64,
            IntSet::Tree(tree) => tree.0.tree.heap_bytes(),
        };
        let seen = if samples == 0 {
            blocks
        } else {
            blocks.min(usize::try_from(samples).unwrap_or(usize::MAX).max(SAMPLES_MIN))
        };
        let sum: usize = self.blocks_from(i64::MIN).take(seen).map(|block| block.heap_bytes()).sum();
        let own = size_of::<IntTree>() + 2 * size_of::<usize>();
        (own + directory) as u64 + (sum as u128 * blocks as u128 / seen.max(1) as u128) as u64
    }
}
