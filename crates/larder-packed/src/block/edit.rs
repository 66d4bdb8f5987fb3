//! Changes in the middle of a block: replace, insert, remove, split, merge. Each copies the block once.

use std::ops::Range;

use super::{Block, End, HEADER, Kind, Limit};
use crate::int;

impl Block {
    /// Puts `value` at `index` in place of what is there, unless the block would exceed `limit` or cannot hold it. A
    /// block of one element takes any value.
    pub fn try_replace(&mut self, index: usize, value: &[u8], limit: Limit) -> bool {
        assert!(index < self.len());
        if self.overwrite(index, value) {
            return true;
        }
        if self.len() == 1 && !self.is_compressed() {
            let mut block = Block::open(value, if self.reversed() { End::Front } else { End::Back }, 0);
            block.inherit_order(self);
            *self = block;
            return true;
        }
        self.splice(index..index + 1, value, limit)
    }

    /// Puts `value` before the element at `index` (or at the back when `index` is the length), unless the block would
    /// exceed `limit` or cannot hold it.
    pub fn try_insert(&mut self, index: usize, value: &[u8], limit: Limit) -> bool {
        let n = self.len();
        assert!(index <= n);
        match index {
            0 => self.try_push(End::Front, value, limit),
            _ if index == n => self.try_push(End::Back, value, limit),
            _ => n < limit.count as usize && self.splice(index..index, value, limit),
        }
    }

    /// Removes a range of elements.
    pub fn remove(&mut self, range: Range<usize>) {
        assert!(range.end <= self.len());
        if range.is_empty() {
            return;
        }
        if range.len() == 1 && (range.start == 0 || range.end == self.len()) {
            return self.pop(if range.start == 0 { End::Front } else { End::Back });
        }
        let range = self.physical_range(range);
        *self = self.copy_of(0..range.start, range.end..self.len());
    }

    /// Splits the block: the elements from `index` on are returned, those before stay.
    pub fn split_off(&mut self, index: usize) -> Block {
        let n = self.len();
        assert!(index <= n);
        let (low, high) = (self.physical_range(0..index), self.physical_range(index..n));
        let back = self.copy_of(high, 0..0);
        *self = self.copy_of(low, 0..0);
        back
    }

    /// Both blocks as one, `a` before `b`, if that is within `limit` and the kinds allow it. Both are plain.
    pub fn try_merge(a: &Block, b: &Block, limit: Limit) -> Option<Block> {
        if a.is_compressed() || b.is_compressed() || a.len() + b.len() > limit.count as usize {
            return None;
        }
        if a.size_bytes() + b.size_bytes() > limit.bytes as usize {
            return None;
        }
        let mut merged = a.clone();
        for element in b.iter(0, super::Direction::Forward) {
            if !element.with_bytes(|bytes| merged.try_push(End::Back, bytes, limit)) {
                return None;
            }
        }
        merged.shrink_to_fit();
        Some(merged)
    }

    /// The elements at the positions for which `keep` says so; None when that is all of them.
    pub fn filtered(&self, mut keep: impl FnMut(usize) -> bool) -> Option<Block> {
        let n = self.len();
        let kept: Vec<bool> = (0..n).map(&mut keep).collect();
        if kept.iter().all(|&k| k) {
            return None;
        }
        let h = self.header();
        let mut block = Block::with_capacity(h.kind, h.width, HEADER + self.used());
        match h.kind {
            Kind::Int => block.header_mut().aux = h.aux,
            _ => block.header_mut().set_str_aux(h.elem_len(), 0),
        }
        for phys in (0..n).filter(|&phys| kept[self.physical(phys)]) {
            match h.kind {
                Kind::Int => block.take_ints(self, phys..phys + 1),
                _ => block.take_str(self, phys..phys + 1),
            }
        }
        block.inherit_order(self);
        block.shrink_to_fit();
        Some(block)
    }

    /// Replaces in place when the new value takes exactly the old one's room.
    fn overwrite(&mut self, index: usize, value: &[u8]) -> bool {
        let phys = self.physical(index);
        match self.kind() {
            Kind::Str => {
                if self.str_len(phys) != value.len() {
                    return false;
                }
                self.unshare();
                let at = self.offset_of(phys);
                self.write(at, value);
            }
            Kind::Int => {
                let Some(number) = int::parse(value).filter(|&number| self.header().int_fits(number)) else {
                    return false;
                };
                self.unshare();
                let h = self.header();
                let (at, width) = (h.start as usize + phys * h.width as usize, h.width);
                let offset = (number as u64).wrapping_sub(h.aux);
                self.write_uint(at, width, offset);
            }
            Kind::Compressed => return false,
        }
        self.touch();
        true
    }

