//! The counted B+ tree: packed blocks in order, found by position, by what is counted in them, or by key.
//!
//! What it is: a B+ tree whose nodes know, for each child, a sum over all that is below it: a number of elements, of blocks, of
//! whatever a kind of tree ([`Shape`]) counts. So element number i is found in O(log n), where a linked list of blocks
//! (Redis's quicklist) walks, and the rank of an integer is known without a look at those before it. Why not a balanced
//! binary tree: a block costs one slot in a vector here, and a search touches two or three nodes. Nodes are shared by
//! reference count, and copied along the path on write.
//!
//! | | cost |
//! |---|---|
//! | memory of a block | its slot: 12 bytes in lists, 18 in sets of integers, 32 in streams; its part of the nodes: 2 to 4 |
//! | spare room of a node that grows | up to 15 slots in columns, a quarter in rows |
//! | find | O(log n): in a node 5 to 7 steps by key, up to [`Shape::FANOUT`] by count |
//! | change, insert or remove a block | O(log n), and a copy of the path where it is shared |
//! | sum over all blocks before one | O(log n) |
//! | cut in two, put two together: trees without keys | O(log n) |
//! | sum over all blocks | O(1) |
//! | clone | O([`Shape::FANOUT`]): the slots of the root |
//!
//! ```text
//!   Tree   sum, root
//!                |
//!   Inner  keys: [Key; 2..=FANOUT]  counts: [Sum; same]    children: [Arc<Node>; same]
//!                                                                        |
//!   Leaf   keys: [Key; ..=FANOUT]   counts: [Count; same]  children: [Block; same]
//! ```
//! The slots of a node are in columns, as drawn, or in rows ([`slots`]).
//!
//! | kind | block | key | sum | fanout | slots |
//! |---|---|---|---|---|---|
//! | list | elements | none | elements, blocks, blocks to compress, compressed ones | 32 | columns |
//! | set of integers | integers | lower bound | integers | 128 | columns |
//! | stream | live entries | first id | live entries | 64 | rows; blocks keep their counts |
//! | pending entries | records | first id | records | 64 | rows |
//!
//! Invariants:
//! - T1: all leaves are at the same depth; a node has at most [`Shape::FANOUT`] children, every node but the root at least
//!   [`Shape::FANOUT_MIN`]; an inner root has at least two.
//! - T2: the count of a slot is the sum over what is below, in a leaf what [`Shape::count`] says of the block; `sum` is that
//!   of the root.
//! - T3: what is below slot `i` is not less than its key, but for the first slot of a node, whose key is not looked at, and less
//!   than the key of slot `i + 1`.
//!
//! Tested by `tests.rs` beside this file, and by the model tests of the three types.

mod edit;
mod join;
mod node;
mod slots;
#[cfg(test)]
mod tests;

use larder_packed::block::Direction;
use larder_packed::heap::Mover;
use std::fmt;
use std::ops::ControlFlow;

pub(crate) use edit::LeafMut;
pub(crate) use node::{
    ByBlock, ByEnd, ByKey, Count, CountsBlocks, Node, Seek, Shape, SlotsOf, Sum, find_counted, pass,
};
pub(crate) use slots::{Columns, CountedRows, KeepsCount, Rows, Slots};

/// See the module's comment.
pub(crate) struct Tree<S: Shape> {
    root: Node<S>,
    sum: S::Sum,
}

impl<S: Shape> Tree<S> {
    /// A tree of one leaf, which has this sum.
    pub(crate) const fn of_leaf(leaf: S::Leaf, sum: S::Sum) -> Self {
        Tree { root: Node::Leaf(leaf), sum }
    }

    /// The sum over all blocks.
    #[inline]
    pub(crate) fn sum(&self) -> S::Sum {
        self.sum
    }

    /// The leaf that `seek` leads to, and the block's position there.
    #[inline]
    pub(crate) fn find(&self, seek: &mut impl Seek<S>) -> (&S::Leaf, usize) {
        let mut node = &self.root;
        loop {
            match node {
                Node::Inner(slots) => node = slots.child(seek.at(slots, false)),
                Node::Leaf(slots) => return (slots, seek.at(slots, true)),
            }
        }
    }

    /// The block that `seek` leads to, and its key; None in a tree without blocks.
    #[inline]
    pub(crate) fn get(&self, seek: &mut impl Seek<S>) -> Option<(S::Key, &S::Block)> {
        let (slots, at) = self.find(seek);
        (at < slots.len()).then(|| (slots.key(at), slots.child(at)))
    }

    /// The only leaf, if there is one.
    pub(crate) fn only_leaf(&self) -> Option<&S::Leaf> {
        match &self.root {
            Node::Leaf(slots) => Some(slots),
            Node::Inner(_) => None,
        }
    }

    /// As [`Tree::find`], with the sum over all blocks before.
    pub(crate) fn find_summing(&self, seek: &mut impl Seek<S>) -> (S::Sum, &S::Leaf, usize) {
        let (mut node, mut sum) = (&self.root, S::Sum::default());
        loop {
            match node {
                Node::Inner(slots) => {
                    let at = seek.at(slots, false);
                    sum = sum.plus(node::sum_of::<S>(slots, at));
                    node = slots.child(at);
                }
                Node::Leaf(slots) => {
                    let at = seek.at(slots, true);
                    return (sum.plus(node::sum_of::<S>(slots, at)), slots, at);
                }
            }
        }
    }

    /// Calls `f` with the blocks from the one that `seek` leads to on, and their keys, until it breaks.
    pub(crate) fn walk<'a, R>(
        &'a self,
        seek: &mut impl Seek<S>,
        direction: Direction,
        f: &mut impl FnMut(S::Key, &'a S::Block) -> ControlFlow<R>,
    ) -> ControlFlow<R> {
        self.root.walk(seek, direction, f)
    }

    /// Moves nodes that lie in sparse slabs and are not shared; `f` moves the blocks of such nodes.
    pub(crate) fn move_blocks(&mut self, mover: &mut Mover, f: &mut impl FnMut(&mut S::Block, &mut Mover)) {
        self.root.move_blocks(mover, f);
    }

    /// Bytes of heap without the blocks, and the number of blocks. O(nodes).
    pub(crate) fn heap_bytes(&self) -> (usize, usize) {
        self.root.heap_bytes()
    }

    /// Panics if an invariant of the module's comment is violated. `check` gets each block, its key, and the keys that what is in
    /// it may have, where None is no bound.
    pub(crate) fn check_invariants(&self, check: &mut node::Check<'_, S>) {
        self.root.check(true, &(None..None), check);
        assert_eq!(self.root.sum(), self.sum, "T2: the sum of the root");
    }
}

impl<S: Shape> Default for Tree<S> {
    fn default() -> Self {
        Tree { root: Node::default(), sum: S::Sum::default() }
    }
}

impl<S: Shape> Clone for Tree<S> {
    fn clone(&self) -> Self {
        Tree { root: self.root.clone(), sum: self.sum }
    }
}

impl<S: Shape> fmt::Debug for Tree<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tree of {:?}", self.sum)
    }
}
