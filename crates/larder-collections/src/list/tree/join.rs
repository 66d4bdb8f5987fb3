//! Cutting a tree in two and putting two together, in O(log n).

use std::sync::Arc;

use super::edit::join_siblings;
use super::node::{Inner, Node};
use super::{FANOUT, Tree};

impl Tree {
    /// Cuts the tree: the blocks from `position` on are returned, those before stay.
    pub(crate) fn split_off(&mut self, position: usize) -> Tree {
        if position >= self.blocks() {
            return Tree::default();
        }
        let (left, right) = match self.root.take() {
            Some(root) => split(root, position),
            None => (None, None),
        };
        *self = Tree::of(left);
        Tree::of(right)
    }

    /// Puts all blocks of `other` after those of this one.
    pub(crate) fn append(&mut self, other: Tree) {
        let joined = join(self.root.take(), other.root);
        *self = Tree { sum: self.sum + other.sum, root: joined };
    }

    fn of(root: Option<Arc<Node>>) -> Tree {
        Tree { sum: root.as_ref().map_or_else(Default::default, |root| root.sum()), root }
    }
}

fn split(node: Arc<Node>, mut position: usize) -> (Option<Arc<Node>>, Option<Arc<Node>>) {
    if position == 0 {
        return (None, Some(node));
    }
    let mut node = Arc::unwrap_or_clone(node);
    match &mut node {
        Node::Leaf(leaf) if position == leaf.blocks.len() => (Some(Arc::new(node)), None),
        Node::Leaf(_) => {
            let right = node.split_off(position);
            (Some(Arc::new(node)), Some(Arc::new(right)))
        }
        Node::Inner(inner) => {
            let i = inner.find_block(&mut position);
            let right = inner.children.split_off(i + 1);
            let middle = inner.children.pop().expect("child i is there");
            let left = std::mem::take(&mut inner.children);
            let (low, high) = split(middle, position);
            (join(root_of(left), low), join(high, root_of(right)))
        }
    }
}

/// A root for these children: none, the only child itself, or a node above them.
fn root_of(mut children: Vec<Arc<Node>>) -> Option<Arc<Node>> {
    match children.len() {
        0 | 1 => children.pop(),
        _ => Some(Arc::new(Node::inner(children))),
    }
}

fn join(left: Option<Arc<Node>>, right: Option<Arc<Node>>) -> Option<Arc<Node>> {
    let (mut left, mut right) = match (left, right) {
        (Some(left), Some(right)) => (left, right),
        (left, right) => return left.or(right),
    };
    let (low, high) = (left.height(), right.height());
    let (first, second) = match low.cmp(&high) {
        std::cmp::Ordering::Equal => join_siblings(left, right),
        std::cmp::Ordering::Greater => {
            let extra = join_right(&mut left, low, right, high);
            (left, extra)
        }
        std::cmp::Ordering::Less => {
            let extra = join_left(left, low, &mut right, high);
            (right, extra)
        }
    };
    root_of(std::iter::once(first).chain(second).collect())
}

/// Hangs the lower `right` at the right spine of `left`; a right half comes back when `left` overflows.
fn join_right(left: &mut Arc<Node>, low: usize, right: Arc<Node>, high: usize) -> Option<Arc<Node>> {
    let inner = inner_mut(left);
    let mut last = inner.remove(inner.children.len() - 1);
    let extra = if low - 1 == high {
        let (first, second) = join_siblings(last, right);
        last = first;
        second
    } else {
        join_right(&mut last, low - 1, right, high)
    };
    for child in std::iter::once(last).chain(extra) {
        inner.insert(inner.children.len(), child);
    }
    split_overflow(left)
}

/// Hangs the lower `left` at the left spine of `right`; a right half comes back when `right` overflows.
fn join_left(left: Arc<Node>, low: usize, right: &mut Arc<Node>, high: usize) -> Option<Arc<Node>> {
    let inner = inner_mut(right);
    let mut first = inner.remove(0);
    let extra = if high - 1 == low {
        let (a, b) = join_siblings(left, first);
        first = a;
        b
    } else {
        join_left(left, low, &mut first, high - 1)
    };
    for (i, child) in std::iter::once(first).chain(extra).enumerate() {
        inner.insert(i, child);
    }
    split_overflow(right)
}

fn inner_mut(node: &mut Arc<Node>) -> &mut Inner {
    match Arc::make_mut(node) {
        Node::Inner(inner) => inner,
        Node::Leaf(_) => unreachable!("a node above another is not a leaf"),
    }
}

fn split_overflow(node: &mut Arc<Node>) -> Option<Arc<Node>> {
    let node = Arc::make_mut(node);
    let width = node.width();
    (width > FANOUT).then(|| Arc::new(node.split_off(width / 2)))
}
