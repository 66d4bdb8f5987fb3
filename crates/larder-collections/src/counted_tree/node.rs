//! Nodes, what a kind of tree says of them, and the way down.

use super::slots::{CountedApart, Slots};
use crate::relocation::move_arc;
use std::fmt::Debug;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use larder_packed::block::Direction;
use larder_packed::heap::Mover;

/// A kind of counted tree: what lies in its leaves, and what its nodes know of it.
pub(crate) trait Shape: Sized {
    /// Most children of a node.
    const FANOUT: usize;
    /// Fewest children of a node that is not the root. A split leaves more on the side that grows, so that splits and merges
    /// do not take turns.
    const FANOUT_MIN: usize = Self::FANOUT / 4;

    /// What blocks are found by; `()` where that is only their position.
    type Key: Copy + Ord + Debug;
    /// Whether a key in a leaf is part of its block, and stays as it is. Otherwise the key of a leaf's first slot says nothing, and it gets the one
    /// by which the leaf is found when it becomes another slot.
    const KEYS_ARE_OF_BLOCKS: bool = false;

    /// What hangs in the leaves. Cloning is O(1).
    type Block: Clone;
    /// What is known of the blocks below a node.
    type Sum: Sum;
    /// The slots of a leaf.
    type Leaf: Slots<Key = Self::Key, Count: Count<Self::Sum>, Child = Self::Block>;
    /// The slots of an inner node.
    type Inner: CountedApart<Key = Self::Key, Count = Self::Sum, Child = Arc<Node<Self>>>;

    /// What a leaf knows of a block.
    fn count(block: &Self::Block) -> <Self::Leaf as Slots>::Count;

    /// Whether a leaf that knows this of a block knows enough: what it is, unless the kind of tree says otherwise.
    fn is_count_of(block: &Self::Block, count: Self::Sum) -> bool {
        Self::count(block).sum() == count
    }
}

/// A sum that can be taken apart again. It wraps around, so that a difference may be below zero.
pub(crate) trait Sum: Copy + Default + PartialEq + Debug {
    fn plus(self, other: Self) -> Self;

    fn minus(self, other: Self) -> Self;
}

/// What a leaf knows of a block: a sum, in fewer bytes.
pub(crate) trait Count<T>: Copy {
    fn sum(self) -> T;
}

/// Slots of a kind of tree, those of a leaf or of an inner node.
pub(crate) trait SlotsOf<S: Shape>: Slots<Key = S::Key, Count: Count<S::Sum>> {}

impl<S: Shape, L: Slots<Key = S::Key, Count: Count<S::Sum>>> SlotsOf<S> for L {}

/// What is looked for on the way down.
pub(crate) trait Seek<S: Shape> {
    /// The slot to go on with; any number in a tree without blocks.
    fn at(&mut self, slots: &impl SlotsOf<S>, is_leaf: bool) -> usize;
}

pub(crate) enum Node<S: Shape> {
    Inner(S::Inner),
    Leaf(S::Leaf),
}

/// Looks for the block that a key belongs to: the last one whose key is not above it, or the first one.
pub(crate) struct ByKey<K>(pub K);

impl<S: Shape> Seek<S> for ByKey<S::Key> {
    #[inline]
    fn at(&mut self, slots: &impl SlotsOf<S>, _is_leaf: bool) -> usize {
        slots.find(self.0)
    }
}

/// Looks for the block where a walk begins.
pub(crate) struct ByEnd(pub Direction);

impl<S: Shape> Seek<S> for ByEnd {
    #[inline]
    fn at(&mut self, slots: &impl SlotsOf<S>, _is_leaf: bool) -> usize {
        if self.0 == Direction::Forward { 0 } else { slots.len().saturating_sub(1) }
    }
}

/// A sum that says how many blocks it is of.
pub(crate) trait CountsBlocks {
    fn blocks(&self) -> u64;
}

/// Looks for the block at a position, which becomes relative to the node. There must be one, but in a tree without blocks.
pub(crate) struct ByBlock(pub u64);

impl<S: Shape<Sum: CountsBlocks>> Seek<S> for ByBlock {
    #[inline]
    fn at(&mut self, slots: &impl SlotsOf<S>, is_leaf: bool) -> usize {
        if is_leaf { self.0 as usize } else { find_counted(slots, |sum| pass(&mut self.0, sum.blocks())) }
    }
}

