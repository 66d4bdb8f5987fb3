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
//! - T1: all leaves are at the same depth, a node has at most [`FANOUT`] children, none but the root is empty, and an
//!   inner root has at least two.
//! - T2: a child's count is the number of records below it; `len` is the sum.
//! - T3: the first id of a child is not above those below it, and above those below the child before.
//!
//! Tested by the model tests in `tests` beside this file.

use larder_packed::block::Direction;
use larder_packed::stream_node::StreamId;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Most children of a node.
const FANOUT: usize = 64;
/// A node of fewer children is joined with a neighbour if both have room in one.
const FANOUT_MIN: usize = FANOUT / 4 + 1;

/// What hangs in the leaves.
pub(super) trait Block: Clone {
    /// Number of records.
    fn len(&self) -> u64;

    /// Bytes of heap.
    fn heap_bytes(&self) -> usize;
}

#[derive(Clone, Debug)]
struct Child<T> {
    first: StreamId,
    count: u64,
    item: T,
}

#[derive(Clone, Debug)]
enum Node<B> {
    Inner(Vec<Child<Arc<Node<B>>>>),
    Leaf(Vec<Child<B>>),
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
                Node::Inner(children) => node = &children[position(children, id)?].item,
                Node::Leaf(children) => {
                    let child = &children[position(children, id)?];
                    return Some((child.first, &child.item));
                }
            }
        }
    }

    /// The first block.
    pub(super) fn first(&self) -> Option<(StreamId, &B)> {
        let mut node = &self.root;
        loop {
            match node {
                Node::Inner(children) => node = &children.first()?.item,
                Node::Leaf(children) => return children.first().map(|child| (child.first, &child.item)),
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
            self.root = Node::Leaf(vec![Child { first, count: self.len, item: block }]);
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
        direction: Direction,
        f: &mut impl FnMut(StreamId, &'a B) -> ControlFlow<R>,
    ) -> ControlFlow<R> {
        self.root.walk(Some(from), direction, f)
    }

    /// Bytes of heap: of the nodes, and of the blocks estimated from the first `samples`; 0 looks at all.
    pub(super) fn heap_bytes(&self, samples: u64) -> u64 {
        let (mut seen, mut bytes) = (0, 0);
        let _ = self.walk(StreamId::ZERO, Direction::Forward, &mut |_, block| {
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
    fn grow(&mut self, right: Child<Arc<Node<B>>>) {
        let left = std::mem::replace(&mut self.root, Node::Leaf(Vec::new()));
        self.root = Node::Inner(vec![left.into_child(), right]);
    }

    /// Takes away a root that has one child, or none.
    fn collapse(&mut self) {
        while let Node::Inner(children) = &mut self.root
            && children.len() < 2
        {
            self.root = match children.pop() {
                Some(child) => Arc::unwrap_or_clone(child.item),
                None => Node::Leaf(Vec::new()),
            };
        }
    }

    /// Panics if an invariant of the module's comment is violated.
    pub(super) fn check_invariants(&self, check: &mut impl FnMut(StreamId, &B)) {
        if let Node::Inner(children) = &self.root {
            assert!(children.len() >= 2, "T1: an inner root has two children");
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

/// The child that may hold `id`.
#[inline]
fn position<T>(children: &[Child<T>], id: StreamId) -> Option<usize> {
    match children.last() {
        Some(last) if last.first <= id => Some(children.len() - 1),
        _ => children.partition_point(|child| child.first <= id).checked_sub(1),
    }
}

/// Puts a child in, and splits what has become too long; the right part then.
fn insert<T>(children: &mut Vec<Child<T>>, at: usize, child: Child<T>) -> Option<Vec<Child<T>>> {
    if children.len() == children.capacity() {
        children.reserve_exact(children.len() / 4 + 1);
    }
    children.insert(at, child);
    if children.len() <= FANOUT {
        return None;
    }
    let keep = if at + 1 == children.len() { at } else { children.len() / 2 };
    let right = children.split_off(keep);
    children.shrink_to_fit();
    Some(right)
}

impl<B: Block> Node<B> {
    fn edit<R>(
        &mut self,
        id: StreamId,
        f: impl FnOnce(StreamId, &mut B) -> (R, Verdict<B>),
        change: &mut Change,
    ) -> (R, Option<Child<Arc<Node<B>>>>) {
        match self {
            Node::Leaf(children) => {
                let at = place(children, id);
                let child = &mut children[at];
                let (result, verdict) = f(child.first, &mut child.item);
                let count = child.item.len();
                change.records += count.wrapping_sub(child.count) as i64;
                child.count = count;
                let right = match verdict {
                    Verdict::Keep if count > 0 => None,
                    Verdict::Keep | Verdict::Remove => {
                        children.remove(at);
                        change.records -= count as i64;
                        change.blocks -= 1;
                        None
                    }
                    Verdict::Add(first, item) => {
                        let count = item.len();
                        change.records += count as i64;
                        change.blocks += 1;
                        insert(children, at + 1, Child { first, count, item })
                    }
                };
                (result, right.map(|children| Node::Leaf(children).into_child()))
            }
            Node::Inner(children) => {
                let at = place(children, id);
                let before = change.records;
                let node = Arc::make_mut(&mut children[at].item);
                let (result, added) = node.edit(id, f, change);
                let width = node.width();
                let moved = added.as_ref().map_or(0, |child| child.count);
                children[at].count =
                    children[at].count.wrapping_add_signed(change.records - before).wrapping_sub(moved);
                let right = match added {
                    Some(child) => insert(children, at + 1, child),
                    None => {
                        if width == 0 {
                            children.remove(at);
                        } else if width < FANOUT_MIN {
                            join(children, at);
                        }
                        None
                    }
                };
                (result, right.map(|children| Node::Inner(children).into_child()))
            }
        }
    }

    fn walk<'a, R>(
        &'a self,
        from: Option<StreamId>,
        direction: Direction,
        f: &mut impl FnMut(StreamId, &'a B) -> ControlFlow<R>,
    ) -> ControlFlow<R> {
        match self {
            Node::Leaf(children) => {
                for_each(children, from, direction, |child, _| f(child.first, &child.item))
            }
            Node::Inner(children) => {
                for_each(children, from, direction, |child, from| child.item.walk(from, direction, f))
            }
        }
    }

    fn width(&self) -> usize {
        match self {
            Node::Inner(children) => children.len(),
            Node::Leaf(children) => children.len(),
        }
    }

    fn count(&self) -> u64 {
        match self {
            Node::Inner(children) => children.iter().map(|child| child.count).sum(),
            Node::Leaf(children) => children.iter().map(|child| child.count).sum(),
        }
    }

    fn into_child(self) -> Child<Arc<Node<B>>> {
        let first = match &self {
            Node::Inner(children) => children[0].first,
            Node::Leaf(children) => children[0].first,
        };
        Child { first, count: self.count(), item: Arc::new(self) }
    }

    fn heap_bytes(&self) -> u64 {
        match self {
            Node::Leaf(children) => (children.capacity() * size_of::<Child<B>>()) as u64,
            Node::Inner(children) => {
                let own = children.capacity() * size_of::<Child<Arc<Node<B>>>>();
                let arcs = children.len() * (16 + size_of::<Node<B>>());
                (own + arcs) as u64 + children.iter().map(|child| child.item.heap_bytes()).sum::<u64>()
            }
        }
    }

    fn check(&self, depth: usize, depths: &mut Vec<usize>, check: &mut dyn FnMut(StreamId, &B)) {
        assert!(self.width() <= FANOUT, "T1: children");
        assert!(depth == 0 || self.width() > 0, "T1: an empty node");
        match self {
            Node::Leaf(children) => {
                depths.push(depth);
                assert!(children.windows(2).all(|pair| pair[0].first < pair[1].first), "T3");
                for child in children {
                    assert_eq!(child.count, child.item.len(), "T2: count of a block");
                    check(child.first, &child.item);
                }
            }
            Node::Inner(children) => {
                assert!(children.windows(2).all(|pair| pair[0].first < pair[1].first), "T3");
                for (i, child) in children.iter().enumerate() {
                    assert_eq!(child.count, child.item.count(), "T2: count of a node");
                    let next = children.get(i + 1).map(|next| next.first);
                    child.item.check(depth + 1, depths, &mut |first, block| {
                        assert!(child.first <= first && next.is_none_or(|next| first < next), "T3");
                        check(first, block);
                    });
                }
            }
        }
    }
}

/// The child to edit for `id`: the one that may hold it, or the first, whose first id is lowered.
fn place<T>(children: &mut [Child<T>], id: StreamId) -> usize {
    position(children, id).unwrap_or_else(|| {
        children[0].first = id;
        0
    })
}

/// Joins the node at `at` with a neighbour if both have room in one.
fn join<B: Block>(children: &mut Vec<Child<Arc<Node<B>>>>, at: usize) {
    let fits = |children: &[Child<Arc<Node<B>>>], left: usize| {
        let pair = children.get(left..left + 2);
        pair.is_some_and(|pair| pair[0].item.width() + pair[1].item.width() <= FANOUT / 2)
    };
    let left = match at.checked_sub(1) {
        Some(before) if fits(children, before) => before,
        _ if fits(children, at) => at,
        _ => return,
    };
    let right = children.remove(left + 1);
    children[left].count += right.count;
    match (Arc::make_mut(&mut children[left].item), Arc::unwrap_or_clone(right.item)) {
        (Node::Leaf(left), Node::Leaf(right)) => left.extend(right),
        (Node::Inner(left), Node::Inner(right)) => left.extend(right),
        _ => unreachable!("T1: neighbours are of the same height"),
    }
}

/// Calls `f` with the children from the one that may hold `from` on; only for that one `from` still matters.
fn for_each<'a, T, R>(
    children: &'a [Child<T>],
    from: Option<StreamId>,
    direction: Direction,
    mut f: impl FnMut(&'a Child<T>, Option<StreamId>) -> ControlFlow<R>,
) -> ControlFlow<R> {
    let start = from.map(|id| position(children, id));
    match direction {
        Direction::Forward => {
            let start = start.flatten().unwrap_or(0);
            for (i, child) in children.iter().enumerate().skip(start) {
                f(child, if i == start { from } else { None })?;
            }
        }
        Direction::Backward => {
            let start = match start {
                // All ids here are higher.
                Some(None) => return ControlFlow::Continue(()),
                Some(Some(at)) => at,
                None => children.len().wrapping_sub(1),
            };
            for (i, child) in children.iter().enumerate().take(start.wrapping_add(1)).rev() {
                f(child, if i == start { from } else { None })?;
            }
        }
    }
    ControlFlow::Continue(())
}
