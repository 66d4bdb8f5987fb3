//! Changing the tree block by block.

use std::sync::Arc;

use larder_packed::block::Block;

use super::node::{Inner, Node, Tag};
use super::{FANOUT, FANOUT_MIN, Sum, Tree};

impl Tree {
    /// Puts `block` before the one at `position`, or at the end.
    pub(crate) fn insert(&mut self, position: usize, block: Block) {
        assert!(position <= self.blocks() && !block.is_empty());
        let added = Tag::of(&block).sum();
        self.sum = self.sum + added;
        let Some(root) = &mut self.root else {
            self.root = Some(Arc::new(Node::leaf(block)));
            return;
        };
        if let Some(right) = insert(root, position, block, added) {
            let left = self.root.take().expect("it was just split");
            self.root = Some(Arc::new(Node::inner(vec![left, right])));
        }
    }

    /// Takes the block at `position` out.
    pub(crate) fn remove(&mut self, position: usize) -> Block {
        assert!(position < self.blocks());
        let root = self.root.as_mut().expect("a tree with blocks has a root");
        let (block, removed) = remove(root, position);
        self.collapse_root();
        self.sum = self.sum - removed;
        block
    }

    /// Lets `f` change the block at `position`, which must not become empty.
    pub(crate) fn update<R>(&mut self, position: usize, f: impl FnOnce(&mut Block) -> R) -> R {
        assert!(position < self.blocks());
        let root = self.root.as_mut().expect("a tree with blocks has a root");
        let (result, old, new) = update(root, position, f);
        self.sum = self.sum - old + new;
        result
    }

    pub(crate) fn push_back(&mut self, block: Block) {
        self.insert(self.blocks(), block);
    }

    pub(crate) fn push_front(&mut self, block: Block) {
        self.insert(0, block);
    }

    pub(crate) fn pop_back(&mut self) -> Option<Block> {
        self.blocks().checked_sub(1).map(|last| self.remove(last))
    }

    pub(crate) fn pop_front(&mut self) -> Option<Block> {
        (self.blocks() > 0).then(|| self.remove(0))
    }

    /// A root without children goes; an inner root with one child is replaced by it.
    fn collapse_root(&mut self) {
        while let Some(root) = &self.root {
            let next = match &**root {
                Node::Leaf(leaf) if leaf.blocks.is_empty() => None,
                Node::Inner(inner) if inner.children.len() == 1 => Some(inner.children[0].clone()),
                _ => return,
            };
            self.root = next;
        }
    }
}

/// Inserts below `node`; the right half comes back when it had to be split.
fn insert(node: &mut Arc<Node>, mut position: usize, block: Block, added: Sum) -> Option<Arc<Node>> {
    let node = Arc::make_mut(node);
    let at = match node {
        Node::Leaf(leaf) => {
            leaf.insert(position, block);
            position
        }
        Node::Inner(inner) => {
            let i = inner.find_insert(&mut position);
            match insert(&mut inner.children[i], position, block, added) {
                None => inner.sums[i] = inner.sums[i] + added,
                Some(right) => {
                    inner.refresh(i);
                    inner.insert(i + 1, right);
                }
            }
            i
        }
    };
    let width = node.width();
    // A split where the list grows leaves the finished side three quarters full.
    let cut = match at {
        _ if width <= FANOUT => return None,
        0 => FANOUT_MIN,
        _ if at + 2 >= width => width - FANOUT_MIN,
        _ => width / 2,
    };
    Some(Arc::new(node.split_off(cut)))
}

/// Takes a block out below `node`; its sum comes with it.
fn remove(node: &mut Arc<Node>, mut position: usize) -> (Block, Sum) {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => leaf.remove(position),
        Node::Inner(inner) => {
            let i = inner.find_block(&mut position);
            let (block, removed) = remove(&mut inner.children[i], position);
            inner.sums[i] = inner.sums[i] - removed;
            inner.refill(i);
            (block, removed)
        }
    }
}

/// Changes a block below `node`; its sums before and after come with the result.
fn update<R>(node: &mut Arc<Node>, mut position: usize, f: impl FnOnce(&mut Block) -> R) -> (R, Sum, Sum) {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => leaf.update(position, f),
        Node::Inner(inner) => {
            let i = inner.find_block(&mut position);
            let (result, old, new) = update(&mut inner.children[i], position, f);
            inner.sums[i] = inner.sums[i] - old + new;
            (result, old, new)
        }
    }
}

impl Inner {
    /// Like `find_block`, but one past the last block belongs to the last child.
    fn find_insert(&self, left: &mut usize) -> usize {
        let mut i = 0;
        while i + 1 < self.sums.len() && *left > self.sums[i].blocks as usize {
            *left -= self.sums[i].blocks as usize;
            i += 1;
        }
        i
    }

    /// Merges child `i` with a neighbour, or evens them out, if it has too few children.
    fn refill(&mut self, i: usize) {
        if self.children[i].width() >= FANOUT_MIN || self.children.len() == 1 {
            return;
        }
        let i = i.saturating_sub(1);
        let right = self.remove(i + 1);
        let left = self.remove(i);
        let (left, right) = join_siblings(left, right);
        self.insert(i, left);
        if let Some(right) = right {
            self.insert(i + 1, right);
        }
    }
}

/// Two neighbours of the same height as one node, or as two that are full enough.
pub(super) fn join_siblings(left: Arc<Node>, right: Arc<Node>) -> (Arc<Node>, Option<Arc<Node>>) {
    let total = left.width() + right.width();
    if total > FANOUT && left.width() >= FANOUT_MIN && right.width() >= FANOUT_MIN {
        return (left, Some(right));
    }
    let mut node = Arc::unwrap_or_clone(left);
    node.append(Arc::unwrap_or_clone(right));
    let back = (total > FANOUT).then(|| Arc::new(node.split_off(total / 2)));
    (Arc::new(node), back)
}
