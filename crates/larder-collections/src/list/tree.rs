//! The counted tree of a list's inner blocks: found by position and by element, and by what background compression looks for.
//!
//! Cost, layout and invariants: [`counted_tree`]. Tested by the list's model test.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use larder_packed::block::{Block, Direction};

use crate::counted_tree::{
    self, ByBlock, Columns, Count, CountsBlocks, Node, Seek, Shape, Slots, SlotsOf, find_counted, pass,
};

/// A tree of inner blocks.
pub(super) type Tree = counted_tree::Tree<Inner>;

/// The kind of tree that lists have.
#[derive(Debug)]
pub(super) struct Inner;

/// What lies below a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    /// Elements.
    pub(super) len: u64,
    /// Blocks.
    pub(super) blocks: u32,
    /// Plain blocks that may be worth compressing.
    pub(super) pending: u32,
    /// Compressed blocks.
    pub(super) compressed: u32,
}

/// What a leaf knows about one of its blocks without touching it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u32);

const PENDING: u32 = 1 << 31;
const COMPRESSED: u32 = 1 << 30;
const LEN: u32 = COMPRESSED - 1;

/// Blocks smaller than this are not worth compressing.
const COMPRESS_MIN_BYTES: usize = 128;

impl Shape for Inner {
    const FANOUT: usize = 32;

    type Key = ();
    type Block = Block;
    type Sum = Sum;
    type Leaf = Columns<(), Tag, Block>;
    type Inner = Columns<(), Sum, Arc<Node<Inner>>>;

    fn count(block: &Block) -> Tag {
        let len = u32::try_from(block.len()).expect("a block holds fewer than 2^30 elements");
        assert!(len <= LEN);
        let pending =
            !block.is_compressed() && !block.is_incompressible() && block.heap_bytes() >= COMPRESS_MIN_BYTES;
        let compressed = block.is_compressed();
        Tag(len | if pending { PENDING } else { 0 } | if compressed { COMPRESSED } else { 0 })
    }

    /// That a block does not shrink is found by one of the lists that share it. The others hear of it when they try, too.
    fn is_count_of(block: &Block, count: Sum) -> bool {
        let own = Self::count(block).sum();
        own == count || block.is_incompressible() && own == Sum { pending: 0, ..count }
    }
}

impl counted_tree::Sum for Sum {
    #[inline]
    fn plus(self, other: Sum) -> Sum {
        self.with(other, u64::wrapping_add, u32::wrapping_add)
    }

    #[inline]
    fn minus(self, other: Sum) -> Sum {
        self.with(other, u64::wrapping_sub, u32::wrapping_sub)
    }
}

impl Sum {
    #[inline]
    fn with(self, other: Sum, long: fn(u64, u64) -> u64, short: fn(u32, u32) -> u32) -> Sum {
        Sum {
            len: long(self.len, other.len),
            blocks: short(self.blocks, other.blocks),
            pending: short(self.pending, other.pending),
            compressed: short(self.compressed, other.compressed),
        }
    }
}

impl CountsBlocks for Sum {
    #[inline]
    fn blocks(&self) -> u64 {
        u64::from(self.blocks)
    }
}

impl Count<Sum> for Tag {
    #[inline]
    fn sum(self) -> Sum {
        let Tag(bits) = self;
        Sum { len: u64::from(bits & LEN), blocks: 1, pending: bits >> 31, compressed: bits >> 30 & 1 }
    }
}

/// Looks for the block with element `left`, which becomes relative to it; `position` becomes that of the block.
struct ByElement<'a> {
    left: &'a Cell<u64>,
    position: usize,
}

impl Seek<Inner> for ByElement<'_> {
    #[inline]
    fn at(&mut self, slots: &impl SlotsOf<Inner>, _is_leaf: bool) -> usize {
        let mut left = self.left.get();
        let at = find_counted(slots, |sum: Sum| {
            let is_before = pass(&mut left, sum.len);
            if is_before {
                self.position += sum.blocks as usize;
            }
            is_before
        });
        self.left.set(left);
        at
    }
}

/// Looks for the block that has `left` blocks of its kind before it.
struct ByKind {
    left: u64,
    kind: fn(&Sum) -> u32,
}

impl Seek<Inner> for ByKind {
    fn at(&mut self, slots: &impl SlotsOf<Inner>, _is_leaf: bool) -> usize {
        find_counted(slots, |sum| pass(&mut self.left, (self.kind)(&sum).into()))
    }
}

/// The tree of a list without inner blocks.
pub(super) static EMPTY: Tree =
    Tree::of_leaf(((), Vec::new(), Vec::new()), Sum { len: 0, blocks: 0, pending: 0, compressed: 0 });

impl Tree {
    /// Number of blocks.
    #[inline]
    pub(super) fn blocks(&self) -> usize {
        self.sum().blocks as usize
    }

