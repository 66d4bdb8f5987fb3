//! The counted tree of a large set: blocks of sorted integers, found by value and by rank.
//!
//! Cost, layout and invariants: [`counted_tree`]. Tested by the model test in `tests` beside this file.

use crate::counted_tree::{
    self, ByKey, Columns, Count, LeafMut, Node, Seek, Shape, Slots, SlotsOf, find_counted, pass,
};
use larder_packed::int_block::{BYTES_MAX, Insert, IntBlock};
use std::sync::Arc;

/// A tree of integers.
pub(super) type Tree = counted_tree::Tree<Integers>;

/// The kind of tree that sets of integers have. The key of a block is not above the integers in it.
#[derive(Debug)]
pub(super) struct Integers;

impl Shape for Integers {
    const FANOUT: usize = 128;

    type Key = i64;
    type Block = IntBlock;
    type Sum = u64;
    type Leaf = Columns<Vec<i64>, u16, IntBlock>;
    type Inner = Columns<Vec<i64>, u64, Arc<Node<Integers>>>;

    #[inline]
    fn count(block: &IntBlock) -> u16 {
        block.len() as u16
    }
}

impl Count<u64> for u16 {
    #[inline]
    fn sum(self) -> u64 {
        u64::from(self)
    }
}

/// Looks for the integer of a rank, which becomes relative to its block.
struct ByRank(u64);

impl Seek<Integers> for ByRank {
    #[inline]
    fn at(&mut self, slots: &impl SlotsOf<Integers>, _is_leaf: bool) -> usize {
        find_counted(slots, |count| pass(&mut self.0, count))
    }
}

/// Looks for the block that a value belongs to, and for the lower bound of the next one.
struct WithEnd {
    value: i64,
    end: Option<i64>,
}

impl Seek<Integers> for WithEnd {
    #[inline]
    fn at(&mut self, slots: &impl SlotsOf<Integers>, _is_leaf: bool) -> usize {
        let at = slots.find(self.value);
        if at + 1 < slots.len() {
            self.end = Some(slots.key(at + 1));
        }
        at
    }
}

impl Tree {
    /// A tree of this block.
    pub(super) fn of(block: IntBlock) -> Tree {
        let mut tree = Tree::default();
        if !block.is_empty() {
            tree.edit(&mut ByKey(i64::MIN), |leaf| leaf.insert(0, i64::MIN, block));
        }
        tree
    }

    /// Puts a block after all others, whose values are lower than `first`, its own.
    pub(super) fn push_back(&mut self, first: i64, block: IntBlock) {
        self.edit(&mut ByKey(i64::MAX), |leaf| {
            let at = leaf.slots().len();
            leaf.insert(at, if at == 0 { i64::MIN } else { first }, block);
        });
    }

    /// True if `value` is in the tree.
    #[inline]
    pub(super) fn contains(&self, value: i64) -> bool {
        self.get(&mut ByKey(value)).is_some_and(|(_, block)| block.contains(value))
    }

    /// The value with `rank` smaller ones.
    pub(super) fn select(&self, rank: u64) -> Option<i64> {
        if rank >= self.sum() {
            return None;
        }
        let mut seek = ByRank(rank);
        let (_, block) = self.get(&mut seek)?;
        block.get(seek.0 as usize)
    }

    /// Number of values below `value`.
    pub(super) fn rank(&self, value: i64) -> u64 {
        let (before, slots, at) = self.find_summing(&mut ByKey(value));
        let in_block = |block: &IntBlock| block.search(value).unwrap_or_else(|at| at) as u64;
        before + slots.children(at..slots.len()).next().map_or(0, |(_, block)| in_block(block))
    }

    /// The block that `value` belongs to, and the lower bound of the one after it.
    #[inline]
    pub(super) fn block_and_end(&self, value: i64) -> (Option<&IntBlock>, Option<i64>) {
        let mut seek = WithEnd { value, end: None };
        let block = self.get(&mut seek).map(|(_, block)| block);
        (block, seek.end)
    }

    /// The block, if there is no more than one.
    pub(super) fn only_block(&self) -> Option<IntBlock> {
        let slots = self.only_leaf().filter(|slots| slots.len() <= 1)?;
        Some(slots.children(0..slots.len()).next().map_or_else(IntBlock::empty, |(_, block)| block.clone()))
    }

    /// Adds a value; true if it was not there.
    pub(super) fn insert(&mut self, value: i64) -> bool {
        self.edit(&mut ByKey(value), |leaf| {
            if leaf.slots().len() == 0 {
                leaf.insert(0, value, IntBlock::empty());
            }
            let mut at = leaf.at();
            loop {
                match leaf.update(at, |block| block.insert(value)) {
                    Insert::Present => return false,
                    Insert::Added => return true,
                    Insert::Full => at += split_block(leaf, at, value),
                }
            }
        })
    }

    /// Removes a value; true if it was there.
    pub(super) fn remove(&mut self, value: i64) -> bool {
        self.edit(&mut ByKey(value), |leaf| {
            let at = leaf.at();
            if leaf.slots().len() == 0 {
                return false;
            }
            let Ok(position) = leaf.slots().child(at).search(value) else { return false };
            leaf.update(at, |block| block.remove(position));
            let block = leaf.slots().child(at);
            let len = block.len();
            if len == 0 {
                leaf.remove(at);
            } else if block.size_bytes() < BYTES_MAX / 4 && (len < 8 || len.is_multiple_of(8)) {
                let _ = join_blocks(leaf, at) || at > 0 && join_blocks(leaf, at - 1);
            }
            true
        })
    }

    /// Panics if an invariant of the tree or of a block is violated.
    pub(super) fn check(&self) {
        self.check_invariants(&mut |block, _, bounds| {
            block.check_invariants();
            let (first, last) = (block.first().expect("a block has a value"), block.last());
            assert!(bounds.start <= Some(first), "T3: {first} in {bounds:?}");
            assert!(bounds.end.is_none() || last < bounds.end, "T3: {last:?} in {bounds:?}");
        });
    }
}

/// Cuts the full block at `at` in two; 1 if `value` belongs to the second one. Where a sequence grows, the finished block is
/// left full.
fn split_block(leaf: &mut LeafMut<'_, Integers>, at: usize, value: i64) -> usize {
    let block = leaf.slots().child(at);
    let n = block.len();
    let value_of = |i: usize| block.get(i).expect("a full block has values");
    let (cut, low) = if at + 1 == leaf.slots().len() && value > value_of(n - 1) {
        (n, value)
    } else if at == 0 && value < value_of(0) {
        (0, value_of(0))
    } else {
        (n / 2, value_of(n / 2))
    };
    let right = leaf.update(at, |block| block.split_off(cut));
    leaf.insert(at + 1, low, right);
    usize::from(value >= low)
}

/// Makes one block of the one at `at` and the next, if it would have room to spare.
fn join_blocks(leaf: &mut LeafMut<'_, Integers>, at: usize) -> bool {
    if at + 1 >= leaf.slots().len() {
        return false;
    }
    let Some(joined) = IntBlock::join(leaf.slots().child(at), leaf.slots().child(at + 1)) else {
        return false;
    };
    leaf.update(at, |block| *block = joined);
    leaf.remove(at + 1);
    true
}