    /// Replaces a logical range by one value.
    fn splice(&mut self, range: Range<usize>, value: &[u8], limit: Limit) -> bool {
        match self.kind() {
            Kind::Str => self.splice_str(range, value, limit),
            Kind::Int => match int::parse(value) {
                Some(number) => self.splice_int(range, number, limit),
                None => self.ints_to_text(value.len(), limit) && self.splice_str(range, value, limit),
            },
            Kind::Compressed => false,
        }
    }

    fn splice_str(&mut self, range: Range<usize>, value: &[u8], limit: Limit) -> bool {
        let range = self.physical_range(range);
        let h = self.header();
        let width = h.width_with(value.len());
        let n = self.len() - range.len() + 1;
        let removed: usize = range.clone().map(|i| self.str_len(i)).sum();
        let size = h.data_len() - removed + value.len() + n * width as usize;
        if size.max(n) > limit.bytes as usize {
            return false;
        }
        let mut block = Block::with_capacity(Kind::Str, width, HEADER + size);
        block.header_mut().set_str_aux(if width == 0 { value.len() } else { 0 }, 0);
        block.take_str(self, 0..range.start);
        block.append_text(value);
        block.take_str(self, range.end..self.len());
        block.inherit_order(self);
        *self = block;
        true
    }

    fn splice_int(&mut self, range: Range<usize>, number: i64, limit: Limit) -> bool {
        let h = self.header();
        let (width, base) = if h.int_fits(number) { (h.width, h.aux) } else { self.width_with_int(number) };
        let n = self.len() - range.len() + 1;
        if width > h.width && self.is_smaller_as_text(number, width) {
            let as_text = |text: &[u8]| {
                self.convert_to_text(text.len(), limit) && self.splice_str(range.clone(), text, limit)
            };
            return int::with_text(number, as_text);
        }
        if n * width as usize > limit.bytes as usize {
            return false;
        }
        if (width, base) != (h.width, h.aux) {
            *self = self.recode_ints(width, base);
        }
        let range = self.physical_range(range);
        let mut block = Block::with_capacity(Kind::Int, width, HEADER + n * width as usize);
        block.header_mut().aux = base;
        block.take_ints(self, 0..range.start);
        let at = block.header().end as usize;
        block.write_uint(at, width, (number as u64).wrapping_sub(base));
        block.header_mut().end += u32::from(width);
        block.header_mut().n += 1;
        block.take_ints(self, range.end..self.len());
        block.inherit_order(self);
        *self = block;
        true
    }

    /// A new block of two physical ranges, in the least memory.
    fn copy_of(&self, first: Range<usize>, second: Range<usize>) -> Block {
        let h = self.header();
        let n = first.len() + second.len();
        let bytes = |r: &Range<usize>| self.offset_of(r.end) - self.offset_of(r.start);
        let lengths = if h.kind == Kind::Str { n * h.width as usize } else { 0 };
        let mut block =
            Block::with_capacity(h.kind, h.width, HEADER + bytes(&first) + bytes(&second) + lengths);
        match h.kind {
            Kind::Int => {
                block.header_mut().aux = h.aux;
                block.take_ints(self, first);
                block.take_ints(self, second);
            }
            _ => {
                block.header_mut().set_str_aux(if h.width == 0 { h.elem_len() } else { 0 }, 0);
                block.take_str(self, first);
                block.take_str(self, second);
            }
        }
        block.inherit_order(self);
        block
    }

    /// Appends a physical range of another Str block; there is room, and the width is no narrower.
    fn take_str(&mut self, from: &Block, range: Range<usize>) {
        let (low, high) = (from.offset_of(range.start), from.offset_of(range.end));
        let end = self.header().end as usize;
        self.write(end, from.bytes(low, high - low));
        let n = self.len();
        self.copy_lengths(from, range.clone(), n);
        let h = self.header_mut();
        h.end += (high - low) as u32;
        h.n += range.len() as u32;
    }

    /// Appends a physical range of another Int block of the same width and base; there is room.
    fn take_ints(&mut self, from: &Block, range: Range<usize>) {
        let (low, high) = (from.offset_of(range.start), from.offset_of(range.end));
        let end = self.header().end as usize;
        self.write(end, from.bytes(low, high - low));
        let h = self.header_mut();
        h.end += (high - low) as u32;
        h.n += range.len() as u32;
    }
}
