//! The directory's nodes: 64 slots each, runs of slots as children.

use crate::relocation::move_array;
use larder_packed::heap::Mover;
use larder_packed::segment::{Layout, LeafRows, Rows};
use std::ops::Range;
use std::sync::Arc;

/// Bits of the position that one level looks at.
pub(super) const LEVEL_BITS: u32 = 6;
/// Slots of a node.
const SLOTS: u32 = 1 << LEVEL_BITS;
/// Bits of a position.
pub(super) const POSITION_BITS: u32 = 32;

/// A child of a node, or the root of a tree.
pub(super) enum Child<L: Layout> {
    Leaf(Leaf<L>),
    Node(Node<L>),
}

/// A segment and the time before which nothing in it expires.
pub(super) struct Leaf<L: Layout> {
    /// None only while a node is being rebuilt.
    segment: Option<LeafRows<L>>,
    pub soonest: u64,
}

/// Children by runs of slots.
pub(super) struct Node<L: Layout> {
    children: Arc<[Child<L>]>,
    starts: u64,
}

const _: () = assert!(size_of::<Child<larder_packed::segment::Member>>() == 24);

impl<L: Layout> Clone for Child<L> {
    fn clone(&self) -> Self {
        match self {
            Child::Leaf(leaf) => Child::Leaf(Leaf { segment: leaf.segment.clone(), soonest: leaf.soonest }),
            Child::Node(node) => {
                Child::Node(Node { children: Arc::clone(&node.children), starts: node.starts })
            }
        }
    }
}

impl<L: Layout> Leaf<L> {
    pub fn new(rows: Rows<L>, soonest: u64) -> Self {
        Leaf { segment: Some(LeafRows::new(rows)), soonest }
    }

    /// The segment, plain or compressed.
    #[inline]
    pub fn segment(&self) -> &LeafRows<L> {
        self.segment.as_ref().expect("a leaf has its segment")
    }

    #[inline]
    pub fn segment_mut(&mut self) -> &mut LeafRows<L> {
        self.segment.as_mut().expect("a leaf has its segment")
    }

    /// The entries, which are used by that.
    #[inline]
    pub fn rows(&self) -> &Rows<L> {
        self.segment().rows()
    }

    /// The entries, to be changed: [`Tree::thaw_at`](super::tree::Tree::thaw_at) was there before.
    #[inline]
    pub fn rows_mut(&mut self) -> &mut Rows<L> {
        self.segment_mut().rows_mut()
    }
}

impl<L: Layout> Child<L> {
    /// The leaf of a position, of which the levels above have been shifted out.
    #[inline]
    pub fn leaf(&self, position: u32) -> &Leaf<L> {
        let (mut child, mut rest) = (self, position);
        loop {
            match child {
                Child::Leaf(leaf) => return leaf,
                Child::Node(node) => child = &node.children[node.index(rest >> (POSITION_BITS - LEVEL_BITS))],
            }
            rest <<= LEVEL_BITS;
        }
    }

    /// The same for writing: nodes that are shared are copied on the way.
    #[inline]
    pub fn leaf_mut(&mut self, position: u32) -> &mut Leaf<L> {
        let (mut child, mut rest) = (self, position);
        loop {
            match child {
                Child::Leaf(leaf) => return leaf,
                Child::Node(node) => {
                    let at = node.index(rest >> (POSITION_BITS - LEVEL_BITS));
                    child = &mut Arc::make_mut(&mut node.children)[at];
                }
            }
            rest <<= LEVEL_BITS;
        }
    }

    /// The same for changes that are made only if nobody shares anything on the way; None if somebody does.
    pub fn own_leaf_mut(&mut self, position: u32) -> Option<&mut Leaf<L>> {
        let (mut child, mut rest) = (self, position);
        loop {
            match child {
                Child::Leaf(leaf) => return Some(leaf),
                Child::Node(node) => {
                    let at = node.index(rest >> (POSITION_BITS - LEVEL_BITS));
                    child = &mut Arc::get_mut(&mut node.children)?[at];
                }
            }
            rest <<= LEVEL_BITS;
        }
    }

