//! Changes by position: set, insert, remove ranges and values.

use larder_packed::block::{Block, Direction, End, Limit, Needle};

use super::directory::ListTree;
use super::{List, ListOptions};

impl List {
    /// Puts `value` at `index` in place of what is there. False if there is no such element.
    pub fn set(&mut self, index: u64, value: &[u8], options: &ListOptions) -> bool {
        if index >= self.len() {
            return false;
        }
        let limit = options.fill.limit();
        if let List::Packed(block) = self
            && (value.len() <= limit.bytes as usize)
            && (block.try_replace(index as usize, value, limit)
                || block.convert_to_text(value.len(), limit)
                    && block.try_replace(index as usize, value, limit))
        {
            return true;
        }
        self.make_tree().set(index, value, options);
        true
    }

    /// Puts `value` before the element at `index`, or after the last when `index` is the length or more.
    pub fn insert(&mut self, index: u64, value: &[u8], options: &ListOptions) {
        if index == 0 || index >= self.len() {
            return self.push(if index == 0 { End::Front } else { End::Back }, value, options);
        }
        let limit = options.fill.limit();
        if let List::Packed(block) = self
            && (block.try_insert(index as usize, value, limit)
                || block.len() < limit.count as usize
                    && block.convert_to_text(value.len(), limit)
                    && block.try_insert(index as usize, value, limit))
        {
            return;
        }
        self.make_tree().insert_value(index, value, options);
    }

    /// Removes up to `count` elements from `start` on.
    pub fn remove_range(&mut self, start: u64, count: u64, options: &ListOptions) {
        let count = count.min(self.len().saturating_sub(start));
        if count == 0 {
            return;
        }
        match self {
            List::Packed(block) => {
                block.remove(start as usize..(start + count) as usize);
                block.shrink_if_sparse();
            }
            List::Tree(_) => self.make_tree().remove_range(start, count, options),
        }
    }

    /// Removes elements equal to `value`: the first `max` of them, or the last when `from_tail`; all when `max` is 0.
    /// Returns how many were removed.
    pub fn remove_matching(&mut self, value: &[u8], max: u64, from_tail: bool, options: &ListOptions) -> u64 {
        let max = if max == 0 { u64::MAX } else { max };
        let needle = Needle::new(value);
        match self {
            List::Packed(block) => match without(block, &needle, max, from_tail) {
                Some(rest) => {
                    let removed = block.len() - rest.len();
                    *block = rest;
                    removed as u64
                }
                None => 0,
            },
            List::Tree(_) => self.make_tree().remove_matching(&needle, max, from_tail, options),
        }
    }
}

impl ListTree {
    fn set(&mut self, index: u64, value: &[u8], options: &ListOptions) {
        let limit = options.fill.limit();
        let done = self.update_element(index, |block, offset| {
            let fits = value.len() <= limit.bytes as usize || block.len() == 1;
            fits && {
                *block = block.to_plain();
                block.try_replace(offset, value, limit)
            }
        });
        if !done {
            let (position, offset) = self.locate(index);
            self.small_again = false;
            self.split_around(position, offset, 1, value, limit);
        }
    }

    fn insert_value(&mut self, index: u64, value: &[u8], options: &ListOptions) {
        let limit = options.fill.limit();
        let (position, offset) = self.locate(index);
        let room = self.block(position).size_bytes() + value.len() <= limit.bytes as usize;
        let done = room
            && self.update(position, |block| {
                *block = block.to_plain();
                block.try_insert(offset, value, limit)
            });
        if done || offset == 0 && position > 0 && self.push_on_plain(position - 1, value, limit) {
            return;
        }
        self.small_again = false;
        self.split_around(position, offset, 0, value, limit);
    }

    /// Splits the block at `position` before `offset`, drops `skip` elements there, and puts `value` between.
    fn split_around(&mut self, position: usize, offset: usize, skip: usize, value: &[u8], limit: Limit) {
        let mut left = self.block(position).to_plain();
        let mut right = left.split_off(offset);
        right.remove(0..skip);
        let fits = value.len() <= limit.bytes as usize;
        let mut parts = vec![left, right];
        let taken = fits
            && parts.iter().any(|part| !part.is_empty())
            && (!parts[0].is_empty() && parts[0].try_push(End::Back, value, limit)
                || !parts[1].is_empty() && parts[1].try_push(End::Front, value, limit));
        if !taken {
            parts.insert(1, Block::open(value, End::Back, 0));
        }
        self.replace(position, parts);
    }