    /// The block that holds element `index`, and the offset inside it.
    pub(super) fn find_element(&self, index: u64) -> Option<(&Block, usize)> {
        if index >= self.sum().len {
            return None;
        }
        let left = Cell::new(index);
        let ((), block) = self.get(&mut ByElement { left: &left, position: 0 })?;
        Some((block, left.get() as usize))
    }

    /// The block that holds element `index`, as (position of the block, offset inside it).
    pub(super) fn locate(&self, index: u64) -> Option<(usize, usize)> {
        let left = Cell::new(index);
        let mut seek = ByElement { left: &left, position: 0 };
        (index < self.sum().len).then(|| {
            self.find(&mut seek);
            (seek.position, left.get() as usize)
        })
    }

    /// Calls `f` with the blocks from the one with element `index` on in `direction`, and the offset of the first element to
    /// look at in each, until it breaks.
    pub(super) fn walk_elements<'a, B>(
        &'a self,
        index: u64,
        direction: Direction,
        mut f: impl FnMut(&'a Block, usize) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if index >= self.sum().len {
            return ControlFlow::Continue(());
        }
        let (left, mut is_first) = (Cell::new(index), true);
        self.walk(&mut ByElement { left: &left, position: 0 }, direction, &mut |(), block| {
            let offset = if is_first { left.get() as usize } else { first_offset(block, direction) };
            is_first = false;
            f(block, offset)
        })
    }

    /// The block at `position`.
    pub(super) fn block(&self, position: usize) -> Option<&Block> {
        if position >= self.blocks() {
            return None;
        }
        self.get(&mut ByBlock(position as u64)).map(|((), block)| block)
    }

    /// True if `block` counts as worth compressing.
    pub(super) fn is_pending(block: &Block) -> bool {
        Inner::count(block).0 & PENDING != 0
    }

    /// Sum over the first `count` blocks.
    pub(super) fn prefix(&self, count: usize) -> Sum {
        if count >= self.blocks() { self.sum() } else { self.find_summing(&mut ByBlock(count as u64)).0 }
    }

    /// Calls `f` with (elements before it, block) for the blocks in `range` that are of a kind, one that sums count, until
    /// it says no. O(log n) each.
    pub(super) fn for_each_of(
        &self,
        kind: fn(&Sum) -> u32,
        range: Range<usize>,
        f: &mut impl FnMut(u64, &Block) -> bool,
    ) {
        for rank in kind(&self.prefix(range.start))..kind(&self.sum()) {
            let (before, slots, at) = self.find_summing(&mut ByKind { left: rank.into(), kind });
            if before.blocks as usize >= range.end || !f(before.len, slots.child(at)) {
                break;
            }
        }
    }

    /// Puts `block` before the one at `position`, or at the end.
    pub(super) fn insert(&mut self, position: usize, block: Block) {
        assert!(position <= self.blocks() && !block.is_empty());
        self.edit(&mut ByBlock(position.saturating_sub(1) as u64), |leaf| {
            leaf.insert(leaf.at() + usize::from(position > 0), (), block);
        });
    }

    /// Takes the block at `position` out.
    pub(super) fn remove(&mut self, position: usize) -> Block {
        assert!(position < self.blocks());
        self.edit(&mut ByBlock(position as u64), |leaf| leaf.remove(leaf.at()))
    }

    /// Lets `f` change the block at `position`, which must not become empty.
    pub(super) fn update<R>(&mut self, position: usize, f: impl FnOnce(&mut Block) -> R) -> R {
        assert!(position < self.blocks());
        self.edit(&mut ByBlock(position as u64), |leaf| leaf.update(leaf.at(), f))
    }

    /// As [`Tree::update`], of the block with element `index`, which is at this offset in it.
    pub(super) fn update_element<R>(&mut self, index: u64, f: impl FnOnce(&mut Block, usize) -> R) -> R {
        assert!(index < self.sum().len);
        let left = Cell::new(index);
        self.edit(&mut ByElement { left: &left, position: 0 }, |leaf| {
            leaf.update(leaf.at(), |block| f(block, left.get() as usize))
        })
    }

    pub(super) fn push_back(&mut self, block: Block) {
        self.insert(self.blocks(), block);
    }

    pub(super) fn push_front(&mut self, block: Block) {
        self.insert(0, block);
    }

    pub(super) fn pop_back(&mut self) -> Option<Block> {
        self.blocks().checked_sub(1).map(|last| self.remove(last))
    }

    pub(super) fn pop_front(&mut self) -> Option<Block> {
        (self.blocks() > 0).then(|| self.remove(0))
    }

    /// Panics if an invariant of the tree, of a block, or L3 is violated.
    pub(super) fn check(&self) {
        self.check_invariants(&mut |block, (), _| {
            block.check_invariants();
            assert!(!block.is_empty(), "L3: an inner block is empty");
        });
    }
}

/// The offset at which a walk through a block begins.
pub(super) fn first_offset(block: &Block, direction: Direction) -> usize {
    if direction == Direction::Forward { 0 } else { block.len() - 1 }
}
