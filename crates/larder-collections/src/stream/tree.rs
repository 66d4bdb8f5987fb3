//! The counted B+ tree of blocks in order of entry ids: the directory of a stream's nodes and of its pending entries.
//!
//! What it is: a B+ tree whose leaves hold packed blocks, found by the lowest id that a block may have. Why not a radix
//! tree of 128-bit keys, as Redis has: its nodes are an allocation for each key and inner node; here a block costs one slot
//! in a vector of up to 64. Blocks come and go at the ends most of the time, so a full node that grows at its end is left
//! full behind.
//!
//! | | cost |
//! |---|---|
//! | memory per block | 32 bytes of slot, up to a quarter more while its node grows, half a byte above |
//! | find, edit, insert, remove a block | O(log n), and a copy of the path when it is shared |
//! | visit a range | O(log n + blocks) |
//! | number of records | O(1) |
//! | clone | O(64) |
//!
//! ```text
//!   root   Inner  [first id 16 | records below 8 | Arc<Node> 8] x 1..=64
//!   leaf   Leaf   [first id 16 | records 8       | block 8    ] x 1..=64
//! ```
//!
//! Invariants:
//! - T1: all leaves are at the same depth, a node has at most [`FANOUT`] slots, none but the root is empty, and an inner
//!   root has at least two.
//! - T2: a slot's count is the number of records below it; `len` is the sum.
//! - T3: the first id of a slot is not above those below it, and above those below the slot before.
//!
//! Tested by the model tests in `tests` beside this file.

use larder_packed::stream_node::StreamId;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Most slots of a node.
const FANOUT: usize = 64;
/// A node that shrinks to this many slots is joined with a neighbour if both have room in one.
const SPARSE: usize = FANOUT / 4;

/// What hangs in the leaves.
pub(super) trait Block: Clone {
    /// Number of records.
    fn len(&self) -> u64;

    /// Bytes of heap.
    fn heap_bytes(&self) -> usize;
}

#[derive(Clone, Debug)]
struct Slot<T> {
    first: StreamId,
    count: u64,
    item: T,
}

#[derive(Clone, Debug)]
enum Node<B> {
    Inner(Vec<Slot<Arc<Node<B>>>>),
    Leaf(Vec<Slot<B>>),
}

/// See the module's comment.
#[derive(Clone, Debug)]
pub(super) struct Tree<B> {
    root: Node<B>,
    len: u64,
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

/// Which way to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the lowest id up.
    Up,
    /// From the highest id down.
    Down,
}

impl<B> Default for Tree<B> {
    fn default() -> Self {
        Tree { root: Node::Leaf(Vec::new()), len: 0, blocks: 0 }
    }
}

impl<B: Block> Tree<B> {
    /// Number of records in all blocks.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The last block whose first id is not above `id`.
    pub(super) fn floor(&self, id: StreamId) -> Option<(StreamId, &B)> {
        let mut node = &self.root;
        loop {
            match node {
                Node::Inner(slots) => node = &slots[position(slots, id)?].item,
                Node::Leaf(slots) => {
                    let slot = &slots[position(slots, id)?];
                    return Some((slot.first, &slot.item));
                }
            }
        }
    }

    /// The first block.
    pub(super) fn first(&self) -> Option<(StreamId, &B)> {
        let mut node = &self.root;
        loop {
            match node {
                Node::Inner(slots) => node = &slots.first()?.item,
                Node::Leaf(slots) => return slots.first().map(|slot| (slot.first, &slot.item)),
            }
        }
    }

    /// The last block.
    #[inline]
    pub(super) fn last(&self) -> Option<(StreamId, &B)> {
        self.floor(StreamId::MAX)
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
        let mut change = Change::default();
        let (result, right) = self.root.edit(id, f, &mut change);
        if let Some(right) = right {
            self.grow(right);
        }
        self.collapse();
        self.len = self.len.wrapping_add_signed(change.records);
        self.blocks = self.blocks.wrapping_add_signed(change.blocks);
        Some(result)
    }

    /// Puts a block after all others. Its ids are above theirs.
    pub(super) fn push_back(&mut self, first: StreamId, block: B) {
        if self.blocks == 0 {
            (self.len, self.blocks) = (block.len(), 1);
            self.root = Node::Leaf(vec![Slot { first, count: self.len, item: block }]);
        } else {
            self.edit(StreamId::MAX, |_, _| ((), Verdict::Add(first, block)));
        }
    }

    /// Removes the first block.
    pub(super) fn pop_front(&mut self) {
        self.edit(StreamId::ZERO, |_, _| ((), Verdict::Remove));
    }

    /// Calls `f` with blocks and their first ids, from the one that may hold `from` on, until it breaks.
    pub(super) fn walk<'a, R>(
        &'a self,
        from: StreamId,
        way: Way,
        f: &mut impl FnMut(StreamId, &'a B) -> ControlFlow<R>,
    ) -> ControlFlow<R> {
        self.root.walk(Some(from), way, f)
    }