    /// Puts blocks in place of the one at `position`; empty ones are left out.
    fn replace(&mut self, position: usize, parts: Vec<Block>) {
        for part in parts.into_iter().rev().filter(|part| !part.is_empty()) {
            self.insert(position + 1, part);
        }
        self.remove(position);
    }

    fn push_on_plain(&mut self, position: usize, value: &[u8], limit: Limit) -> bool {
        if self.block(position).is_compressed() {
            return false;
        }
        self.update(position, |block| block.try_push(End::Back, value, limit))
    }

    fn remove_range(&mut self, start: u64, count: u64, options: &ListOptions) {
        let (first, from) = self.locate(start);
        let (last, to) = self.locate(start + count - 1);
        let (whole_first, whole_last) = (from == 0, to + 1 == self.block(last).len());
        if first == last && !(whole_first && whole_last) {
            self.remove_in_block(first, from, to + 1);
        } else {
            if !whole_last {
                self.remove_in_block(last, 0, to + 1);
            }
            if !whole_first {
                self.remove_in_block(first, from, self.block(first).len());
            }
            self.drop_blocks(first + usize::from(!whole_first), last + usize::from(whole_last));
        }
        self.after_removal(first, count, options);
    }

    fn remove_in_block(&mut self, position: usize, from: usize, to: usize) {
        self.update(position, |block| {
            *block = block.to_plain();
            block.remove(from..to);
        });
    }

    /// The elements before a removed one move up a label, so that no scan steps over what follows.
    fn after_removal(&mut self, position: usize, count: u64, options: &ListOptions) {
        self.origin = self.origin.wrapping_add(count);
        self.merge_around(position.min(self.blocks() - 1), options.fill.limit());
        self.settle(options);
    }

    fn remove_matching(
        &mut self,
        needle: &Needle<'_>,
        max: u64,
        from_tail: bool,
        options: &ListOptions,
    ) -> u64 {
        let before = self.len;
        // `done` blocks at the starting end are finished.
        let mut done = 0;
        while done < self.blocks() && before - self.len < max {
            let position = if from_tail { self.blocks() - 1 - done } else { done };
            match self.matchless(position, needle, max - (before - self.len), from_tail) {
                Some(rest) if rest.is_empty() && self.blocks() > 1 => self.remove(position),
                Some(rest) => {
                    self.update(position, |block| *block = rest);
                    let blocks = self.blocks();
                    self.merge_back(position, from_tail, options);
                    done += 1;
                    done -= blocks - self.blocks();
                }
                None => done += 1,
            }
        }
        self.origin = self.origin.wrapping_add(before - self.len);
        self.settle(options);
        before - self.len
    }

    /// Merges the finished block at `position` with the finished one beside it.
    fn merge_back(&mut self, position: usize, from_tail: bool, options: &ListOptions) {
        let first = if from_tail { Some(position) } else { position.checked_sub(1) };
        if let Some(first) = first.filter(|first| first + 1 < self.blocks()) {
            self.merge_with_next(first, ListTree::roomy(options.fill.limit()));
        }
    }

    fn matchless(&self, position: usize, needle: &Needle<'_>, max: u64, from_tail: bool) -> Option<Block> {
        let block = self.block(position);
        if needle.may_be_in(block) { without(&block.to_plain(), needle, max, from_tail) } else { None }
    }
}

/// The block without up to `max` elements that match, counted from one end; None when there is no match.
fn without(block: &Block, needle: &Needle<'_>, max: u64, from_tail: bool) -> Option<Block> {
    let n = block.len();
    let (from, direction) =
        if from_tail { (n.wrapping_sub(1), Direction::Backward) } else { (0, Direction::Forward) };
    let matching = block.iter(from, direction).enumerate().filter(|(_, element)| needle.matches(*element));
    let mut drop = vec![false; n];
    matching
        .take(usize::try_from(max).unwrap_or(usize::MAX))
        .for_each(|(i, _)| drop[if from_tail { n - 1 - i } else { i }] = true);
    block.filtered(|i| !drop[i])
}
