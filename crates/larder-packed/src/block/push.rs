//! Pushing and popping at the ends, and the room it takes: widening and rebuilding.

use super::read::read_uint;
use super::width::{uint_max, width_of};
use super::{Block, ELEMENT_LEN_MAX, Element, End, HEADER, Kind, Limit, REVERSED, Shape};
use crate::int;

/// An Int block of at most this many elements becomes text when something else is pushed.
const TEXT_CONVERSION_MAX: usize = 64;

impl Block {
    /// A block of one element, with `room` bytes for more. `end` is where it is going to grow.
    pub fn open(value: &[u8], end: End, room: usize) -> Block {
        assert!(value.len() <= ELEMENT_LEN_MAX, "element too long for a block");
        let block = match int::parse(value) {
            Some(number) => Block::open_int(number, room),
            None => Block::open_str(value, room),
        };
        block.set_flag(REVERSED, end == End::Front);
        block
    }

    fn open_str(value: &[u8], room: usize) -> Block {
        let mut block = Block::with_capacity(Kind::Str, 0, HEADER + value.len().max(room));
        block.write(HEADER, value);
        let h = block.header_mut();
        h.n = 1;
        h.end = (HEADER + value.len()) as u32;
        h.set_str_aux(value.len(), 0);
        block
    }

    fn open_int(number: i64, room: usize) -> Block {
        let mut block = Block::with_capacity(Kind::Int, 1, HEADER + room.max(1));
        let base = (number as u64).wrapping_sub(128);
        block.write(HEADER, &[128]);
        let h = block.header_mut();
        h.n = 1;
        h.end = HEADER as u32 + 1;
        h.aux = base;
        block
    }

    /// Pushes `value` at `end`, unless the block would then exceed `limit`. The first element always fits. False also
    /// for a compressed block, and for text on an Int block that is too big to be turned into text.
    #[inline]
    pub fn try_push(&mut self, end: End, value: &[u8], limit: Limit) -> bool {
        if self.header().n <= 1 {
            return self.push_on_few(end, value, limit);
        }
        self.push_on_many(end, value, limit)
    }

    fn push_on_few(&mut self, end: End, value: &[u8], limit: Limit) -> bool {
        if self.is_empty() {
            *self = Block::open(value, end, 0);
            return true;
        }
        // One element is the same in both orders, so the block may turn to grow at this end.
        if !self.is_compressed() && self.reversed() != (end == End::Front) {
            self.unshare();
            self.set_flag(REVERSED, end == End::Front);
        }
        self.push_on_many(end, value, limit)
    }

    #[inline]
    fn push_on_many(&mut self, end: End, value: &[u8], limit: Limit) -> bool {
        if self.header().n >= limit.count {
            return false;
        }
        match self.kind() {
            Kind::Str => self.push_str(end, value, limit),
            Kind::Int => match int::parse(value) {
                Some(number) => self.push_int(end, number, limit),
                None => self.ints_to_text(value.len(), limit) && self.push_str(end, value, limit),
            },
            Kind::Compressed => false,
        }
    }

    /// Pushes `value` at the back of a plain block, whatever its kind and size.
    pub fn push_unlimited(&mut self, value: &[u8]) {
        let pushed = self.try_push(End::Back, value, Limit::NONE)
            || self.convert_to_text(value.len(), Limit::NONE) && self.try_push(End::Back, value, Limit::NONE);
        assert!(pushed, "a plain block takes anything up to its format's limit");
    }

    /// Removes the element at `end`. The block is plain and not empty.
    #[inline]
    pub fn pop(&mut self, end: End) {
        self.unshare();
        self.touch();
        let back = self.is_physical_back(end);
        let n = self.len();
        let len = match self.kind() {
            Kind::Int => self.header().width as usize,
            _ => self.str_len(if back { n - 1 } else { 0 }),
        };
        let h = self.header_mut();
        h.n -= 1;
        if back {
            h.end -= len as u32;
            return;
        }
        h.start += len as u32;
        if h.kind == Kind::Str && h.width > 0 {
            h.aux += 1 << 32;
        }
    }