/// The first slot that is not wholly before what is looked for, as `is_before` says of sums. There must be one.
#[inline]
pub(crate) fn find_counted<S: Sum>(
    slots: &impl Slots<Count: Count<S>>,
    mut is_before: impl FnMut(S) -> bool,
) -> usize {
    let mut at = 0;
    while is_before(slots.count(at).sum()) {
        at += 1;
    }
    at
}

/// Takes `count` off `left`, and says so, if that is not less: what is looked for comes after a slot of this count.
#[inline]
pub(crate) fn pass(left: &mut u64, count: u64) -> bool {
    let Some(rest) = left.checked_sub(count) else { return false };
    *left = rest;
    true
}

/// The sum over the first `count` slots.
#[inline]
pub(super) fn sum_of<S: Shape>(slots: &impl SlotsOf<S>, count: usize) -> S::Sum {
    slots.counts(0..count).fold(S::Sum::default(), |sum, here| sum.plus(here.sum()))
}

impl<T: Sum> Count<T> for T {
    #[inline]
    fn sum(self) -> T {
        self
    }
}

impl Sum for u64 {
    #[inline]
    fn plus(self, other: u64) -> u64 {
        self.wrapping_add(other)
    }

    #[inline]
    fn minus(self, other: u64) -> u64 {
        self.wrapping_sub(other)
    }
}

impl<S: Shape> Clone for Node<S> {
    fn clone(&self) -> Self {
        match self {
            Node::Inner(slots) => Node::Inner(slots.clone()),
            Node::Leaf(slots) => Node::Leaf(slots.clone()),
        }
    }
}

impl<S: Shape> Default for Node<S> {
    fn default() -> Self {
        Node::Leaf(S::Leaf::default())
    }
}

impl<S: Shape> Node<S> {
    /// A node above these, in order, the first of which may have any key.
    pub(super) fn above(children: impl IntoIterator<Item = Arc<Self>>) -> Self {
        let mut slots = S::Inner::default();
        for (at, child) in children.into_iter().enumerate() {
            slots.insert(at, child.key(), child.sum(), child);
        }
        Node::Inner(slots)
    }

    /// Number of children.
    #[inline]
    pub(super) fn width(&self) -> usize {
        match self {
            Node::Inner(slots) => slots.len(),
            Node::Leaf(slots) => slots.len(),
        }
    }

    /// Levels below: 0 for a leaf.
    pub(super) fn height(&self) -> usize {
        match self {
            Node::Inner(slots) => 1 + slots.child(0).height(),
            Node::Leaf(_) => 0,
        }
    }

    pub(super) fn sum(&self) -> S::Sum {
        match self {
            Node::Inner(slots) => sum_of::<S>(slots, slots.len()),
            Node::Leaf(slots) => sum_of::<S>(slots, slots.len()),
        }
    }

    /// The key of the first slot.
    pub(super) fn key(&self) -> S::Key {
        match self {
            Node::Inner(slots) => slots.key(0),
            Node::Leaf(slots) => slots.key(0),
        }
    }

    /// Cuts the node in two of the same height; this one keeps the first `at` children.
    pub(super) fn split_off(&mut self, at: usize) -> Arc<Self> {
        Arc::new(match self {
            Node::Inner(slots) => Node::Inner(slots.split_off(at)),
            Node::Leaf(slots) => Node::Leaf(slots.split_off(at)),
        })
    }

    /// Takes over all children of the right neighbour, of the same height, whose key is this one.
    pub(super) fn append(&mut self, key: S::Key, right: Self) {
        match (self, right) {
            (Node::Inner(left), Node::Inner(mut right)) => {
                right.set_key(0, key);
                left.append(right);
            }
            (Node::Leaf(left), Node::Leaf(mut right)) => {
                if !S::KEYS_ARE_OF_BLOCKS {
                    right.set_key(0, key);
                }
                left.append(right);
            }
            _ => unreachable!("T1: nodes of one height are of one kind"),
        }
    }

