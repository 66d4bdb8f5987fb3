//! Changing a leaf, and what follows for the nodes above it.

use std::sync::Arc;

use super::Tree;
use super::node::{Count, Node, Seek, Shape, Sum};
use super::slots::{CountedApart, Slots};

/// A leaf to be changed. It may be left with any number of blocks.
pub(crate) struct LeafMut<'a, S: Shape> {
    slots: &'a mut S::Leaf,
    at: usize,
    /// How the sum has changed.
    change: S::Sum,
}

impl<S: Shape> LeafMut<'_, S> {
    /// Position of the block that was looked for.
    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn slots(&self) -> &S::Leaf {
        self.slots
    }

    pub(crate) fn set_key(&mut self, at: usize, key: S::Key) {
        self.slots.set_key(at, key);
    }

    /// Lets `f` change a block.
    #[inline]
    pub(crate) fn update<R>(&mut self, at: usize, f: impl FnOnce(&mut S::Block) -> R) -> R {
        let old = self.slots.count(at);
        let block = self.slots.child_mut(at);
        let result = f(block);
        let new = S::count(block);
        self.slots.set_count(at, new);
        self.change = self.change.plus(new.sum()).minus(old.sum());
        result
    }

    #[inline]
    pub(crate) fn insert(&mut self, at: usize, key: S::Key, block: S::Block) {
        let count = S::count(&block);
        self.slots.insert(at, key, count, block);
        self.change = self.change.plus(count.sum());
    }

    #[inline]
    pub(crate) fn remove(&mut self, at: usize) -> S::Block {
        let (_, count, block) = self.slots.remove(at);
        self.change = self.change.minus(count.sum());
        block
    }
}

impl<S: Shape> Tree<S> {
    /// Lets `f` change the leaf that `seek` leads to.
    #[inline]
    pub(crate) fn edit<R>(&mut self, seek: &mut impl Seek<S>, f: impl FnOnce(&mut LeafMut<'_, S>) -> R) -> R {
        let mut change = S::Sum::default();
        let (result, right) = self.root.edit(seek, f, &mut change);
        self.sum = self.sum.plus(change);
        if let Some(right) = right {
            let left = std::mem::take(&mut self.root);
            self.root = Node::above([Arc::new(left), right]);
        }
        if matches!(&self.root, Node::Inner(slots) if slots.len() == 1) {
            self.collapse();
        }
        result
    }

    /// An inner root with one child is replaced by it.
    #[cold]
    fn collapse(&mut self) {
        while let Node::Inner(slots) = &mut self.root
            && slots.len() == 1
        {
            self.root = Arc::unwrap_or_clone(slots.remove(0).2);
        }
    }
}

impl<S: Shape> Node<S> {
    /// Edits below this node; its right part comes back if it had to be split. It may be left with too few children.
    fn edit<R>(
        &mut self,
        seek: &mut impl Seek<S>,
        f: impl FnOnce(&mut LeafMut<'_, S>) -> R,
        change: &mut S::Sum,
    ) -> (R, Option<Arc<Self>>) {
        let (result, at, width) = match self {
            Node::Leaf(slots) => {
                let at = seek.at(slots, true);
                let mut leaf = LeafMut { slots, at, change: S::Sum::default() };
                let result = f(&mut leaf);
                *change = leaf.change;
                (result, at, leaf.slots.len())
            }
            Node::Inner(slots) => {
                let at = seek.at(slots, false);
                let (sum, child) = slots.slot_mut(at);
                let child = Arc::make_mut(child);
                let (result, right) = child.edit(seek, f, change);
                *sum = sum.plus(*change);
                if let Some(right) = right {
                    insert_right::<S>(slots, at, right);
                } else if child.width() < S::FANOUT_MIN {
                    refill::<S>(slots, at);
                }
                (result, at, slots.len())
            }
        };
        (result, if width > S::FANOUT { Some(self.split(at)) } else { None })
    }

    /// Cuts a node that has become too wide at child `at`; the right part. Where a tree grows, the finished side is left three
    /// quarters full.
    #[cold]
    fn split(&mut self, at: usize) -> Arc<Self> {
        let (width, finished) = (self.width(), S::FANOUT - S::FANOUT_MIN);
        self.split_off(match at {
            0 => width - finished,
            _ if at + 2 >= width => finished,
            _ => width / 2,
        })
    }
}

/// Puts the right part of child `at`, of which it was cut off, after it.
#[cold]
fn insert_right<S: Shape>(slots: &mut S::Inner, at: usize, right: Arc<Node<S>>) {
    let sum = right.sum();
    let (left_sum, _) = slots.slot_mut(at);
    *left_sum = left_sum.minus(sum);
    slots.insert(at + 1, right.key(), sum, right);
}

/// Merges child `at`, which has too few children, with a neighbour, or evens the two out.
#[cold]
fn refill<S: Shape>(slots: &mut S::Inner, at: usize) {
    if slots.len() == 1 {
        return;
    }
    let at = at.saturating_sub(1);
    let (key, right_sum, right) = slots.remove(at + 1);
    let (sum, left) = slots.slot_mut(at);
    *sum = sum.plus(right_sum);
    if let Some(right) = join_siblings(left, key, right) {
        insert_right::<S>(slots, at, right);
    }
}

/// Makes one node of two neighbours of the same height, of which the right one has this key. Two come back, evened out if one
/// had too few children, when they are too many for one.
pub(super) fn join_siblings<S: Shape>(
    left: &mut Arc<Node<S>>,
    key: S::Key,
    right: Arc<Node<S>>,
) -> Option<Arc<Node<S>>> {
    let width = left.width() + right.width();
    if width > S::FANOUT && left.width().min(right.width()) >= S::FANOUT_MIN {
        return Some(right);
    }
    let left = Arc::make_mut(left);
    left.append(key, Arc::unwrap_or_clone(right));
    (width > S::FANOUT).then(|| left.split_off(width / 2))
}
