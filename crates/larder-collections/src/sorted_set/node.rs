//! Inner nodes of the sorted set's tree: bounds, counts, children.
//!
//! ```text
//!   slots  [key 8 | word 8] x n     bound of child i: its entries are not less than (key, tie)
//!                                   word: bottom nodes: leaf id << 16 | entries of the leaf; above: entries below
//!   ties   [member's start] x n     empty as long as no bound of the node needs a member
//!   children  [Arc<Node>] x n       above the bottom only
//! ```
//!
//! A bound needs a member only where entries of one score lie on both sides of it, and of that member only the bytes up to
//! the first that differs from the last one on the left. The bound of the first child is never looked at: what is less than
//! all others goes there.

use crate::relocation::{move_arc, move_vec};
use larder_packed::heap::Mover;
use larder_packed::leaf::{Leaf, Target};
use std::cmp::Ordering;
use std::sync::Arc;

/// Most children of a node.
pub(super) const FANOUT: usize = 64;

/// Where a child begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Bound {
    pub key: u64,
    pub tie: Option<Arc<[u8]>>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    word: u64,
}

/// See the module's comment.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    slots: Vec<Slot>,
    ties: Vec<Option<Arc<[u8]>>>,
    pub children: Vec<Arc<Node>>,
}

/// What a slot points to.
pub(super) enum Child {
    Leaf { id: u32, count: usize },
    Node(Arc<Node>),
}

impl Bound {
    /// The bound between two leaves that follow each other.
    pub(super) fn between(left: &Leaf, right: &Leaf) -> Bound {
        let key = right.key(0);
        if left.key(left.len() - 1) < key {
            return Bound { key, tie: None };
        }
        let (last, first) = (left.member(left.len() - 1).to_vec(), right.member(0).to_vec());
        let shared = last.iter().zip(&first).take_while(|(a, b)| a == b).count();
        Bound { key, tie: Some(first[..=shared].into()) }
    }
}

impl Node {
    #[inline]
    pub(super) fn is_bottom(&self) -> bool {
        self.children.is_empty()
    }

    /// Number of children.
    #[inline]
    pub(super) fn width(&self) -> usize {
        self.slots.len()
    }

    /// Entries below child `i`.
    #[inline]
    pub(super) fn count(&self, i: usize) -> u64 {
        let word = self.slots[i].word;
        if self.is_bottom() { word & 0xFFFF } else { word }
    }

    /// Entries below this node.
    pub(super) fn total(&self) -> u64 {
        (0..self.width()).map(|i| self.count(i)).sum()
    }

    /// Id of the leaf that is child `i` of a bottom node.
    #[inline]
    pub(super) fn leaf_id(&self, i: usize) -> u32 {
        debug_assert!(self.is_bottom());
        (self.slots[i].word >> 16) as u32
    }

    pub(super) fn set_leaf(&mut self, i: usize, id: u32, count: usize) {
        debug_assert!(count <= 0xFFFF);
        self.slots[i].word = u64::from(id) << 16 | count as u64;
    }

    /// Adds to the count of child `i`.
    #[inline]
    pub(super) fn add(&mut self, i: usize, count: i64) {
        self.slots[i].word = self.slots[i].word.wrapping_add_signed(count);
    }

    pub(super) fn bound(&self, i: usize) -> Bound {
        Bound { key: self.slots[i].key, tie: self.ties.get(i).cloned().flatten() }
    }

    pub(super) fn set_bound(&mut self, i: usize, bound: Bound) {
        self.slots[i].key = bound.key;
        if bound.tie.is_some() && self.ties.is_empty() {
            self.ties = vec![None; self.slots.len()];
        }
        if let Some(tie) = self.ties.get_mut(i) {
            *tie = bound.tie;
        }
    }

    /// The child that `target` leads to.
    #[inline]
    pub(super) fn find(&self, target: &Target<'_>) -> usize {
        let mut i = 1 + self.slots[1..].iter().take_while(|slot| slot.key < target.key).count();
        while i < self.slots.len() && self.bound_cmp(i, target) != Ordering::Greater {
            i += 1;
        }
        i - 1
    }

