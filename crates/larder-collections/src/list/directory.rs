//! The directory of a big list: its blocks by position, ends and inner tree as one sequence.

use std::ops::ControlFlow;
use std::sync::Arc;

use larder_packed::block::{Block, Direction, Limit};

use super::ahead::{Ahead, WorkCache};
use super::tree::Tree;

/// Label of the first element of a new directory.
const ORIGIN_FIRST: u64 = 1 << 40;

/// The opaque content of [`super::List::Tree`].
#[derive(Clone, Debug)]
pub struct Directory(pub(crate) Arc<ListTree>);

/// See the comment of the list module.
#[derive(Clone, Debug)]
pub(crate) struct ListTree {
    pub(super) head: Block,
    pub(super) tail: Option<Block>,
    /// Written through `inner_mut` only.
    pub(super) inner: Tree,
    pub(super) len: u64,
    /// Position label of the first element.
    pub(super) origin: u64,
    /// Tells cursors of this list from others.
    pub(super) salt: u32,
    /// The list shrank so far that it counts as small again.
    pub(super) small_again: bool,
    /// Blocks kept plain at the ends beyond the depth.
    pub(super) ahead: Ahead,
    /// Whether there is compression work, until the inner blocks change.
    pub(super) work: WorkCache,
}

impl ListTree {
    /// A directory of one block.
    pub(super) fn of(head: Block) -> ListTree {
        let (len, inner) = (head.len() as u64, Tree::default());
        ListTree {
            head,
            tail: None,
            inner,
            len,
            origin: ORIGIN_FIRST,
            salt: fresh_salt(),
            small_again: false,
            ahead: Ahead::default(),
            work: WorkCache::default(),
        }
    }

    /// The inner blocks, to be changed.
    pub(super) fn inner_mut(&mut self) -> &mut Tree {
        self.work.forget();
        &mut self.inner
    }

    /// Number of blocks: head, inner ones, tail.
    pub(super) fn blocks(&self) -> usize {
        1 + self.inner.blocks() + usize::from(self.tail.is_some())
    }

    /// The block at `position`, 0 being the head.
    pub(super) fn block(&self, position: usize) -> &Block {
        match position {
            0 => &self.head,
            _ if position <= self.inner.blocks() => {
                self.inner.get(position - 1).expect("inner block is there")
            }
            _ => self.tail.as_ref().expect("the last block is the tail"),
        }
    }

    /// The block with element `index` and the offset in it. There is such an element.
    pub(super) fn locate(&self, index: u64) -> (usize, usize) {
        assert!(index < self.len);
        let head = self.head.len() as u64;
        if index < head {
            return (0, index as usize);
        }
        match self.inner.locate(index - head) {
            Some((position, offset)) => (position + 1, offset),
            None => (self.blocks() - 1, (index - head - self.inner.sum().len) as usize),
        }
    }

    /// Lets `f` change the block at `position`. It must not become empty, except a head that is the only block.
    pub(super) fn update<R>(&mut self, position: usize, f: impl FnOnce(&mut Block) -> R) -> R {
        let mut change = (0, 0);
        let f = |block: &mut Block| {
            change.0 = block.len();
            let result = f(block);
            change.1 = block.len();
            result
        };
        let result = match position {
            0 => f(&mut self.head),
            _ if position <= self.inner.blocks() => self.inner_mut().update(position - 1, f),
            _ => f(self.tail.as_mut().expect("the last block is the tail")),
        };
        self.len = self.len - change.0 as u64 + change.1 as u64;
        result
    }

    /// Puts `block` before the one at `position`, or after the last. It becomes an end block where that is due.
    pub(super) fn insert(&mut self, position: usize, block: Block) {
        self.len += block.len() as u64;
        let last = self.blocks();
        if position == 0 {
            let old = std::mem::replace(&mut self.head, block.to_plain());
            self.push_front_inner(old);
        } else if position == last {
            if let Some(old) = self.tail.replace(block.to_plain()) {
                self.inner_mut().push_back(old);
            }
        } else {
            self.inner_mut().insert(position - 1, block);
        }
    }

