//! The list: a sequence of byte strings, pushed and popped at both ends, indexed anywhere.
//!
//! What it is: one packed block while it is small; above that a directory: the two end blocks at hand, and a counted
//! B+ tree over the blocks between. Why not a linked list of blocks, as Redis has: positions then cost a walk. Why not
//! one tree with the ends in it: a push would walk down the tree, where here it touches the end block and two totals.
//!
//! | | cost |
//! |---|---|
//! | memory, small | the block: 32 bytes + the elements packed (see `larder_packed::block`) |
//! | memory, big | about 32 + 14 bytes per block of 4-64 KB, and two blocks open at full size |
//! | push, pop at an end | amortised O(1), the same at head and tail and for every block size |
//! | get, set, insert, remove by index | O(log n) to the block, then one block |
//! | remove a range | O(log n) and two blocks; the blocks between are freed without being read |
//! | clone | O(1): everything is shared, and copied block by block on write |
//!
//! ```text
//!   Packed(Block)
//!
//!   Tree(Arc) -> ListTree  head: Block   inner: Tree of Blocks   tail: Option<Block>   len, origin, salt
//!                            |             |  (counted B+ tree)     |
//!                          plain         plain or compressed      plain
//! ```
//!
//! Invariants:
//! - L1: `len` is the sum over head, inner and tail.
//! - L2: head and tail are plain; without a tail there is no inner block.
//! - L3: the head is empty only if the whole list is; tail and inner blocks are never empty.
//! - L4: a block exceeds the limit of its time only if it has one element, or was compressed together with others.
//! - L5: the position label of an element (see `scan`) never decreases while it is in the list.
//!
//! Tested by the model test in `tests` beside this file.

mod ahead;
mod blocks;
mod compress;
mod directory;
mod ends;
mod image;
mod middle;
mod options;
mod range;
mod scan;
mod stats;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::Arc;

use crate::relocation::move_arc;
use larder_packed::block::Block;
use larder_packed::heap::Mover;

use directory::ListTree;

pub use compress::{Done, Job};
pub use directory::Directory;
pub use ends::Popped;
pub use larder_packed::block::{Direction, Element, End};
pub use larder_packed::codec::Codec;
pub use options::{Fill, ListOptions};
pub use scan::InvalidCursor;
pub use stats::{ListEncoding, QuicklistStats};

/// See the module's comment. Cloning is O(1).
#[derive(Clone, Debug)]
pub enum List {
    /// All elements in one block.
    Packed(Block),
    /// A directory over blocks.
    Tree(Directory),
}

impl List {
    /// An empty list.
    pub fn new() -> List {
        List::Packed(Block::empty())
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            List::Packed(block) => block.len() as u64,
            List::Tree(tree) => tree.0.len,
        }
    }

    /// True if there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Turns the list into a directory if it is not one, and returns it ready to be written.
    fn make_tree(&mut self) -> &mut ListTree {
        if let List::Packed(block) = self {
            let head = std::mem::replace(block, Block::empty());
            *self = List::Tree(Directory(Arc::new(ListTree::of(head))));
        }
        match self {
            List::Tree(tree) => Arc::make_mut(&mut tree.0),
            List::Packed(_) => unreachable!("it was just made a tree"),
        }
    }

    /// Moves the list's blocks, those that lie in sparse slabs and are not shared.
    pub(crate) fn move_blocks(&mut self, mover: &mut Mover) {
        match self {
            List::Packed(block) => block.move_block(mover),
            List::Tree(Directory(tree)) => {
                if let Some(tree) = move_arc(tree, mover) {
                    tree.move_blocks(mover);
                }
            }
        }
    }

    /// Panics if an invariant of the module's comment is violated. O(n).
    pub fn check_invariants(&self) {
        match self {
            List::Packed(block) => {
                block.check_invariants();
                assert!(!block.is_compressed(), "L2: a small list is plain");
            }
            List::Tree(tree) => tree.0.check_invariants(),
        }
    }
}

impl Default for List {
    fn default() -> Self {
        List::new()
    }
}
