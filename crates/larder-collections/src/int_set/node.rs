//! Nodes of the tree: leaves with blocks, inner nodes with children, and what they know of them by heart.

use larder_packed::int_block::IntBlock;
use std::hint::select_unpredictable;
use std::sync::Arc;

/// Most children of a node.
pub(super) const FANOUT: usize = 128;
/// Fewest children of a node that is not the root: less than a split leaves, so that splits and merges do not take turns.
pub(super) const FANOUT_MIN: usize = 32;

/// Children are added to a node's vectors in steps of this: doubling them would waste a quarter on average.
const ROOM_STEP: usize = 16;

#[derive(Clone, Debug)]
pub(super) enum Node {
    Inner(Inner),
    Leaf(Leaf),
}

/// An inner node: children with the values below each.
#[derive(Clone, Debug)]
pub(super) struct Inner(pub(super) Branch<Arc<Node>, u64>);

/// A leaf: blocks with the values in each.
#[derive(Clone, Debug)]
pub(super) struct Leaf(pub(super) Branch<IntBlock, u16>);

/// What both kinds of nodes are made of.
#[derive(Debug)]
pub(super) struct Branch<K, C> {
    pub(super) lows: Vec<i64>,
    pub(super) counts: Vec<C>,
    pub(super) children: Vec<K>,
}

impl<K: Clone, C: Copy> Clone for Branch<K, C> {
    /// Clones with room for a few more: who clones a node is about to write it.
    fn clone(&self) -> Self {
        let mut clone = Branch { lows: Vec::new(), counts: Vec::new(), children: Vec::new() };
        clone.reserve(self.children.len() + 1);
        clone.lows.extend_from_slice(&self.lows);
        clone.counts.extend_from_slice(&self.counts);
        clone.children.extend_from_slice(&self.children);
        clone
    }
}

impl<K, C: Copy + Into<u64>> Branch<K, C> {
    /// The child that `value` belongs to.
    #[inline]
    pub(super) fn find(&self, value: i64) -> usize {
        let (mut low, mut size) = (0, self.lows.len());
        while size > 1 {
            let half = size / 2;
            let mid = low + half;
            low = select_unpredictable(self.lows[mid] <= value, mid, low);
            size -= half;
        }
        low
    }

    /// The child with the value of rank `left`, which becomes relative to it. There is such a value.
    pub(super) fn find_rank(&self, left: &mut u64) -> usize {
        let mut at = 0;
        while *left >= self.counts[at].into() {
            *left -= self.counts[at].into();
            at += 1;
        }
        at
    }

    pub(super) fn len(&self) -> u64 {
        self.counts.iter().map(|&count| count.into()).sum()
    }

    pub(super) fn insert(&mut self, at: usize, low: i64, count: C, child: K) {
        self.reserve(self.children.len() + 1);
        self.lows.insert(at, low);
        self.counts.insert(at, count);
        self.children.insert(at, child);
    }

    pub(super) fn remove(&mut self, at: usize) -> (i64, C, K) {
        (self.lows.remove(at), self.counts.remove(at), self.children.remove(at))
    }

    fn append(&mut self, other: Self) {
        self.reserve(self.children.len() + other.children.len());
        self.lows.extend(other.lows);
        self.counts.extend(other.counts);
        self.children.extend(other.children);
    }

    fn split_off(&mut self, at: usize) -> Self {
        Branch {
            lows: cut(&mut self.lows, at),
            counts: cut(&mut self.counts, at),
            children: cut(&mut self.children, at),
        }
    }

    fn check(&self, is_root: bool, is_leaf: bool, low: i64, end: Option<i64>) {
        let min = if !is_root { FANOUT_MIN } else { 2 * usize::from(!is_leaf) };
        assert!(
            (min..=FANOUT).contains(&self.children.len()),
            "N1: {} children, root {is_root}",
            self.children.len()
        );
        assert!(self.lows.len() == self.children.len() && self.counts.len() == self.children.len(), "N1");
        assert!(self.lows.windows(2).all(|pair| pair[0] < pair[1]), "N3: {:?}", self.lows);
        assert!(self.lows.iter().skip(1).all(|&l| l >= low && end.is_none_or(|end| l < end)), "N3");
    }

    /// The bounds of the values below child `at`, given those of this node.
    pub(super) fn bounds(&self, at: usize, low: i64, end: Option<i64>) -> (i64, Option<i64>) {
        (if at == 0 { low } else { self.lows[at] }, self.lows.get(at + 1).copied().or(end))
    }
}

impl<K, C> Branch<K, C> {
    fn reserve(&mut self, len: usize) {
        let room = len.next_multiple_of(ROOM_STEP);
        if len > self.children.capacity() {
            self.lows.reserve_exact(room - self.lows.len());
            self.counts.reserve_exact(room - self.counts.len());
            self.children.reserve_exact(room - self.children.len());
        }
    }

    fn heap_bytes(&self) -> usize {
        self.children.capacity() * (size_of::<K>() + size_of::<C>() + size_of::<i64>())
    }
}

impl Leaf {
    pub(super) fn empty() -> Leaf {
        Leaf(Branch { lows: Vec::new(), counts: Vec::new(), children: Vec::new() })
    }

