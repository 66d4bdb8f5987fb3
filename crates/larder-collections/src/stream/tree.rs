//! The counted tree of a stream's nodes, and of its packs of pending entries: found by the lowest id that a block may have.
//!
//! Cost, layout and invariants: [`counted_tree`]. In a leaf the key of the first slot counts, too: it is the
//! first id of its block, as all are. Why not a radix tree of 128-bit keys, as Redis has: its nodes are an allocation for each
//! key and inner node. Tested by the model tests in `tests` beside this file.

use crate::counted_tree::{self, ByEnd, ByKey, Count, Node, Rows, Seek, Shape, Slots, SlotsOf};
use larder_packed::block::Direction;
use larder_packed::heap::Mover;
use larder_packed::stream_node::StreamId;
use std::iter::Peekable;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What hangs in the leaves.
pub(super) trait Block: Clone {
    /// The slots of a leaf.
    type Leaf: Slots<Key = StreamId, Count: Count<u64>, Child = Self>;

    /// Number of records, as a leaf has it.
    fn count(&self) -> <Self::Leaf as Slots>::Count;

    /// Number of records.
    fn len(&self) -> u64;

    /// Bytes of heap.
    fn heap_bytes(&self) -> usize;

    /// Moves the block if it lies in a sparse slab and is not shared.
    fn move_block(&mut self, mover: &mut Mover);
}

/// The kind of tree that blocks by id are in.
struct ById<B>(PhantomData<B>);

/// Blocks of records in order of their ids. Cloning is O(64).
#[derive(Clone)]
pub(super) struct Tree<B: Block> {
    tree: counted_tree::Tree<ById<B>>,
    blocks: u64,
}

/// What becomes of a block that was edited.
pub(super) enum Verdict<B> {
    /// It stays, unless nothing is left in it.
    Keep,
    /// It goes.
    Remove,
    /// It stays, and a new one with this first id comes after it.
    Add(StreamId, B),
}

impl<B: Block> Shape for ById<B> {
    const FANOUT: usize = 64;
    /// The ids in a block are told by their distance from it.
    const KEYS_ARE_OF_BLOCKS: bool = true;

    type Key = StreamId;
    type Block = B;
    type Sum = u64;
    type Leaf = B::Leaf;
    type Inner = Rows<StreamId, u64, Arc<Node<Self>>>;

    #[inline]
    fn count(block: &B) -> <B::Leaf as Slots>::Count {
        block.count()
    }
}

/// Looks for an id, among the last ones first.
struct FromEnd(StreamId);

impl<B: Block> Seek<ById<B>> for FromEnd {
    #[inline]
    fn at(&mut self, slots: &impl SlotsOf<ById<B>>, _is_leaf: bool) -> usize {
        match slots.len().checked_sub(1) {
            Some(last) if slots.key(last) <= self.0 => last,
            _ => slots.find(self.0),
        }
    }
}

impl<B: Block> Default for Tree<B> {
    fn default() -> Self {
        Tree { tree: counted_tree::Tree::default(), blocks: 0 }
    }
}

impl<B: Block> Tree<B> {
    /// Number of records in all blocks.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.tree.sum()
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The last block whose first id is not above `id`.
    pub(super) fn floor(&self, id: StreamId) -> Option<(StreamId, &B)> {
        self.tree.get(&mut FromEnd(id)).filter(|(first, _)| *first <= id)
    }

    /// The first block.
    pub(super) fn first(&self) -> Option<(StreamId, &B)> {
        self.tree.get(&mut ByEnd(Direction::Forward))
    }

    /// The last block.
    #[inline]
    pub(super) fn last(&self) -> Option<(StreamId, &B)> {
        self.tree.get(&mut ByEnd(Direction::Backward))
    }

