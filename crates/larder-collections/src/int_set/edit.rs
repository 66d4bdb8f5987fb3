//! Adding and removing values.

use super::node::{Branch, Inner, Leaf, Node};
use super::{FANOUT, FANOUT_MIN, IntTree};
use larder_packed::int_block::{BYTES_MAX, Insert, IntBlock};
use std::sync::Arc;

/// Whether a node is at the left or the right end of its level: where a sequence grows, splits leave the finished side
/// full.
#[derive(Clone, Copy)]
struct Edge {
    left: bool,
    right: bool,
}

impl Edge {
    fn of_child(self, at: usize, width: usize) -> Edge {
        Edge { left: self.left && at == 0, right: self.right && at + 1 == width }
    }

    /// Where to cut a node or a block of `width` entries, of which either side keeps at least `min`.
    fn cut(self, width: usize, min: usize) -> usize {
        match self {
            Edge { right: true, .. } => width - min,
            Edge { left: true, .. } => min,
            _ => width / 2,
        }
    }
}

impl IntTree {
    /// Adds a value; true if it was not there.
    pub(super) fn insert(&mut self, value: i64) -> bool {
        let (added, right) = insert(&mut self.root, value, Edge { left: true, right: true });
        if let Some((low, right)) = right {
            self.root = Arc::new(Node::over(Arc::clone(&self.root), low, right));
        }
        self.len += u64::from(added);
        added
    }

    /// Removes a value; true if it was there.
    pub(super) fn remove(&mut self, value: i64) -> bool {
        let removed = remove(&mut self.root, value);
        self.len -= u64::from(removed);
        while let Node::Inner(Inner(branch)) = &*self.root
            && let [only] = &branch.children[..]
        {
            self.root = Arc::clone(only);
        }
        removed
    }

    /// The block, if it is the only one and nothing else needs the tree.
    pub(super) fn only_block(&self) -> Option<IntBlock> {
        match &*self.root {
            Node::Leaf(Leaf(branch)) if branch.children.len() <= 1 && !self.overgrown => {
                Some(branch.children.first().cloned().unwrap_or_else(IntBlock::empty))
            }
            _ => None,
        }
    }
}

/// Inserts below `node`; when that had to be split, its right part comes back with its lower bound.
fn insert(node: &mut Arc<Node>, value: i64, edge: Edge) -> (bool, Option<(i64, Arc<Node>)>) {
    let node = Arc::make_mut(node);
    let added = match node {
        Node::Leaf(leaf) => leaf.insert(value, edge),
        Node::Inner(Inner(branch)) => {
            let at = branch.find(value);
            let edge = edge.of_child(at, branch.children.len());
            let (added, right) = insert(&mut branch.children[at], value, edge);
            branch.counts[at] += u64::from(added);
            if let Some((low, right)) = right {
                let count = right.len();
                branch.counts[at] -= count;
                branch.lows[at] = branch.lows[at].min(branch.children[at].low());
                branch.insert(at + 1, low, count, right);
            }
            added
        }
    };
    let width = node.width();
    if width <= FANOUT {
        return (added, None);
    }
    let (low, right) = node.split_off(edge.cut(width, FANOUT_MIN));
    (added, Some((low, Arc::new(right))))
}

/// Removes below `node`; true if the value was there. The node may be left with too few children.
fn remove(node: &mut Arc<Node>, value: i64) -> bool {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => leaf.remove(value),
        Node::Inner(Inner(branch)) => {
            let at = branch.find(value);
            let removed = remove(&mut branch.children[at], value);
            branch.counts[at] -= u64::from(removed);
            if removed {
                refill(branch, at);
            }
            removed
        }
    }
}

/// Merges child `at` with a neighbour, or evens them out, if it has too few children.
fn refill(branch: &mut Branch<Arc<Node>, u64>, at: usize) {
    if branch.children[at].width() >= FANOUT_MIN || branch.children.len() == 1 {
        return;
    }
    let at = at.saturating_sub(1);
    let (low, _, right) = branch.remove(at + 1);
    let left = Arc::make_mut(&mut branch.children[at]);
    left.append(low, Arc::unwrap_or_clone(right));
    let right = (left.width() > FANOUT).then(|| left.split_off(left.width() / 2));
    branch.counts[at] = left.len();
    if let Some((low, right)) = right {
        branch.insert(at + 1, low, right.len(), Arc::new(right));
    }
}

impl Leaf {
    /// Adds a value; the leaf may be left with a few children too many.
    fn insert(&mut self, value: i64, edge: Edge) -> bool {
        let branch = &mut self.0;
        if branch.children.is_empty() {
            *self = Leaf::of(IntBlock::empty());
            return self.insert(value, edge);
        }
        let at = branch.find(value);
        match branch.children[at].insert(value) {
            Insert::Present => false,
            Insert::Added => {
                branch.counts[at] += 1;
                true
            }
            Insert::Full => {
                self.split_block(at, value, edge.of_child(at, self.0.children.len()));
                self.insert(value, edge)
            }
        }
    }

    /// Cuts the full block at `at` in two, before `value` is put into one of them.
    fn split_block(&mut self, at: usize, value: i64, edge: Edge) {
        let branch = &mut self.0;
        let block = &mut branch.children[at];
        let n = block.len();
        let (first, last) =
            (block.first().expect("a full block has values"), block.last().expect("as above"));
        let (cut, low) = match edge {
            Edge { right: true, .. } if value > last => (n, value),
            Edge { left: true, .. } if value < first => (0, first),
            _ => (n / 2, block.get(n / 2).expect("the middle of a full block")),
        };
        let right = block.split_off(cut);
        branch.counts[at] = cut as u16;
        branch.lows[at] = branch.lows[at].min(first).min(value);
        branch.insert(at + 1, low, right.len() as u16, right);
    }

    fn remove(&mut self, value: i64) -> bool {
        let branch = &mut self.0;
        let at = branch.find(value);
        let Some(block) = branch.children.get_mut(at) else { return false };
        let Ok(position) = block.search(value) else { return false };
        block.remove(position);
        branch.counts[at] -= 1;
        let len = block.len();
        if len == 0 {
            branch.remove(at);
        } else if block.size_bytes() < BYTES_MAX / 4 && (len < 8 || len.is_multiple_of(8)) {
            let _ = self.join_blocks(at) || at > 0 && self.join_blocks(at - 1);
        }
        true
    }

    /// Makes one block of the one at `at` and the next, if it would have room to spare.
    fn join_blocks(&mut self, at: usize) -> bool {
        let branch = &mut self.0;
        let [left, right, ..] = &branch.children[at..] else { return false };
        let Some(joined) = IntBlock::join(left, right) else { return false };
        branch.counts[at] = joined.len() as u16;
        branch.children[at] = joined;
        branch.remove(at + 1);
        true
    }
}