    /// Whether nobody shares anything on the way to the leaf of a position.
    pub fn is_own(&self, position: u32) -> bool {
        let (mut child, mut rest) = (self, position);
        while let Child::Node(node) = child {
            if Arc::strong_count(&node.children) > 1 {
                return false;
            }
            child = &node.children[node.index(rest >> (POSITION_BITS - LEVEL_BITS))];
            rest <<= LEVEL_BITS;
        }
        true
    }

    /// The leaf of a position, and its depth as the directory knows it, without a look at the segment.
    pub fn leaf_with_depth(&self, position: u32) -> (&Leaf<L>, u32) {
        let (mut child, mut rest, mut depth, mut level) = (self, position, 0, 0);
        loop {
            match child {
                Child::Leaf(leaf) => return (leaf, depth),
                Child::Node(node) => {
                    let slot = rest >> (POSITION_BITS - LEVEL_BITS);
                    level += LEVEL_BITS;
                    depth = level - node.run(slot).len().ilog2();
                    child = &node.children[node.index(slot)];
                }
            }
            rest <<= LEVEL_BITS;
        }
    }

    /// Splits the leaf of a position: `split` gets it and gives two. Returns the number of nodes added.
    pub fn split(&mut self, position: u32, split: impl FnOnce(Leaf<L>) -> (Leaf<L>, Leaf<L>)) -> usize {
        let (mut child, mut rest) = (self, position);
        while let Child::Node(node) = child {
            let slot = rest >> (POSITION_BITS - LEVEL_BITS);
            let at = node.index(slot);
            if node.run(slot).len() > 1 {
                node.split(slot, split);
                return 0;
            }
            child = &mut Arc::make_mut(&mut node.children)[at];
            rest <<= LEVEL_BITS;
        }
        let halves = split(child.take().into_leaf());
        let children = Arc::new([Child::Leaf(halves.0), Child::Leaf(halves.1)]);
        *child = Child::Node(Node { children, starts: 1 | 1 << (SLOTS / 2) });
        1
    }

    /// Merges the leaf of a position with its buddy if that is a leaf too, and `join` makes one of them. Says whether
    /// it did, and whether a node has become superfluous.
    pub fn merge(
        &mut self,
        position: u32,
        join: &mut impl FnMut(&Leaf<L>, &Leaf<L>) -> Option<Leaf<L>>,
    ) -> Option<Merged> {
        let Child::Node(node) = self else { return None };
        let slot = position >> (POSITION_BITS - LEVEL_BITS);
        let at = node.index(slot);
        if let Child::Node(_) = node.children[at] {
            let child = &mut Arc::make_mut(&mut node.children)[at];
            return child.merge(position << LEVEL_BITS, join);
        }
        node.merge(slot, join)?;
        if node.children.len() > 1 {
            return Some(Merged { nodes_gone: 0 });
        }
        let only = Arc::make_mut(&mut node.children)[0].take();
        *self = only;
        Some(Merged { nodes_gone: 1 })
    }

    /// Moves segments and nodes that lie in sparse slabs and are not shared.
    pub fn move_blocks(&mut self, mover: &mut Mover) {
        match self {
            Child::Leaf(leaf) => leaf.segment_mut().move_blocks(mover),
            Child::Node(node) => {
                let Some(children) = move_array(&mut node.children, mover) else { return };
                mover.each(children.len(), |mover, at| children[at].move_blocks(mover));
            }
        }
    }

    /// Calls `f` with every leaf, in order, and its first position; `base` and `level_bits` are those of this child.
    pub fn for_each_leaf<'a>(&'a self, base: u32, level_bits: u32, f: &mut impl FnMut(u32, &'a Leaf<L>)) {
        let node = match self {
            Child::Leaf(leaf) => return f(base, leaf),
            Child::Node(node) => node,
        };
        let mut starts = node.starts;
        for child in &*node.children {
            // The lowest level has fewer bits left than a slot number has: its runs are long enough for that.
            let slot = u64::from(starts.trailing_zeros()) << (2 * POSITION_BITS - LEVEL_BITS - level_bits);
            child.for_each_leaf(base | (slot >> POSITION_BITS) as u32, level_bits + LEVEL_BITS, f);
            starts &= starts - 1;
        }
    }

    /// A node of these children, by the slots where they start.
    pub fn of_children(children: Vec<Child<L>>, starts: u64) -> Self {
        assert_eq!(children.len(), starts.count_ones() as usize, "T2");
        Child::Node(Node { children: children.into(), starts })
    }

