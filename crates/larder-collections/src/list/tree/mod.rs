//! The counted B+ tree of blocks: the directory of a list's inner blocks.
//!
//! What it is: a B+ tree without keys. Each inner node knows how many elements, blocks and compressible blocks lie
//! below each child, so an element or a block is found by position in O(log n), where a linked list of blocks (Redis's
//! quicklist) walks. Nodes are shared by reference count and copied along the path on write.
//!
//! | | cost |
//! |---|---|
//! | memory per block | 12 bytes of leaf, under 2 bytes of inner nodes, up to twice that after random inserts |
//! | find by element or by block | O(log n): 32 counts a level, 3 levels for 10 million words |
//! | insert, remove a block; replace one | O(log n), and a copy of the path when it is shared |
//! | split, append another tree | O(log n) |
//! | clone | O(1) |
//!
//! ```text
//!            Inner  children: [Arc<Node>; 2..=32]   sums: [Sum; same]
//!                     |            \
//!   Leaf  blocks: [Block; 8..=32]   Leaf ...     tags: [len | compressed << 30 | pending << 31; same]
//! ```
//!
//! Invariants:
//! - T1: all leaves are at the same depth; a node has at most [`FANOUT`] children, every node but the root at least
//!   [`FANOUT_MIN`]; an inner root has at least two.
//! - T2: `sums[i]` is the sum over child `i`; a leaf's tags agree with its blocks.
//! - T3: no block is empty.
//!
//! Tested by `tests.rs` beside this file, and by the list's model test.

mod edit;
mod join;
mod node;
#[cfg(test)]
mod tests;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use larder_packed::block::{Block, Direction};
use node::{FANOUT, FANOUT_MIN, Node};

pub(crate) use node::Sum;

/// See the module's comment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    root: Option<Arc<Node>>,
    sum: Sum,
}

impl Tree {
    /// What lies in the tree.
    #[inline]
    pub(crate) fn sum(&self) -> Sum {
        self.sum
    }

    /// Number of blocks.
    #[inline]
    pub(crate) fn blocks(&self) -> usize {
        self.sum.blocks as usize
    }

    /// The block that holds element `index`, as (position of the block, offset inside it).
    pub(crate) fn locate(&self, index: u64) -> Option<(usize, usize)> {
        let mut node = self.root.as_deref().filter(|_| index < self.sum.len)?;
        let (mut position, mut left) = (0, index);
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let (i, offset) = leaf.find(left);
                    return Some((position + i, offset as usize));
                }
                Node::Inner(inner) => {
                    let i = inner.find_element(&mut left, &mut position);
                    node = &inner.children[i];
                }
            }
        }
    }

    /// The block at `position`.
    pub(crate) fn get(&self, position: usize) -> Option<&Block> {
        let mut node = self.root.as_deref().filter(|_| position < self.blocks())?;
        let mut left = position;
        loop {
            match node {
                Node::Leaf(leaf) => return Some(&leaf.blocks[left]),
                Node::Inner(inner) => node = &inner.children[inner.find_block(&mut left)],
            }
        }
    }

    /// True if `block` counts as worth compressing.
    pub(crate) fn is_pending(block: &Block) -> bool {
        node::Tag::of(block).sum().pending == 1
    }

    /// Sum over the first `count` blocks.
    pub(crate) fn prefix(&self, count: usize) -> Sum {
        if count >= self.blocks() {
            return self.sum;
        }
        let mut node = self.root.as_deref().expect("a tree with blocks has a root");
        let (mut left, mut sum) = (count, Sum::default());
        loop {
            match node {
                Node::Leaf(leaf) => return sum + leaf.prefix(left),
                Node::Inner(inner) => {
                    let i = inner.find_block(&mut left);
                    inner.sums[..i].iter().for_each(|&s| sum = sum + s);
                    node = &inner.children[i];
                }
            }
        }
    }

    /// Calls `f` with the blocks from `position` on in `direction`, until it breaks.
    pub(crate) fn for_each_from<'a, B>(
        &'a self,
        position: usize,
        direction: Direction,
        f: &mut impl FnMut(&'a Block) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match &self.root {
            Some(root) if position < self.blocks() => root.for_each_from(position, direction, f),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Calls `f` with (elements before it, block) for the blocks in `range` that are of a kind, one that sums count, until
    /// it says no. Skips what has none.
    pub(crate) fn for_each_of(
        &self,
        kind: fn(&Sum) -> u32,
        range: Range<usize>,
        f: &mut impl FnMut(u64, &Block) -> bool,
    ) {
        if let Some(root) = &self.root {
            root.for_each_of(kind, range, Sum::default(), f);
        }
    }

    /// Heap bytes of the nodes, without the blocks.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.heap_bytes())
    }

    /// Panics if an invariant of the module's comment is violated.
    pub(crate) fn check_invariants(&self) {
        let sum = self.root.as_ref().map_or(Sum::default(), |root| {
            root.check(true);
            root.sum()
        });
        assert_eq!(sum, self.sum, "T2: sum of the root");
        assert_eq!(self.root.is_none(), self.sum.blocks == 0, "T1: no root without blocks");
    }
}