    pub(super) fn of(block: IntBlock) -> Leaf {
        let low = block.first().unwrap_or(i64::MIN);
        Leaf(Branch { lows: vec![low], counts: vec![block.len() as u16], children: vec![block] })
    }
}

impl Node {
    /// A root over two nodes, of which the right one holds the values from `low` on.
    pub(super) fn over(left: Arc<Node>, low: i64, right: Arc<Node>) -> Node {
        Node::Inner(Inner(Branch {
            lows: vec![i64::MIN, low],
            counts: vec![left.len(), right.len()],
            children: vec![left, right],
        }))
    }

    /// Values below the node.
    pub(super) fn len(&self) -> u64 {
        match self {
            Node::Inner(inner) => inner.0.len(),
            Node::Leaf(leaf) => leaf.0.len(),
        }
    }

    /// Number of children.
    pub(super) fn width(&self) -> usize {
        match self {
            Node::Inner(inner) => inner.0.children.len(),
            Node::Leaf(leaf) => leaf.0.children.len(),
        }
    }

    /// Levels below: 0 for a leaf.
    pub(super) fn height(&self) -> usize {
        match self {
            Node::Inner(inner) => 1 + inner.0.children[0].height(),
            Node::Leaf(_) => 0,
        }
    }

    /// True if `value` is below the node.
    #[inline]
    pub(super) fn contains(&self, value: i64) -> bool {
        let mut node = self;
        loop {
            match node {
                Node::Inner(inner) => node = &inner.0.children[inner.0.find(value)],
                Node::Leaf(leaf) => {
                    return leaf
                        .0
                        .children
                        .get(leaf.0.find(value))
                        .is_some_and(|block| block.contains(value));
                }
            }
        }
    }

    /// Cuts the node in two of the same height; this one keeps the first `at` children. The right one comes with the
    /// lower bound of its values.
    pub(super) fn split_off(&mut self, at: usize) -> (i64, Node) {
        let right = match self {
            Node::Inner(inner) => Node::Inner(Inner(inner.0.split_off(at))),
            Node::Leaf(leaf) => Node::Leaf(Leaf(leaf.0.split_off(at))),
        };
        (right.low(), right)
    }

    /// Takes over all children of the right neighbour, of the same height, whose values start at `low`.
    pub(super) fn append(&mut self, low: i64, mut right: Node) {
        // The first low of a node is not kept up while the node is anywhere but at the left end.
        right.set_low(low);
        match (self, right) {
            (Node::Inner(a), Node::Inner(b)) => a.0.append(b.0),
            (Node::Leaf(a), Node::Leaf(b)) => a.0.append(b.0),
            _ => unreachable!("nodes of one height are of one kind"),
        }
    }

    /// A lower bound of the values below the node. That of a node at the left end of its parent may lag behind.
    pub(super) fn low(&self) -> i64 {
        match self {
            Node::Inner(inner) => inner.0.lows[0],
            Node::Leaf(leaf) => leaf.0.lows[0],
        }
    }

    fn set_low(&mut self, low: i64) {
        match self {
            Node::Inner(inner) => inner.0.lows[0] = low,
            Node::Leaf(leaf) => leaf.0.lows[0] = low,
        }
    }

    /// Heap bytes of the nodes from this one down, and the number of blocks; blocks are not looked at.
    pub(super) fn heap_bytes(&self) -> (usize, usize) {
        let own = size_of::<Node>() + 2 * size_of::<usize>();
        match self {
            Node::Leaf(leaf) => (own + leaf.0.heap_bytes(), leaf.0.children.len()),
            Node::Inner(inner) => {
                let below = inner.0.children.iter().map(|child| child.heap_bytes());
                below.fold((own + inner.0.heap_bytes(), 0), |sum, child| (sum.0 + child.0, sum.1 + child.1))
            }
        }
    }

    pub(super) fn check(&self, is_root: bool, low: i64, end: Option<i64>) {
        match self {
            Node::Inner(Inner(branch)) => {
                branch.check(is_root, false, low, end);
                for (at, child) in branch.children.iter().enumerate() {
                    let (low, end) = branch.bounds(at, low, end);
                    assert_eq!(child.height() + 1, self.height(), "N1: equal depth");
                    assert_eq!(child.len(), branch.counts[at], "N2");
                    child.check(false, low, end);
                }
            }
            Node::Leaf(Leaf(branch)) => {
                branch.check(is_root, true, low, end);
                for (at, block) in branch.children.iter().enumerate() {
                    let (low, end) = branch.bounds(at, low, end);
                    block.check_invariants();
                    assert_eq!(block.len(), usize::from(branch.counts[at]), "N2");
                    let (first, last) = (block.first().expect("N4"), block.last().expect("N4"));
                    assert!(first >= low && end.is_none_or(|end| last < end), "N3: {first} {last}");
                }
            }
        }
    }
}

/// `Vec::split_off` that leaves the front without spare capacity.
fn cut<T>(vec: &mut Vec<T>, at: usize) -> Vec<T> {
    let back = vec.split_off(at);
    vec.shrink_to(at.next_multiple_of(ROOM_STEP));
    back
}