    /// Calls `f` with the block that [`Tree::floor`] finds, or with the first one, whose first id is lowered then. None
    /// without any block.
    pub(super) fn edit<R>(
        &mut self,
        id: StreamId,
        f: impl FnOnce(StreamId, &mut B) -> (R, Verdict<B>),
    ) -> Option<R> {
        if self.blocks == 0 {
            return None;
        }
        let blocks = &mut self.blocks;
        let result = self.tree.edit(&mut FromEnd(id), |leaf| {
            let at = leaf.at();
            let first = leaf.slots().key(at).min(id);
            leaf.set_key(at, first);
            let (result, verdict) = leaf.update(at, |block| f(first, block));
            match verdict {
                Verdict::Keep if leaf.slots().child(at).len() > 0 => {}
                Verdict::Keep | Verdict::Remove => {
                    leaf.remove(at);
                    *blocks -= 1;
                }
                Verdict::Add(first, block) => {
                    leaf.insert(at + 1, first, block);
                    *blocks += 1;
                }
            }
            result
        });
        Some(result)
    }

    /// Puts a block after all others. Its ids are above theirs.
    pub(super) fn push_back(&mut self, first: StreamId, block: B) {
        self.blocks += 1;
        self.tree.edit(&mut ByEnd(Direction::Backward), |leaf| leaf.insert(leaf.slots().len(), first, block));
    }

    /// Removes the first block.
    pub(super) fn pop_front(&mut self) {
        if self.blocks > 0 {
            self.blocks -= 1;
            self.tree.edit(&mut ByEnd(Direction::Forward), |leaf| drop(leaf.remove(0)));
        }
    }

    /// Calls `f` with blocks and their first ids, from the one that may hold `from` on, until it breaks.
    pub(super) fn walk<'a, R>(
        &'a self,
        from: StreamId,
        direction: Direction,
        f: &mut impl FnMut(StreamId, &'a B) -> ControlFlow<R>,
    ) -> ControlFlow<R> {
        self.tree.walk(&mut ByKey(from), direction, f)
    }

    /// Looks up ids that ascend from call to call: no record is looked at twice, and the tree is asked once a block. `records` are those of a block.
    pub(super) fn lookup<'a, T, I: Iterator<Item = (StreamId, T)>>(
        &'a self,
        records: impl Fn(StreamId, &'a B) -> I,
    ) -> impl FnMut(StreamId) -> Option<T> {
        let mut current: Option<(StreamId, Peekable<I>)> = None;
        move |id| {
            if let Some((_, left)) = &mut current
                && let Some(found) = advance(left, id)
            {
                return found;
            }
            let (first, block) = self.floor(id)?;
            if current.as_ref().is_some_and(|(of, _)| *of == first) {
                return None;
            }
            let (_, left) = current.insert((first, records(first, block).peekable()));
            advance(left, id)?
        }
    }

    /// Moves blocks and nodes that lie in sparse slabs and are not shared.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover) {
        self.tree.move_blocks(mover, &mut B::move_block);
    }

    /// Bytes of heap: of the nodes, and of the blocks estimated from the first `samples`; 0 looks at all.
    pub(super) fn heap_bytes(&self, samples: u64) -> u64 {
        let (mut seen, mut bytes) = (0, 0);
        let _ = self.walk(StreamId::ZERO, Direction::Forward, &mut |_, block| {
            seen += 1;
            bytes += block.heap_bytes() as u64;
            if seen == samples { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let of_blocks = u128::from(bytes) * u128::from(self.blocks) / u128::from(seen.max(1));
        of_blocks as u64 + self.tree.heap_bytes().0 as u64
    }

    /// Panics if an invariant of the tree is violated, or blocks are counted wrongly; `check` gets each of them.
    pub(super) fn check_invariants(&self, check: &mut impl FnMut(StreamId, &B)) {
        let mut blocks = 0;
        self.tree.check_invariants(&mut |block, first, bounds| {
            blocks += 1;
            assert!(bounds.end.is_none_or(|end| first < end), "T3: {first} is not below {bounds:?}");
            check(first, block);
        });
        assert_eq!(blocks, self.blocks, "number of blocks");
    }
}

/// Goes on to a record of this id or a later one: what it is if it is this one's. None if there is no such record.
fn advance<T>(left: &mut Peekable<impl Iterator<Item = (StreamId, T)>>, id: StreamId) -> Option<Option<T>> {
    while left.next_if(|(at, _)| *at < id).is_some() {}
    left.peek()?;
    Some(left.next_if(|(at, _)| *at == id).map(|(_, record)| record))
}
