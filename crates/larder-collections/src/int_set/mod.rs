//! The set of integers: sorted, counted, and packed at every size.
//!
//! What it is: one integer block while it is small; above that a counted B+ tree over such blocks, ordered by value. Why
//! not a hash table, as Redis turns to above 512 integers: a table stores 8 bytes a value and scatters neighbours, where
//! a block of neighbours needs one to four bytes for each, and two sets that are sorted intersect by walking
//! along both.
//!
//! | | cost |
//! |---|---|
//! | memory, small | the block: 16 bytes + 1, 2, 4 or 8 a value |
//! | memory, big | about 3 bytes a value for 2 million below 10^9, 1.3 for a sequence, 11 for random 64-bit values |
//! | contains, insert, remove | O(log n): two or three nodes and a block of at most 512 bytes |
//! | the value of a rank, hence uniform sampling | O(log n) |
//! | in order, from any value on | O(1) a value |
//! | clone | O(1): everything is shared; a write copies a block and the path to it |
//!
//! ```text
//!   Packed(IntBlock)
//!
//!   Tree(Arc) -> IntTree  overgrown, tree -> [lower bound | values | IntBlock] x n
//! ```
//!
//! Invariants: those of [`counted_tree`](crate::counted_tree); no block of a tree is empty.
//!

//! Tested by the model test in `tests` beside this file.

mod blocks;
mod iter;
mod sample;
mod seek;
mod stats;
#[cfg(test)]
mod tests;
mod tree;

use crate::relocation::move_arc;
use larder_packed::heap::Mover;
use larder_packed::int_block::{Insert, IntBlock};
use std::sync::Arc;

pub use blocks::BlockReader;
pub use iter::{Blocks, CURSOR_END, Iter};
pub use seek::Seeker;

/// See the module's comment. Cloning is O(1).
#[derive(Clone, Debug)]
pub enum IntSet {
    /// All values in one block.
    Packed(IntBlock),
    /// A directory over blocks.
    Tree(Tree),
}

/// The directory of a large set, opaque.
#[derive(Clone, Debug)]
pub struct Tree(pub(crate) Arc<IntTree>);

#[derive(Clone, Debug)]
pub(crate) struct IntTree {
    tree: tree::Tree,
    /// The set was once larger than an intset may be. It is remembered for OBJECT ENCODING.
    overgrown: bool,
}

impl IntSet {
    /// An empty set.
    pub fn new() -> IntSet {
        IntSet::Packed(IntBlock::empty())
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            IntSet::Packed(block) => block.len() as u64,
            IntSet::Tree(tree) => tree.0.tree.sum(),
        }
    }

    /// True if there is no value.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if `value` is in the set.
    #[inline]
    pub fn contains(&self, value: i64) -> bool {
        match self {
            IntSet::Packed(block) => block.contains(value),
            IntSet::Tree(tree) => tree.0.tree.contains(value),
        }
    }

    /// Adds a value; true if it was not there.
    pub fn insert(&mut self, value: i64) -> bool {
        match self {
            IntSet::Packed(block) => match block.insert_alone(value) {
                Insert::Added => true,
                Insert::Present => false,
                Insert::Full => self.make_tree().tree.insert(value),
            },
            IntSet::Tree(tree) => {
                if Arc::get_mut(&mut tree.0).is_none() && tree.0.tree.contains(value) {
                    return false;
                }
                Arc::make_mut(&mut tree.0).tree.insert(value)
            }
        }
    }

    /// Removes a value; true if it was there.
    pub fn remove(&mut self, value: i64) -> bool {
        match self {
            IntSet::Packed(block) => {
                let found = block.search(value);
                if let Ok(at) = found {
                    block.remove(at);
                }
                found.is_ok()
            }
            IntSet::Tree(tree) => {
                if Arc::get_mut(&mut tree.0).is_none() && !tree.0.tree.contains(value) {
                    return false;
                }
                let tree = Arc::make_mut(&mut tree.0);
                let removed = tree.tree.remove(value);
                if removed
                    && !tree.overgrown
                    && let Some(block) = tree.tree.only_block()
                {
                    *self = IntSet::Packed(block);
                }
                removed
            }
        }
    }

    /// Whether the set was marked as larger than an intset may be.
    pub fn is_overgrown(&self) -> bool {
        matches!(self, IntSet::Tree(tree) if tree.0.overgrown)
    }

    /// Marks the set as larger than an intset may be, for good.
    pub fn set_overgrown(&mut self) {
        if !self.is_overgrown() {
            self.make_tree().overgrown = true;
        }
    }

    fn make_tree(&mut self) -> &mut IntTree {
        if let IntSet::Packed(block) = self {
            let block = std::mem::replace(block, IntBlock::empty());
            let tree = IntTree { tree: tree::Tree::of(block), overgrown: false };
            *self = IntSet::Tree(Tree(Arc::new(tree)));
        }
        match self {
            IntSet::Tree(tree) => Arc::make_mut(&mut tree.0),
            IntSet::Packed(_) => unreachable!("it was just made a tree"),
        }
    }

    /// Moves the set's blocks, those that lie in sparse slabs and are not shared.
    pub(crate) fn move_blocks(&mut self, mover: &mut Mover) {
        match self {
            IntSet::Packed(block) => block.move_block(mover),
            IntSet::Tree(Tree(tree)) => {
                if let Some(set) = move_arc(tree, mover) {
                    set.tree.move_blocks(mover, &mut IntBlock::move_block);
                }
            }
        }
    }

    /// Panics if an invariant of the module's comment is violated. O(n).
    pub fn check_invariants(&self) {
        match self {
            IntSet::Packed(block) => block.check_invariants(),
            IntSet::Tree(tree) => tree.0.tree.check(),
        }
    }
}

impl Default for IntSet {
    fn default() -> Self {
        IntSet::new()
    }
}

impl FromIterator<i64> for IntSet {
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Self {
        let mut set = IntSet::new();
        for value in values {
            set.insert(value);
        }
        set
    }
}