    /// The children of a node.
    pub fn children(&self) -> &[Child<L>] {
        match self {
            Child::Leaf(_) => &[],
            Child::Node(node) => &node.children,
        }
    }

    /// Panics unless T2 holds; `level_bits` are those above this child, `depth` the one that its parent knows.
    pub fn check(&self, level_bits: u32, depth: u32) {
        match self {
            Child::Leaf(leaf) => assert_eq!(leaf.segment().look().depth(), depth, "T2: the depth of a leaf"),
            Child::Node(node) => {
                assert_eq!(depth, level_bits, "T2: a node has one slot");
                assert!(node.children.len() > 1 && node.starts & 1 == 1, "T2");
                assert_eq!(node.children.len(), node.starts.count_ones() as usize, "T2");
                for slot in (0..SLOTS).filter(|slot| node.starts >> slot & 1 == 1) {
                    let run = node.run(slot);
                    assert!(run.len().is_power_of_two(), "T2: {run:?}");
                    assert!((run.start as usize).is_multiple_of(run.len()), "T2: {run:?}");
                    let below = level_bits + LEVEL_BITS;
                    node.children[node.index(slot)].check(below, below - run.len().ilog2());
                }
            }
        }
    }

    fn take(&mut self) -> Child<L> {
        std::mem::replace(self, Child::Leaf(Leaf { segment: None, soonest: 0 }))
    }

    pub(super) fn into_leaf(self) -> Leaf<L> {
        match self {
            Child::Leaf(leaf) => leaf,
            Child::Node(_) => unreachable!("a leaf was asked for"),
        }
    }
}

/// What a merge has done.
pub(super) struct Merged {
    pub nodes_gone: usize,
}

impl<L: Layout> Node<L> {
    /// The child of a slot.
    #[inline]
    fn index(&self, slot: u32) -> usize {
        let up_to = self.starts & (u64::MAX >> (SLOTS - 1 - slot));
        up_to.count_ones() as usize - 1
    }

    /// The slots of the child that a slot belongs to.
    fn run(&self, slot: u32) -> Range<u32> {
        let start = SLOTS - 1 - (self.starts & (u64::MAX >> (SLOTS - 1 - slot))).leading_zeros();
        let later = self.starts.checked_shr(slot + 1).unwrap_or(0);
        let end = if later == 0 { SLOTS } else { slot + 1 + later.trailing_zeros() };
        start..end
    }

    /// Halves the run of a slot, which has more than one.
    fn split(&mut self, slot: u32, split: impl FnOnce(Leaf<L>) -> (Leaf<L>, Leaf<L>)) {
        let (run, at) = (self.run(slot), self.index(slot));
        let children = Arc::make_mut(&mut self.children);
        let (left, right) = split(children[at].take().into_leaf());
        children[at] = Child::Leaf(left);
        let (before, behind) = children.split_at_mut(at + 1);
        let middle = std::iter::once(Child::Leaf(right));
        self.children = before
            .iter_mut()
            .map(Child::take)
            .chain(middle)
            .chain(behind.iter_mut().map(Child::take))
            .collect();
        self.starts |= 1 << (run.start + run.len() as u32 / 2);
    }

    /// Merges the leaf of a slot with its buddy.
    fn merge(
        &mut self,
        slot: u32,
        join: &mut impl FnMut(&Leaf<L>, &Leaf<L>) -> Option<Leaf<L>>,
    ) -> Option<()> {
        let run = self.run(slot);
        let len = run.len() as u32;
        let buddy = self.run(run.start ^ len & (SLOTS - 1));
        if len == SLOTS || buddy.len() as u32 != len {
            return None;
        }
        let first = self.index(run.start.min(buddy.start));
        let (Child::Leaf(left), Child::Leaf(right)) = (&self.children[first], &self.children[first + 1])
        else {
            return None;
        };
        let joined = join(left, right)?;
        let children = Arc::make_mut(&mut self.children);
        children[first] = Child::Leaf(joined);
        let (before, behind) = children.split_at_mut(first + 1);
        self.children =
            before.iter_mut().map(Child::take).chain(behind[1..].iter_mut().map(Child::take)).collect();
        self.starts &= !(1 << run.start.max(buddy.start));
        Some(())
    }
}
