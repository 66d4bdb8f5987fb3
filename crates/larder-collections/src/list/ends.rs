//! Pushing and popping at the ends.

use larder_packed::block::{Block, Element, End};

use super::directory::ListTree;
use super::{List, ListOptions};

/// An element that left the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Popped {
    /// A byte string.
    Bytes(Vec<u8>),
    /// The canonical decimal text of this number.
    Int(i64),
}

impl Popped {
    pub(super) fn of(element: Element<'_>) -> Popped {
        match element {
            Element::Bytes(bytes) => Popped::Bytes(bytes.to_vec()),
            Element::Int(value) => Popped::Int(value),
        }
    }

    /// The element as it was in the list.
    pub fn as_element(&self) -> Element<'_> {
        match self {
            Popped::Bytes(bytes) => Element::Bytes(bytes),
            Popped::Int(value) => Element::Int(*value),
        }
    }

    /// The element's bytes.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Popped::Bytes(bytes) => bytes,
            Popped::Int(value) => Element::Int(value).to_vec(),
        }
    }
}

impl List {
    /// Puts `value` before the first element.
    #[inline]
    pub fn push_front(&mut self, value: &[u8], options: &ListOptions) {
        self.push(End::Front, value, options);
    }

    /// Puts `value` after the last element.
    #[inline]
    pub fn push_back(&mut self, value: &[u8], options: &ListOptions) {
        self.push(End::Back, value, options);
    }

    /// Puts `value` at `end`.
    #[inline]
    pub fn push(&mut self, end: End, value: &[u8], options: &ListOptions) {
        match self {
            List::Tree(tree) => std::sync::Arc::make_mut(&mut tree.0).push(end, value, options),
            List::Packed(block) => {
                let limit = options.fill.limit();
                // An element too big for a block is a big list by itself, as in Redis.
                if value.len() > limit.bytes as usize || !block.try_push(end, value, limit) {
                    self.push_on_full(end, value, options);
                }
            }
        }
        debug_assert!(!self.is_empty());
    }

    /// Takes the first element.
    pub fn pop_front(&mut self, options: &ListOptions) -> Option<Popped> {
        self.pop_with(End::Front, options, Popped::of)
    }

    /// Takes the last element.
    pub fn pop_back(&mut self, options: &ListOptions) -> Option<Popped> {
        self.pop_with(End::Back, options, Popped::of)
    }

    /// Takes the first element after `f` has seen it.
    #[inline]
    pub fn pop_front_with<R>(
        &mut self,
        options: &ListOptions,
        f: impl FnOnce(Element<'_>) -> R,
    ) -> Option<R> {
        self.pop_with(End::Front, options, f)
    }

    /// Takes the last element after `f` has seen it.
    #[inline]
    pub fn pop_back_with<R>(&mut self, options: &ListOptions, f: impl FnOnce(Element<'_>) -> R) -> Option<R> {
        self.pop_with(End::Back, options, f)
    }

    /// Takes the element at `end` after `f` has seen it.
    #[inline]
    pub fn pop_with<R>(
        &mut self,
        end: End,
        options: &ListOptions,
        f: impl FnOnce(Element<'_>) -> R,
    ) -> Option<R> {
        let result = self.peek(end).map(f)?;
        match self {
            List::Tree(tree) => std::sync::Arc::make_mut(&mut tree.0).pop(end, options),
            List::Packed(block) => {
                pop_from(block, end);
                block.shrink_if_sparse();
            }
        }
        Some(result)
    }

    /// The first element.
    pub fn front(&self) -> Option<Element<'_>> {
        self.peek(End::Front)
    }

    /// The last element.
    pub fn back(&self) -> Option<Element<'_>> {
        self.peek(End::Back)
    }

    /// The element at `end`.
    #[inline]
    pub fn peek(&self, end: End) -> Option<Element<'_>> {
        match self {
            List::Packed(block) => block.peek(end),
            List::Tree(tree) => tree.0.end_block(end).peek(end),
        }
    }

    #[cold]
    fn push_on_full(&mut self, end: End, value: &[u8], options: &ListOptions) {
        let limit = options.fill.limit();
        if let List::Packed(block) = self
            && block.len() < limit.count as usize
            && value.len() <= limit.bytes as usize
            && block.convert_to_text(value.len(), limit)
            && block.try_push(end, value, limit)
        {
            return;
        }
        self.make_tree().push(end, value, options);
    }
}

impl ListTree {
    #[inline]
    fn push(&mut self, end: End, value: &[u8], options: &ListOptions) {
        if !self.end_block_mut(end).try_push(end, value, options.fill.limit()) {
            self.open_end(end, value, options);
        }
        self.len += 1;
        if end == End::Front {
            self.origin = self.origin.wrapping_sub(1);
        }
    }

    /// Opens a new end block with `value`; the old one is sealed and becomes its neighbour.
    #[cold]
    fn open_end(&mut self, end: End, value: &[u8], options: &ListOptions) {
        let block = Block::open(value, end, options.room_bytes(value.len()));
        self.small_again = false;
        self.ahead.block_pushed(end);
        match end {
            End::Front => {
                let mut old = std::mem::replace(&mut self.head, block);
                old.shrink_to_fit();
                self.push_front_inner(old);
            }
            End::Back => {
                if let Some(mut old) = self.tail.replace(block) {
                    old.shrink_to_fit();
                    self.inner_mut().push_back(old);
                }
            }
        }
    }

    /// Removes the element at `end`. There is one.
    #[inline]
    fn pop(&mut self, end: End, options: &ListOptions) {
        let block = self.end_block_mut(end);
        if block.len() > 1 {
            block.pop(end);
            self.len -= 1;
        } else {
            self.note_block_popped(end);
            self.remove(if end == End::Front { 0 } else { self.blocks() - 1 });
        }
        if end == End::Front {
            self.origin = self.origin.wrapping_add(1);
        }
        if self.tail.is_none() {
            self.settle(options);
        }
    }

    /// The last element of an end block goes: tells how far ahead of pops to decompress.
    fn note_block_popped(&mut self, end: End) {
        let blocks = self.inner().blocks();
        let next = if end == End::Front { 0 } else { blocks.wrapping_sub(1) };
        let mut ahead = self.ahead;
        if let Some(next) = self.inner().block(next) {
            ahead.block_popped(end, next, blocks);
        }
        self.ahead = ahead;
    }

    #[inline]
    pub(super) fn end_block(&self, end: End) -> &Block {
        match (end, &self.tail) {
            (End::Back, Some(tail)) => tail,
            _ => &self.head,
        }
    }

    #[inline]
    fn end_block_mut(&mut self, end: End) -> &mut Block {
        match (end, &mut self.tail) {
            (End::Back, Some(tail)) => tail,
            _ => &mut self.head,
        }
    }

    /// After a removal: a list of one block gives back memory, and counts as small from half a block down.
    pub(super) fn settle(&mut self, options: &ListOptions) {
        if self.tail.is_some() {
            return;
        }
        self.head.shrink_if_sparse();
        let limit = options.fill.limit();
        let small =
            self.head.size_bytes() <= limit.bytes as usize / 2 && self.head.len() <= limit.count as usize / 2;
        self.small_again |= small;
    }
}

/// Pops without copying a shared block of one element.
fn pop_from(block: &mut Block, end: End) {
    if block.len() > 1 {
        block.pop(end);
    } else {
        *block = Block::empty();
    }
}