    /// Calls `f` with the blocks from the one that `seek` finds on, until it breaks.
    pub(super) fn walk<'a, R>(
        &'a self,
        seek: &mut impl Seek<S>,
        direction: Direction,
        f: &mut impl FnMut(S::Key, &'a S::Block) -> ControlFlow<R>,
    ) -> ControlFlow<R> {
        match (self, direction) {
            (Node::Leaf(slots), Direction::Forward) => {
                slots.children(seek.at(slots, true)..slots.len()).try_for_each(|(key, block)| f(key, block))
            }
            (Node::Leaf(slots), Direction::Backward) => {
                let end = slots.len().min(seek.at(slots, true) + 1);
                slots.children(0..end).rev().try_for_each(|(key, block)| f(key, block))
            }
            (Node::Inner(slots), _) => {
                let at = seek.at(slots, false);
                slots.child(at).walk(seek, direction, f)?;
                let mut go_on =
                    |(_, child): (S::Key, &'a Arc<Self>)| child.walk(&mut ByEnd(direction), direction, f);
                match direction {
                    Direction::Forward => slots.children(at + 1..slots.len()).try_for_each(go_on),
                    Direction::Backward => slots.children(0..at).rev().try_for_each(&mut go_on),
                }
            }
        }
    }

    /// Moves what lies in sparse slabs and is not shared; `f` moves blocks.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover, f: &mut impl FnMut(&mut S::Block, &mut Mover)) {
        let is_at_start = mover.is_at_start();
        match self {
            Node::Leaf(slots) => {
                if is_at_start {
                    slots.move_slots(mover);
                }
                mover.each(slots.len(), |mover, at| f(slots.child_mut(at), mover));
            }
            Node::Inner(slots) => {
                if is_at_start {
                    slots.move_slots(mover);
                }
                mover.each(slots.len(), |mover, at| {
                    if let Some(child) = move_arc(slots.child_mut(at), mover) {
                        child.move_blocks(mover, f);
                    }
                });
            }
        }
    }

    /// Bytes of heap of this node and those below, without the blocks, and the number of blocks.
    pub(super) fn heap_bytes(&self) -> (usize, usize) {
        match self {
            Node::Leaf(slots) => (slots.heap_bytes(), slots.len()),
            Node::Inner(slots) => {
                let own = slots.heap_bytes() + slots.len() * (2 * size_of::<usize>() + size_of::<Self>());
                slots.children(0..slots.len()).fold((own, 0), |(bytes, blocks), (_, child)| {
                    let below = child.heap_bytes();
                    (bytes + below.0, blocks + below.1)
                })
            }
        }
    }

    /// Panics if an invariant of the module's comment is violated below this node, with keys in `bounds`. `check` gets each block,
    /// its key and the bounds of what is in it.
    pub(super) fn check(&self, is_root: bool, bounds: &Bounds<S::Key>, check: &mut Check<'_, S>) {
        let width_min = match self {
            _ if !is_root => S::FANOUT_MIN,
            Node::Inner(_) => 2,
            Node::Leaf(_) => 0,
        };
        let width = self.width();
        assert!((width_min..=S::FANOUT).contains(&width), "T1: {width} children, root {is_root}");
        match self {
            Node::Inner(slots) => {
                for ((at, sum), (_, child)) in
                    slots.counts(0..width).enumerate().zip(slots.children(0..width))
                {
                    assert_eq!(child.height() + 1, self.height(), "T1: equal depth");
                    assert_eq!(child.sum(), sum, "T2: the sum of a node");
                    child.check(false, &bounds_of_slot(slots, at, bounds), check);
                }
            }
            Node::Leaf(slots) => {
                for ((at, count), (key, block)) in
                    slots.counts(0..width).enumerate().zip(slots.children(0..width))
                {
                    assert!(
                        S::is_count_of(block, count.sum()),
                        "T2: {:?} is the sum of a block",
                        count.sum()
                    );
                    check(block, key, bounds_of_slot(slots, at, bounds));
                }
            }
        }
    }
}

/// What is called with each block, its key, and the keys that what is in it may have.
pub(crate) type Check<'a, S> =
    dyn FnMut(&<S as Shape>::Block, <S as Shape>::Key, Bounds<<S as Shape>::Key>) + 'a;

/// Keys from the first one on, but below the second one. None stands for no bound.
pub(super) type Bounds<K> = Range<Option<K>>;

/// The bounds of what is below a slot, given those of the node.
fn bounds_of_slot<L: Slots>(slots: &L, at: usize, node: &Bounds<L::Key>) -> Bounds<L::Key> {
    let start = if at == 0 { node.start } else { Some(slots.key(at)) };
    let end = if at + 1 < slots.len() { Some(slots.key(at + 1)) } else { node.end };
    assert!(node.start <= start && (end.is_none() || start <= end), "T3: {start:?}..{end:?} in {node:?}");
    start..end
}