    /// Bytes of heap: of the nodes, and of the blocks estimated from the first `samples`; 0 looks at all.
    pub(super) fn heap_bytes(&self, samples: u64) -> u64 {
        let (mut seen, mut bytes) = (0, 0);
        let _ = self.walk(StreamId::ZERO, Way::Up, &mut |_, block| {
            seen += 1;
            bytes += block.heap_bytes() as u64;
            if seen == samples { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let of_blocks = if seen == 0 {
            0
        } else {
            (u128::from(bytes) * u128::from(self.blocks) / u128::from(seen)) as u64
        };
        of_blocks + self.root.heap_bytes()
    }

    /// Puts a new root above the old one and its new neighbour.
    fn grow(&mut self, right: Slot<Arc<Node<B>>>) {
        let left = std::mem::replace(&mut self.root, Node::Leaf(Vec::new()));
        self.root = Node::Inner(vec![left.into_slot(), right]);
    }

    /// Takes away a root that has one child, or none.
    fn collapse(&mut self) {
        while let Node::Inner(slots) = &mut self.root
            && slots.len() < 2
        {
            self.root = match slots.pop() {
                Some(slot) => Arc::unwrap_or_clone(slot.item),
                None => Node::Leaf(Vec::new()),
            };
        }
    }

    /// Panics if an invariant of the module's comment is violated.
    pub(super) fn check_invariants(&self, check: &mut impl FnMut(StreamId, &B)) {
        if let Node::Inner(slots) = &self.root {
            assert!(slots.len() >= 2, "T1: an inner root has two children");
        }
        let (mut depths, mut blocks) = (Vec::new(), 0);
        self.root.check(0, &mut depths, &mut |first, block| {
            blocks += 1;
            check(first, block);
        });
        depths.dedup();
        assert!(depths.len() <= 1, "T1: leaves at {depths:?}");
        assert_eq!((self.root.count(), blocks), (self.len, self.blocks), "T2: sums");
    }
}

/// What an edit changed.
#[derive(Default)]
struct Change {
    records: i64,
    blocks: i64,
}

/// The slot that may hold `id`.
#[inline]
fn position<T>(slots: &[Slot<T>], id: StreamId) -> Option<usize> {
    match slots.last() {
        Some(last) if last.first <= id => Some(slots.len() - 1),
        _ => slots.partition_point(|slot| slot.first <= id).checked_sub(1),
    }
}

/// Puts a slot in, and splits what has become too long; the right part then.
fn insert<T>(slots: &mut Vec<Slot<T>>, at: usize, slot: Slot<T>) -> Option<Vec<Slot<T>>> {
    if slots.len() == slots.capacity() {
        slots.reserve_exact(slots.len() / 4 + 1);
    }
    slots.insert(at, slot);
    if slots.len() <= FANOUT {
        return None;
    }
    let keep = if at + 1 == slots.len() { at } else { slots.len() / 2 };
    let right = slots.split_off(keep);
    slots.shrink_to_fit();
    Some(right)
}

impl<B: Block> Node<B> {
    fn edit<R>(
        &mut self,
        id: StreamId,
        f: impl FnOnce(StreamId, &mut B) -> (R, Verdict<B>),
        change: &mut Change,
    ) -> (R, Option<Slot<Arc<Node<B>>>>) {
        match self {
            Node::Leaf(slots) => {
                let at = place(slots, id);
                let slot = &mut slots[at];
                let (result, verdict) = f(slot.first, &mut slot.item);
                let count = slot.item.len();
                change.records += count.wrapping_sub(slot.count) as i64;
                slot.count = count;
                let right = match verdict {
                    Verdict::Keep if count > 0 => None,
                    Verdict::Keep | Verdict::Remove => {
                        slots.remove(at);
                        change.records -= count as i64;
                        change.blocks -= 1;
                        None
                    }
                    Verdict::Add(first, item) => {
                        let count = item.len();
                        change.records += count as i64;
                        change.blocks += 1;
                        insert(slots, at + 1, Slot { first, count, item })
                    }
                };
                (result, right.map(|slots| Node::Leaf(slots).into_slot()))
            }
            Node::Inner(slots) => {
                let at = place(slots, id);
                let before = change.records;
                let child = Arc::make_mut(&mut slots[at].item);
                let (result, added) = child.edit(id, f, change);
                let len = child.slot_count();
                let moved = added.as_ref().map_or(0, |slot| slot.count);
                slots[at].count =
                    slots[at].count.wrapping_add_signed(change.records - before).wrapping_sub(moved);
                let right = match added {
                    Some(slot) => insert(slots, at + 1, slot),
                    None => {
                        if len == 0 {
                            slots.remove(at);
                        } else if len <= SPARSE {
                            join(slots, at);
                        }
                        None
                    }
                };
                (result, right.map(|slots| Node::Inner(slots).into_slot()))
            }
        }
    }

    fn walk<'a, R>(
        &'a self,
        from: Option<StreamId>,
        way: Way,
        f: &mut impl FnMut(StreamId, &'a B) -> ControlFlow<R>,
    ) -> ControlFlow<R> {
        match self {
            Node::Leaf(slots) => for_each(slots, from, way, |slot, _| f(slot.first, &slot.item)),
            Node::Inner(slots) => for_each(slots, from, way, |slot, from| slot.item.walk(from, way, f)),
        }
    }

    fn slot_count(&self) -> usize {
        match self {
            Node::Inner(slots) => slots.len(),
            Node::Leaf(slots) => slots.len(),
        }
    }

    fn count(&self) -> u64 {
        match self {
            Node::Inner(slots) => slots.iter().map(|slot| slot.count).sum(),
            Node::Leaf(slots) => slots.iter().map(|slot| slot.count).sum(),
        }
    }

    fn into_slot(self) -> Slot<Arc<Node<B>>> {
        let first = match &self {
            Node::Inner(slots) => slots[0].first,
            Node::Leaf(slots) => slots[0].first,
        };
        Slot { first, count: self.count(), item: Arc::new(self) }
    }

    fn heap_bytes(&self) -> u64 {
        match self {
            Node::Leaf(slots) => (slots.capacity() * size_of::<Slot<B>>()) as u64,
            Node::Inner(slots) => {
                let own = slots.capacity() * size_of::<Slot<Arc<Node<B>>>>();
                let arcs = slots.len() * (16 + size_of::<Node<B>>());
                (own + arcs) as u64 + slots.iter().map(|slot| slot.item.heap_bytes()).sum::<u64>()
            }
        }
    }

    fn check(&self, depth: usize, depths: &mut Vec<usize>, check: &mut dyn FnMut(StreamId, &B)) {
        assert!(self.slot_count() <= FANOUT, "T1: slots");
        assert!(depth == 0 || self.slot_count() > 0, "T1: an empty node");
        match self {
            Node::Leaf(slots) => {
                depths.push(depth);
                assert!(slots.windows(2).all(|pair| pair[0].first < pair[1].first), "T3");
                for slot in slots {
                    assert_eq!(slot.count, slot.item.len(), "T2: count of a block");
                    check(slot.first, &slot.item);
                }
            }
            Node::Inner(slots) => {
                assert!(slots.windows(2).all(|pair| pair[0].first < pair[1].first), "T3");
                for (i, slot) in slots.iter().enumerate() {
                    assert_eq!(slot.count, slot.item.count(), "T2: count of a node");
                    let next = slots.get(i + 1).map(|next| next.first);
                    slot.item.check(depth + 1, depths, &mut |first, block| {
                        assert!(slot.first <= first && next.is_none_or(|next| first < next), "T3");
                        check(first, block);
                    });
                }
            }
        }
    }
}

/// The slot to edit for `id`: the one that may hold it, or the first, whose first id is lowered.
fn place<T>(slots: &mut [Slot<T>], id: StreamId) -> usize {
    position(slots, id).unwrap_or_else(|| {
        slots[0].first = id;
        0
    })
}

/// Joins the node at `at` with a neighbour if both have room in one.
fn join<B: Block>(slots: &mut Vec<Slot<Arc<Node<B>>>>, at: usize) {
    let fits = |slots: &[Slot<Arc<Node<B>>>], left: usize| {
        let pair = slots.get(left..left + 2);
        pair.is_some_and(|pair| pair[0].item.slot_count() + pair[1].item.slot_count() <= FANOUT / 2)
    };
    let left = match at.checked_sub(1) {
        Some(before) if fits(slots, before) => before,
        _ if fits(slots, at) => at,
        _ => return,
    };
    let right = slots.remove(left + 1);
    slots[left].count += right.count;
    match (Arc::make_mut(&mut slots[left].item), Arc::unwrap_or_clone(right.item)) {
        (Node::Leaf(left), Node::Leaf(right)) => left.extend(right),
        (Node::Inner(left), Node::Inner(right)) => left.extend(right),
        _ => unreachable!("T1: neighbours are of the same height"),
    }
}

/// Calls `f` with the slots from the one that may hold `from` on; only for that one `from` still matters.
fn for_each<'a, T, R>(
    slots: &'a [Slot<T>],
    from: Option<StreamId>,
    way: Way,
    mut f: impl FnMut(&'a Slot<T>, Option<StreamId>) -> ControlFlow<R>,
) -> ControlFlow<R> {
    let start = from.map(|id| position(slots, id));
    match way {
        Way::Up => {
            let start = start.flatten().unwrap_or(0);
            for (i, slot) in slots.iter().enumerate().skip(start) {
                f(slot, if i == start { from } else { None })?;
            }
        }
        Way::Down => {
            let start = match start {
                // All ids here are higher.
                Some(None) => return ControlFlow::Continue(()),
                Some(Some(at)) => at,
                None => slots.len().wrapping_sub(1),
            };
            for (i, slot) in slots.iter().enumerate().take(start.wrapping_add(1)).rev() {
                f(slot, if i == start { from } else { None })?;
            }
        }
    }
    ControlFlow::Continue(())
}