    /// Takes the block at `position` out; the neighbour of an end block becomes the end.
    pub(super) fn remove(&mut self, position: usize) {
        let last = self.blocks() - 1;
        let removed = match position {
            0 => {
                let next = self.inner_mut().pop_front().or_else(|| self.tail.take());
                std::mem::replace(&mut self.head, next.map_or_else(Block::empty, |block| block.to_plain()))
            }
            _ if position == last => {
                let next = self.inner_mut().pop_back().map(|block| block.to_plain());
                std::mem::replace(&mut self.tail, next).expect("the last block is the tail")
            }
            _ => self.inner_mut().remove(position - 1),
        };
        self.len -= removed.len() as u64;
    }

    /// What was the head becomes the second block.
    pub(super) fn push_front_inner(&mut self, old: Block) {
        if self.tail.is_none() {
            self.tail = Some(old);
        } else {
            self.inner_mut().push_front(old);
        }
    }

    /// Drops the blocks at the positions `from..to` without reading them.
    pub(super) fn drop_blocks(&mut self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        let mut all = std::mem::take(self.inner_mut());
        let head = std::mem::replace(&mut self.head, Block::empty());
        if !head.is_empty() {
            all.push_front(head);
        }
        if let Some(tail) = self.tail.take() {
            all.push_back(tail);
        }
        let back = all.split_off(to);
        drop(all.split_off(from));
        all.append(back);
        self.len = all.sum().len;
        self.tail = if all.blocks() > 1 { all.pop_back().map(|block| block.to_plain()) } else { None };
        self.head = all.pop_front().map_or_else(Block::empty, |block| block.to_plain());
        self.inner = all;
    }

    /// Merges the block at `position` with its neighbours where the result is comfortably within `limit`.
    pub(super) fn merge_around(&mut self, position: usize, limit: Limit) {
        let roomy = ListTree::roomy(limit);
        if position + 1 < self.blocks() {
            self.merge_with_next(position, roomy);
        }
        if position > 0 && position < self.blocks() {
            self.merge_with_next(position - 1, roomy);
        }
    }

    /// How full a merged block may be: not so full that the next insert splits it again.
    pub(super) fn roomy(limit: Limit) -> Limit {
        Limit { bytes: limit.bytes / 4 * 3, count: limit.count }
    }

    pub(super) fn merge_with_next(&mut self, position: usize, limit: Limit) {
        let (a, b) = (self.block(position), self.block(position + 1));
        if a.len() + b.len() > limit.count as usize || a.size_bytes() + b.size_bytes() > limit.bytes as usize
        {
            return;
        }
        if let Some(merged) = Block::try_merge(&a.to_plain(), &b.to_plain(), limit) {
            self.remove(position + 1);
            self.update(position, |block| *block = merged);
        }
    }

    /// Calls `f` with the blocks from `position` on in `direction`, until it breaks.
    pub(super) fn for_each_block<'a, B>(
        &'a self,
        position: usize,
        direction: Direction,
        mut f: impl FnMut(&'a Block) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let inner = self.inner.blocks();
        if direction == Direction::Forward {
            if position == 0 {
                f(&self.head)?;
            }
            self.inner.for_each_from(position.saturating_sub(1), direction, &mut f)?;
            return self.tail.as_ref().map_or(ControlFlow::Continue(()), f);
        }
        if let Some(tail) = self.tail.as_ref().filter(|_| position > inner) {
            f(tail)?;
        }
        if position > 0 && inner > 0 {
            self.inner.for_each_from(position.min(inner) - 1, direction, &mut f)?;
        }
        f(&self.head)
    }

    pub(super) fn check_invariants(&self) {
        self.inner.check_invariants();
        self.head.check_invariants();
        let tail = self.tail.as_ref().map_or(0, |tail| {
            tail.check_invariants();
            assert!(!tail.is_compressed() && !tail.is_empty(), "L2, L3: tail");
            tail.len() as u64
        });
        assert!(!self.head.is_compressed(), "L2: head is plain");
        assert!(self.tail.is_some() || self.inner.blocks() == 0, "L2: no inner block without a tail");
        assert!(!self.head.is_empty() || self.len == 0, "L3: head is empty");
        assert_eq!(self.len, self.head.len() as u64 + self.inner.sum().len + tail, "L1: len");
    }
}

/// A number that tells the cursors of one list from those of another.
fn fresh_salt() -> u32 {
    fastrand::u32(..)
}