    /// Gives back unused memory if that is worth a copy: the block will not grow any more.
    pub fn shrink_to_fit(&mut self) {
        let exact = crate::heap::class_size(HEADER + self.used());
        if self.is_unique() && exact + exact / 64 < self.heap_bytes() && !self.is_compressed() {
            *self = self.rebuild(exact, self.header().width, 0, 0);
        }
    }

    /// Gives back memory after many pops: when less than a quarter is in use.
    #[inline]
    pub fn shrink_if_sparse(&mut self) {
        let cap = self.heap_bytes();
        if cap > 256 && self.used() < cap / 4 {
            *self = self.rebuild(HEADER + self.used() * 5 / 4, self.header().width, 0, 0);
        }
    }

    /// Makes sure that the block is not shared, by copying it if it is.
    #[inline]
    pub(super) fn unshare(&mut self) {
        if !self.is_unique() {
            *self = self.rebuild(self.heap_bytes(), self.header().width, 0, 0);
        }
    }

    #[inline]
    fn push_str(&mut self, end: End, value: &[u8], limit: Limit) -> bool {
        let h = self.header();
        let width = h.width_with(value.len());
        let (n, data) = (h.n as usize + 1, h.data_len() + value.len());
        if (data + n * width as usize).max(n) > limit.bytes as usize {
            return false;
        }
        let back = self.is_physical_back(end);
        if width != h.width || !self.is_unique() || !h.has_room(back, value.len()) {
            self.make_room(back, width, value.len());
        }
        self.touch();
        if back {
            self.append_str(value);
        } else {
            self.prepend_str(value);
        }
        true
    }

    #[inline]
    pub(super) fn append_str(&mut self, value: &[u8]) {
        self.write(self.header().end as usize, value);
        let h = self.header_mut();
        h.end += value.len() as u32;
        h.n += 1;
        let (at, width) = (h.length_offset(h.n as usize), h.width);
        self.write_uint(at, width, value.len() as u64);
    }

    #[inline]
    fn prepend_str(&mut self, value: &[u8]) {
        let h = self.header_mut();
        h.start -= value.len() as u32;
        h.n += 1;
        if h.width > 0 {
            h.aux -= 1 << 32;
        }
        let (start, at, width) = (h.start as usize, h.length_offset(1), h.width);
        self.write(start, value);
        self.write_uint(at, width, value.len() as u64);
    }

    #[inline]
    fn push_int(&mut self, end: End, number: i64, limit: Limit) -> bool {
        let h = self.header();
        let (width, base) = if h.int_fits(number) { (h.width, h.aux) } else { self.width_with_int(number) };
        if width > h.width && self.is_smaller_as_text(number, width) {
            let as_text =
                |text: &[u8]| self.convert_to_text(text.len(), limit) && self.push_str(end, text, limit);
            return int::with_text(number, as_text);
        }
        if (h.n as usize + 1) * width as usize > limit.bytes as usize {
            return false;
        }
        let back = self.is_physical_back(end);
        if base != h.aux || width != h.width {
            *self = self.recode_ints(width, base);
        }
        if !self.is_unique() || !self.header().has_room(back, width as usize) {
            self.make_room(back, width, width as usize);
        }
        self.touch();
        let h = self.header_mut();
        h.n += 1;
        let at = if back { h.end } else { h.start - u32::from(width) };
        if back {
            h.end += u32::from(width);
        } else {
            h.start = at;
        }
        self.write_uint(at as usize, width, (number as u64).wrapping_sub(base));
        true
    }

    /// The narrowest width that holds all elements and `number`, and a base for it. At the same width the slack goes
    /// to the side of `number`, so it is used up once at most; a wider block is centred.
    pub(super) fn width_with_int(&self, number: i64) -> (u8, u64) {
        let (low, high) = (0..self.len())
            .map(|i| self.int_at(i))
            .fold((number, number), |(low, high), value| (low.min(value), high.max(value)));
        let span = (high as u64).wrapping_sub(low as u64);
        let width = width_of(span).max(self.header().width);
        if width == 8 {
            return (8, 0);
        }
        let slack = uint_max(width) - span;
        let below = match width == self.header().width {
            true if number == high => 0,
            true => slack,
            false => slack / 2,
        };
        (width, (low as u64).wrapping_sub(below))
    }

