//! Cutting a tree without keys in two and putting two together, in O(log n).

use std::sync::Arc;

use larder_packed::block::Direction;

use super::Tree;
use super::edit::join_siblings;
use super::node::{ByBlock, ByEnd, CountsBlocks, Node, Seek, Shape, Sum};
use super::slots::{CountedApart, Slots};

type Root<S> = Option<Arc<Node<S>>>;

impl<S: Shape<Key = (), Sum: CountsBlocks>> Tree<S> {
    /// Cuts the tree: the blocks from `position` on are returned, those before stay.
    pub(crate) fn split_off(&mut self, position: u64) -> Tree<S> {
        if position >= self.sum.blocks() {
            return Tree::default();
        }
        let (left, right) = split(Arc::new(std::mem::take(&mut self.root)), position);
        *self = Tree::of(left);
        Tree::of(right)
    }

    /// Puts all blocks of `other` after those of this one.
    pub(crate) fn append(&mut self, other: Tree<S>) {
        let root = |root: Node<S>| (root.width() > 0).then(|| Arc::new(root));
        let joined = join(root(std::mem::take(&mut self.root)), root(other.root));
        *self = Tree { root: root_node(joined), sum: self.sum.plus(other.sum) };
    }

    fn of(root: Root<S>) -> Tree<S> {
        let root = root_node(root);
        Tree { sum: root.sum(), root }
    }
}

fn root_node<S: Shape>(root: Root<S>) -> Node<S> {
    root.map(Arc::unwrap_or_clone).unwrap_or_default()
}

/// Cuts a node before the block at `position`, which is in it.
fn split<S: Shape<Key = (), Sum: CountsBlocks>>(node: Arc<Node<S>>, position: u64) -> (Root<S>, Root<S>) {
    if position == 0 {
        return (None, Some(node));
    }
    let mut node = Arc::unwrap_or_clone(node);
    let slots = match &mut node {
        Node::Inner(slots) => slots,
        Node::Leaf(_) => {
            let right = node.split_off(position as usize);
            return (Some(Arc::new(node)), Some(right));
        }
    };
    let mut seek = ByBlock(position);
    let at = Seek::<S>::at(&mut seek, slots, false);
    let right = slots.split_off(at + 1);
    let (_, _, middle) = slots.remove(at);
    let (low, high) = split(middle, seek.0);
    (join(root_of(std::mem::take(slots)), low), join(high, root_of(right)))
}

/// A root with these slots: none, the only child itself, or a node.
fn root_of<S: Shape>(mut slots: S::Inner) -> Root<S> {
    match slots.len() {
        0 | 1 => (slots.len() == 1).then(|| slots.remove(0).2),
        _ => Some(Arc::new(Node::Inner(slots))),
    }
}

fn join<S: Shape<Key = ()>>(left: Root<S>, right: Root<S>) -> Root<S> {
    let (mut left, mut right) = match (left, right) {
        (Some(left), Some(right)) => (left, right),
        (left, right) => return left.or(right),
    };
    let (left_height, right_height) = (left.height(), right.height());
    let (first, second) = if left_height >= right_height {
        let second = hang(&mut left, left_height - right_height, right, Direction::Backward);
        (left, second)
    } else {
        let second = hang(&mut right, right_height - left_height, left, Direction::Forward);
        (right, second)
    };
    Some(match second {
        Some(second) => Arc::new(Node::above([first, second])),
        None => first,
    })
}

/// Hangs a node at the end of one that is this many levels higher where a walk in `direction` begins; the right part of
/// that comes back if it has become too wide.
fn hang<S: Shape<Key = ()>>(
    node: &mut Arc<Node<S>>,
    levels: usize,
    lower: Arc<Node<S>>,
    direction: Direction,
) -> Root<S> {
    if levels == 0 {
        let right = if direction == Direction::Forward { std::mem::replace(node, lower) } else { lower };
        return join_siblings(node, (), right);
    }
    let node = Arc::make_mut(node);
    let Node::Inner(slots) = node else { unreachable!("a node above another is not a leaf") };
    let at = Seek::<S>::at(&mut ByEnd(direction), slots, false);
    let (sum, child) = slots.slot_mut(at);
    let right = hang(child, levels - 1, lower, direction);
    *sum = child.sum();
    if let Some(right) = right {
        slots.insert(at + 1, (), right.sum(), right);
    }
    let width = slots.len();
    (width > S::FANOUT).then(|| node.split_off(width / 2))
}
