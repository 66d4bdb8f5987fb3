//! The directory of a big list: its blocks by position, ends and inner tree as one sequence.

use std::ops::ControlFlow;
use std::sync::Arc;

use larder_packed::block::{Block, Direction, Limit};
use larder_packed::heap::Mover;

use super::ahead::{Ahead, WorkCache};
use super::tree::{EMPTY, Tree, first_offset};
use crate::relocation::move_arc;

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
    /// The blocks between, if there are any; written through `inner_mut` and `set_inner` only.
    inner: Option<Arc<Tree>>,
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
        ListTree {
            len: head.len() as u64,
            head,
            tail: None,
            inner: None,
            origin: ORIGIN_FIRST,
            salt: fresh_salt(),
            small_again: false,
            ahead: Ahead::default(),
            work: WorkCache::default(),
        }
    }

    /// Moves blocks and nodes that lie in sparse slabs and are not shared.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover) {
        let ListTree { head, tail, inner, .. } = self;
        mover.each(3, |mover, part| match part {
            0 => head.move_block(mover),
            1 => {
                if let Some(tail) = tail {
                    tail.move_block(mover);
                }
            }
            _ => {
                if let Some(tree) = inner.as_mut().and_then(|inner| move_arc(inner, mover)) {
                    tree.move_blocks(mover, &mut Block::move_block);
                }
            }
        });
    }

    /// The inner blocks.
    #[inline]
    pub(super) fn inner(&self) -> &Tree {
        self.inner.as_deref().unwrap_or(&EMPTY)
    }

    /// The inner blocks, to be changed.
    pub(super) fn inner_mut(&mut self) -> &mut Tree {
        self.work.forget();
        Arc::make_mut(self.inner.get_or_insert_default())
    }

    fn set_inner(&mut self, inner: Tree) {
        self.inner = (inner.blocks() > 0).then(|| Arc::new(inner));
    }

    /// Takes an inner block out; with the last one goes the tree.
    fn remove_inner(&mut self, position: usize) -> Block {
        let inner = self.inner_mut();
        let block = inner.remove(position);
        if inner.blocks() == 0 {
            self.inner = None;
        }
        block
    }

    /// Takes the first inner block out, if there is one.
    fn pop_front_inner(&mut self) -> Option<Block> {
        (self.inner().blocks() > 0).then(|| self.remove_inner(0))
    }

    /// Takes the last inner block out, if there is one.
    pub(super) fn pop_back_inner(&mut self) -> Option<Block> {
        self.inner().blocks().checked_sub(1).map(|last| self.remove_inner(last))
    }

    /// Number of blocks: head, inner ones, tail.
    pub(super) fn blocks(&self) -> usize {
        1 + self.inner().blocks() + usize::from(self.tail.is_some())
    }

    /// The block at `position`, 0 being the head.
    pub(super) fn block(&self, position: usize) -> &Block {
        let Some(inner) = position.checked_sub(1) else { return &self.head };
        let tail = || self.tail.as_ref().expect("the last block is the tail");
        self.inner().block(inner).unwrap_or_else(tail)
    }

    /// The block with element `index` and the offset in it. There is such an element.
    pub(super) fn locate(&self, index: u64) -> (usize, usize) {
        assert!(index < self.len);
        let head = self.head.len() as u64;
        if index < head {
            return (0, index as usize);
        }
        let inner = self.inner();
        match inner.locate(index - head) {
            Some((position, offset)) => (position + 1, offset),
            None => (self.blocks() - 1, (index - head - inner.sum().len) as usize),
        }
    }

    /// As [`ListTree::locate`], with the block itself.
    pub(super) fn find_element(&self, index: u64) -> (&Block, usize) {
        let Some(after) = index.checked_sub(self.head.len() as u64) else {
            return (&self.head, index as usize);
        };
        let inner = self.inner();
        inner.find_element(after).unwrap_or_else(|| {
            let tail = self.tail.as_ref().expect("the last block is the tail");
            (tail, (after - inner.sum().len) as usize)
        })
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
        let result = match &mut self.inner {
            _ if position == 0 => f(&mut self.head),
            Some(inner) if position <= inner.blocks() => {
                self.work.forget();
                Arc::make_mut(inner).update(position - 1, f)
            }
            _ => f(self.tail.as_mut().expect("the last block is the tail")),
        };
        self.len = self.len - change.0 as u64 + change.1 as u64;
        result
    }

    /// Lets `f` change the block with element `index`, which is at this offset in it. The block must keep its length.
    pub(super) fn update_element<R>(&mut self, index: u64, f: impl FnOnce(&mut Block, usize) -> R) -> R {
        let Some(after) = index.checked_sub(self.head.len() as u64) else {
            return f(&mut self.head, index as usize);
        };
        let before_tail = self.inner().sum().len;
        match &mut self.inner {
            Some(inner) if after < before_tail => {
                self.work.forget();
                Arc::make_mut(inner).update_element(after, f)
            }
            _ => {
                let tail = self.tail.as_mut().expect("the last block is the tail");
                f(tail, (after - before_tail) as usize)
            }
        }
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
                let next = self.pop_front_inner().or_else(|| self.tail.take());
                std::mem::replace(&mut self.head, next.map_or_else(Block::empty, |block| block.to_plain()))
            }
            _ if position == last => {
                let next = self.pop_back_inner().map(|block| block.to_plain());
                std::mem::replace(&mut self.tail, next).expect("the last block is the tail")
            }
            _ => self.remove_inner(position - 1),
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
        self.work.forget();
        let mut all = self.inner.take().map_or_else(Tree::default, Arc::unwrap_or_clone);
        let head = std::mem::replace(&mut self.head, Block::empty());
        if !head.is_empty() {
            all.push_front(head);
        }
        if let Some(tail) = self.tail.take() {
            all.push_back(tail);
        }
        let back = all.split_off(to as u64);
        drop(all.split_off(from as u64));
        all.append(back);
        self.len = all.sum().len;
        self.tail = if all.blocks() > 1 { all.pop_back().map(|block| block.to_plain()) } else { None };
        self.head = all.pop_front().map_or_else(Block::empty, |block| block.to_plain());
        self.set_inner(all);
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

    /// Calls `f` with the blocks from the one with element `index` on in `direction`, and the offset of the first element to
    /// look at in each, until it breaks.
    pub(super) fn walk<'a, B>(
        &'a self,
        index: u64,
        direction: Direction,
        mut f: impl FnMut(&'a Block, usize) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let (inner, head) = (self.inner(), self.head.len() as u64);
        let tail = head + inner.sum().len;
        if direction == Direction::Forward {
            if index < head || index == 0 {
                f(&self.head, index as usize)?;
            }
            inner.walk_elements(index.saturating_sub(head), direction, &mut f)?;
            let tail = self.tail.as_ref().map(|block| f(block, index.saturating_sub(tail) as usize));
            return tail.unwrap_or(ControlFlow::Continue(()));
        }
        if let Some(block) = self.tail.as_ref().filter(|_| index >= tail) {
            f(block, (index - tail) as usize)?;
        }
        if index >= head && tail > head {
            inner.walk_elements(index.min(tail - 1) - head, direction, &mut f)?;
        }
        f(&self.head, if index < head { index as usize } else { first_offset(&self.head, direction) })
    }

    /// Bytes of the directory, without the blocks.
    pub(super) fn heap_bytes(&self) -> usize {
        const COUNTS: usize = 2 * size_of::<usize>();
        let inner = self.inner.as_ref().map_or(0, |inner| COUNTS + size_of::<Tree>() + inner.heap_bytes().0);
        COUNTS + size_of::<ListTree>() + inner
    }

    pub(super) fn check_invariants(&self) {
        self.inner().check();
        self.head.check_invariants();
        let tail = self.tail.as_ref().map_or(0, |tail| {
            tail.check_invariants();
            assert!(!tail.is_compressed() && !tail.is_empty(), "L2, L3: tail");
            tail.len() as u64
        });
        assert!(!self.head.is_compressed(), "L2: head is plain");
        assert!(self.tail.is_some() || self.inner().blocks() == 0, "L2: no inner block without a tail");
        assert!(!self.head.is_empty() || self.len == 0, "L3: head is empty");
        assert_eq!(self.len, self.head.len() as u64 + self.inner().sum().len + tail, "L1: len");
    }
}

/// A number that tells the cursors of one list from those of another.
fn fresh_salt() -> u32 {
    fastrand::u32(..)
}