    /// True if these integers and `number` take less room as text than at `width` bytes each: many small, few huge.
    #[cold]
    pub(super) fn is_smaller_as_text(&self, number: i64, width: u8) -> bool {
        let mut shape = Shape::default();
        (0..self.len()).for_each(|i| shape.add(Element::Int(self.int_at(i))));
        shape.add(Element::Int(number));
        shape.text_size() < (self.len() + 1) * width as usize
    }

    /// The same integers at another width and base, in an allocation that is no smaller.
    pub(super) fn recode_ints(&self, width: u8, base: u64) -> Block {
        let need = (self.len() + 1) * width as usize;
        let mut block = Block::with_capacity(Kind::Int, width, self.heap_bytes().max(HEADER + need));
        block.header_mut().aux = base;
        for i in 0..self.len() {
            let offset = (self.int_at(i) as u64).wrapping_sub(base);
            block.write_uint(HEADER + i * width as usize, width, offset);
        }
        block.header_mut().n = self.header().n;
        block.header_mut().end = (HEADER + self.len() * width as usize) as u32;
        block.inherit_order(self);
        block
    }

    /// Turns an Int block into text so that `extra` bytes can be pushed, if it is small.
    pub(super) fn ints_to_text(&mut self, extra: usize, limit: Limit) -> bool {
        self.len() <= TEXT_CONVERSION_MAX && self.convert_to_text(extra, limit)
    }

    /// Turns an Int block of any size into text, if it is then within `limit` together with `extra` more bytes.
    pub fn convert_to_text(&mut self, extra: usize, limit: Limit) -> bool {
        if self.kind() != Kind::Int {
            return false;
        }
        let lengths = || (0..self.len()).map(|i| int::text_len(self.int_at(i)));
        let longest = lengths().max().unwrap_or(0).max(extra);
        let size = lengths().sum::<usize>() + extra + (self.len() + 1) * width_of(longest as u64) as usize;
        if size > limit.bytes as usize {
            return false;
        }
        let mut block = Block::with_capacity(Kind::Str, 0, (HEADER + size).max(self.heap_bytes()));
        for i in 0..self.len() {
            int::with_text(self.int_at(i), |text| block.append_text(text));
        }
        block.inherit_order(self);
        *self = block;
        true
    }

    /// Appends in physical order, with no limit but the format's.
    pub(super) fn append_text(&mut self, text: &[u8]) {
        if self.is_empty() {
            self.header_mut().set_str_aux(text.len(), 0);
        }
        let width = self.header().width_with(text.len());
        if width != self.header().width || !self.header().has_room(true, text.len()) {
            self.make_room(true, width, text.len());
        }
        self.append_str(text);
    }

    /// Makes the block unique, `width` wide and able to take an element of `len` bytes at one physical end.
    #[cold]
    fn make_room(&mut self, back: bool, width: u8, len: usize) {
        if back && self.widen_in_place(width, len) {
            return;
        }
        let h = self.header();
        let lengths = if h.kind == Kind::Str { width as usize } else { 0 };
        let n = self.len();
        let need = h.data_len() + len + (n + 1) * lengths;
        // An eighth of slack keeps rebuilds rare whichever ends are pushed and popped.
        let cap = (HEADER + need + need / 8).max(if self.is_unique() { 0 } else { self.heap_bytes() });
        let cap = if cap <= self.heap_bytes() { self.heap_bytes() } else { crate::heap::class_size(cap) };
        let free = cap - HEADER - need;
        let average = h.data_len() / n.max(1) + lengths;
        let (gap, lgap) = if back {
            (0, 0)
        } else {
            let slots = free / 2 / average.max(1);
            (len + slots * (average - lengths), if lengths > 0 { 1 + slots } else { 0 })
        };
        *self = self.rebuild(cap, width, gap, lgap);
    }