    /// The child that `target` leads to, and the number of entries before that child.
    #[inline]
    pub(super) fn find_counting(&self, target: &Target<'_>) -> (usize, u64) {
        let i = self.find(target);
        (i, self.before(i))
    }

    /// Entries before child `i`.
    #[inline]
    pub(super) fn before(&self, i: usize) -> u64 {
        if self.is_bottom() {
            return self.slots[..i].iter().map(|slot| slot.word & 0xFFFF).sum();
        }
        self.slots[..i].iter().map(|slot| slot.word).sum()
    }

    /// The child that holds entry `rank`, and the number of entries before that child.
    #[inline]
    pub(super) fn find_rank(&self, rank: u64) -> (usize, u64) {
        let mut before = 0;
        for i in 0..self.slots.len() - 1 {
            let count = self.count(i);
            if rank < before + count {
                return (i, before);
            }
            before += count;
        }
        (self.slots.len() - 1, before)
    }

    fn bound_cmp(&self, i: usize, target: &Target<'_>) -> Ordering {
        let tie = self.ties.get(i).and_then(Option::as_deref).unwrap_or_default();
        self.slots[i].key.cmp(&target.key).then_with(|| tie.cmp(target.member))
    }

    pub(super) fn insert(&mut self, i: usize, bound: Bound, child: Child) {
        let word = match child {
            Child::Leaf { id, count } => u64::from(id) << 16 | count as u64,
            Child::Node(node) => {
                let total = node.total();
                self.children.insert(i, node);
                total
            }
        };
        self.slots.insert(i, Slot { key: bound.key, word });
        if bound.tie.is_some() && self.ties.is_empty() {
            self.ties = vec![None; self.slots.len() - 1];
        }
        if !self.ties.is_empty() || bound.tie.is_some() {
            self.ties.insert(i, bound.tie);
        }
    }

    pub(super) fn remove(&mut self, i: usize) {
        self.slots.remove(i);
        if !self.ties.is_empty() {
            self.ties.remove(i);
        }
        if !self.children.is_empty() {
            self.children.remove(i);
        }
    }

    /// Takes the children from `at` on into a node of their own.
    pub(super) fn split_off(&mut self, at: usize) -> Node {
        Node {
            slots: self.slots.split_off(at),
            ties: if self.ties.is_empty() { Vec::new() } else { self.ties.split_off(at) },
            children: if self.children.is_empty() { Vec::new() } else { self.children.split_off(at) },
        }
    }

    /// Appends the children of `right`, the first of which begins at `bound`.
    pub(super) fn append(&mut self, mut right: Node, bound: Bound) {
        right.set_bound(0, bound);
        if !self.ties.is_empty() || !right.ties.is_empty() {
            self.ties.resize(self.slots.len(), None);
            right.ties.resize(right.slots.len(), None);
        }
        self.slots.append(&mut right.slots);
        self.ties.append(&mut right.ties);
        self.children.append(&mut right.children);
    }

    /// Bytes of heap, without the children.
    pub(super) fn heap_bytes(&self) -> usize {
        let ties: usize = self.ties.iter().flatten().map(|tie| tie.len() + 16).sum();
        size_of::<Node>()
            + 16
            + self.slots.capacity() * size_of::<Slot>()
            + self.ties.capacity() * 16
            + self.children.capacity() * 8
            + ties
    }

    /// Moves nodes below this one, and vectors of nodes, that lie in sparse slabs and are not shared.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover) {
        if mover.is_at_start() {
            move_vec(&mut self.slots, mover);
            move_vec(&mut self.ties, mover);
            move_vec(&mut self.children, mover);
        }
        mover.each(self.children.len(), |mover, at| {
            if let Some(child) = move_arc(&mut self.children[at], mover) {
                child.move_blocks(mover);
            }
        });
    }

    /// Calls `f` for every node from here down.
    pub(super) fn for_each(&self, f: &mut impl FnMut(&Node)) {
        f(self);
        self.children.iter().for_each(|child| child.for_each(f));
    }
}
