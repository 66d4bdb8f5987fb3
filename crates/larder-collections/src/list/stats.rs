//! What a list tells about itself.

use std::cell::Cell;
use std::ops::ControlFlow;

use larder_packed::block::Block;

use super::{List, ListOptions};

/// What OBJECT ENCODING calls the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListEncoding {
    /// One small block.
    Listpack,
    /// Blocks in a directory.
    Quicklist,
}

/// What DEBUG OBJECT tells of a quicklist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuicklistStats {
    /// Blocks.
    pub nodes: u64,
    /// Elements per block.
    pub avg_node: f64,
    /// The fill setting.
    pub listpack_max: i32,
    /// True if compression is on (the setting).
    pub compressed: bool,
    /// Bytes of all blocks when plain, as fill limits count them.
    pub uncompressed_size: u64,
    /// Blocks that are compressed now.
    pub nodes_compressed: u64,
}

impl List {
    /// What OBJECT ENCODING calls the list.
    pub fn encoding(&self) -> ListEncoding {
        match self {
            List::Tree(tree) if tree.0.tail.is_some() || !tree.0.small_again => ListEncoding::Quicklist,
            _ => ListEncoding::Listpack,
        }
    }

    /// Numbers for DEBUG OBJECT. O(blocks).
    pub fn stats(&self, options: &ListOptions) -> QuicklistStats {
        let nodes = self.node_count();
        QuicklistStats {
            nodes,
            avg_node: if nodes == 0 { 0.0 } else { self.len() as f64 / nodes as f64 },
            listpack_max: options.fill.setting(),
            compressed: options.compress_depth != 0,
            uncompressed_size: self.sum_blocks(u64::MAX, |block| block.size_bytes() as u64),
            nodes_compressed: self.compressed_blocks(),
        }
    }

    /// Blocks that are compressed now. O(1).
    pub fn compressed_blocks(&self) -> u64 {
        match self {
            List::Packed(_) => 0,
            List::Tree(tree) => u64::from(tree.0.inner().sum().compressed),
        }
    }

    /// Bytes that the blocks would take if none were compressed. Exact when `samples` is 0; else only that many blocks are looked at, and
    /// the rest is taken to be like them.
    pub fn plain_bytes(&self, samples: u64) -> u64 {
        self.estimate(samples, |block| block.size_bytes() as u64)
    }

    /// Bytes that compression saves: what [`List::memory_bytes`] would be more if no block were compressed. Exact when
    /// `samples` is 0; else that many blocks are looked at, and the rest is taken to be like them.
    pub fn saved_bytes(&self, samples: u64) -> u64 {
        self.estimate(samples, |block| (block.size_bytes() as u64).saturating_sub(block.heap_bytes() as u64))
    }

    /// Blocks: what freeing the list costs.
    pub fn node_count(&self) -> u64 {
        match self {
            List::Packed(_) => 1,
            List::Tree(tree) => tree.0.blocks() as u64,
        }
    }

    /// Heap bytes of the list. Exact when `samples` is 0; else only that many blocks are looked at, and the rest is
    /// taken to be like them.
    pub fn memory_bytes(&self, samples: u64) -> u64 {
        let directory = match self {
            List::Packed(_) => 0,
            List::Tree(tree) => tree.0.heap_bytes() as u64,
        };
        directory + self.estimate(samples, |block| block.heap_bytes() as u64)
    }

    /// The sum of a size of all blocks, from that of `samples` of them and the elements they have: blocks differ in length, those at the ends
    /// and those that are compressed together most of all. 0 looks at all.
    fn estimate(&self, samples: u64, size: impl Fn(&Block) -> u64) -> u64 {
        let left = if samples == 0 { u64::MAX } else { samples };
        let seen = Cell::new(0u64);
        let sum = self.sum_blocks(left, |block| {
            seen.set(seen.get() + block.len() as u64);
            size(block)
        });
        (u128::from(sum) * u128::from(self.len()) / u128::from(seen.get().max(1))) as u64
    }

    fn sum_blocks(&self, mut left: u64, size: impl Fn(&Block) -> u64) -> u64 {
        let mut sum = 0;
        let mut add = |block: &Block| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            sum += size(block);
            ControlFlow::Continue(())
        };
        let _ = match self {
            List::Packed(block) => add(block),
            List::Tree(_) => self.for_each_block(add),
        };
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Fill;

    #[test]
    fn encoding_follows_the_size() {
        let options = ListOptions { fill: Fill::new(4), ..ListOptions::default() };
        let mut list = List::new();
        assert_eq!(list.encoding(), ListEncoding::Listpack);
        (0..4).for_each(|_| list.push_back(b"x", &options));
        assert_eq!(list.encoding(), ListEncoding::Listpack);
        list.push_back(b"x", &options);
        assert_eq!(list.encoding(), ListEncoding::Quicklist);
        assert_eq!((list.stats(&options).nodes, list.stats(&options).avg_node), (2, 2.5));
        list.pop_back(&options);
        list.pop_back(&options);
        assert_eq!(list.encoding(), ListEncoding::Quicklist, "three of four is not half");
        list.pop_back(&options);
        assert_eq!(list.encoding(), ListEncoding::Listpack);
        let mut plain = List::new();
        plain.push_back(&[b'x'; 9000], &options);
        assert_eq!(plain.encoding(), ListEncoding::Quicklist);
    }
}