    /// Widens the lengths where they are, if the block is ours and there is room for that and `len` more bytes.
    fn widen_in_place(&mut self, width: u8, len: usize) -> bool {
        let h = self.header();
        let (n, old, lgap) = (self.len(), h.width, h.lgap());
        let fits = h.end as usize + len + (lgap + n + 1) * width as usize <= h.cap as usize;
        if h.kind != Kind::Str || width == old || !fits || !self.is_unique() {
            return false;
        }
        // From the last length (lowest address) on, each lands below the ones that are still to be read.
        for i in (0..n).rev() {
            let len = self.str_len(i) as u64;
            let at = self.heap_bytes() - (lgap + i + 1) * width as usize;
            self.write_uint(at, width, len);
        }
        let h = self.header_mut();
        h.width = width;
        h.set_str_aux(0, lgap);
        true
    }

    /// A copy with `cap` bytes, another width of lengths and gaps before the physical first element.
    pub(super) fn rebuild(&self, cap: usize, width: u8, gap: usize, lgap: usize) -> Block {
        let h = self.header();
        assert!(h.kind != Kind::Compressed, "compressed blocks are not written");
        let mut block = Block::with_capacity(h.kind, width, cap);
        let start = HEADER + gap;
        block.write(start, self.bytes(h.start as usize, h.data_len()));
        let new = block.header_mut();
        (new.n, new.start, new.end, new.aux) = (h.n, start as u32, (start + h.data_len()) as u32, h.aux);
        if h.kind == Kind::Str {
            new.set_str_aux(if width == 0 { h.elem_len() } else { 0 }, lgap);
            block.copy_lengths(self, 0..self.len(), 0);
        }
        block.inherit_order(self);
        block
    }

    /// Writes the lengths of a physical range of `src` as those of the elements from `to` on.
    pub(super) fn copy_lengths(&mut self, src: &Block, range: std::ops::Range<usize>, to: usize) {
        let width = self.header().width;
        if width == 0 || range.is_empty() {
            return;
        }
        if width == src.header().width {
            let low = self.header().length_offset(to + range.len());
            let from = src.header().length_offset(range.end);
            return self.write(low, src.bytes(from, range.len() * width as usize));
        }
        for i in range.clone() {
            let at = self.header().length_offset(to + i - range.start + 1);
            self.write_uint(at, width, src.str_len(i) as u64);
        }
    }

    pub(super) fn inherit_order(&mut self, from: &Block) {
        self.set_flag(REVERSED, from.reversed());
    }

    /// Writes an unsigned integer of 0, 1, 2, 4 or 8 bytes.
    #[inline]
    pub(super) fn write_uint(&mut self, at: usize, width: u8, value: u64) {
        match width {
            0 => {}
            1 => self.write(at, &[value as u8]),
            2 => self.write(at, &(value as u16).to_ne_bytes()),
            4 => self.write(at, &(value as u32).to_ne_bytes()),
            _ => self.write(at, &value.to_ne_bytes()),
        }
        debug_assert!(width == 0 || read_uint(self.bytes(at, width as usize)) == value);
    }

    /// Body bytes in use.
    pub(super) fn used(&self) -> usize {
        let h = self.header();
        match h.kind {
            Kind::Compressed => h.end as usize,
            Kind::Int => h.data_len(),
            Kind::Str => h.data_len() + self.len() * h.width as usize,
        }
    }
}

impl super::Header {
    /// The width of lengths with another element of `len` bytes.
    #[inline]
    pub(super) fn width_with(&self, len: usize) -> u8 {
        match self.width {
            0 if self.n == 0 || len == self.elem_len() => 0,
            0 => width_of(len.max(self.elem_len()) as u64),
            width => width.max(width_of(len as u64)),
        }
    }

    #[inline]
    fn has_room(&self, back: bool, len: usize) -> bool {
        let is_str = self.kind == Kind::Str;
        if !back {
            return self.start as usize >= HEADER + len && (!is_str || self.width == 0 || self.lgap() > 0);
        }
        let lengths = if is_str { (self.lgap() + self.n as usize + 1) * self.width as usize } else { 0 };
        self.end as usize + len + lengths <= self.cap as usize
    }

    #[inline]
    pub(super) fn int_fits(&self, number: i64) -> bool {
        (number as u64).wrapping_sub(self.aux) <= uint_max(self.width)
    }
}
