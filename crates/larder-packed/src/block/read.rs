//! Reading a plain block: elements, positions, iteration.

use std::ops::Range;

use super::{Block, End, Header, Kind};
use crate::int;

/// One element, borrowed from its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'a> {
    /// A byte string (which may well be the text of a number).
    Bytes(&'a [u8]),
    /// The canonical decimal text of this number.
    Int(i64),
}

impl<'a> Element<'a> {
    /// Calls `f` with the element's bytes.
    pub fn with_bytes<R>(self, f: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Element::Bytes(bytes) => f(bytes),
            Element::Int(value) => int::with_text(value, f),
        }
    }

    /// Bytes of the element as text.
    pub fn text_len(self) -> usize {
        match self {
            Element::Bytes(bytes) => bytes.len(),
            Element::Int(value) => int::text_len(value),
        }
    }

    /// The element as an owned byte string.
    pub fn to_vec(self) -> Vec<u8> {
        self.with_bytes(<[u8]>::to_vec)
    }

    /// The number, if the element is the canonical text of one.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Element::Bytes(bytes) => int::parse(bytes),
            Element::Int(value) => Some(value),
        }
    }
}

/// A value to search for, prepared once for many comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Needle<'a> {
    bytes: &'a [u8],
    int: Option<i64>,
}

impl<'a> Needle<'a> {
    /// Prepares `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Needle { bytes, int: int::parse(bytes) }
    }

    /// True if `element` is this value.
    #[inline]
    pub fn matches(&self, element: Element<'_>) -> bool {
        match element {
            Element::Bytes(bytes) => bytes == self.bytes,
            Element::Int(value) => self.int == Some(value),
        }
    }

    /// False if no element of `block` can be this value, by its kind and lengths alone.
    pub fn may_be_in(&self, block: &Block) -> bool {
        let h = block.header();
        match h.kind {
            Kind::Compressed => true,
            Kind::Int => self.int.is_some(),
            Kind::Str => h.width != 0 || h.elem_len() == self.bytes.len(),
        }
    }
}

/// Which way to iterate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the front.
    Backward,
    /// Towards the back.
    Forward,
}

impl Block {
    /// The element at `index`. The block is plain.
    pub fn get(&self, index: usize) -> Option<Element<'_>> {
        (index < self.len()).then(|| self.get_physical(self.physical(index)))
    }

    /// The element at one end. The block is plain.
    #[inline]
    pub fn peek(&self, end: End) -> Option<Element<'_>> {
        if self.is_empty() {
            return None;
        }
        let h = self.header();
        let last = self.is_physical_back(end);
        let phys = if last { self.len() - 1 } else { 0 };
        Some(match h.kind {
            Kind::Str => {
                let len = self.str_len(phys);
                Element::Bytes(self.bytes(if last { h.end as usize - len } else { h.start as usize }, len))
            }
            _ => self.get_physical(phys),
        })
    }

    /// Iterates from the element at `from` on (inclusive) in `direction`. The block is plain.
    pub fn iter(&self, from: usize, direction: Direction) -> Iter<'_> {
        assert!(!self.is_compressed(), "a compressed block is decompressed before it is read");
        let n = self.len();
        let left = match direction {
            _ if from >= n => 0,
            Direction::Forward => n - from,
            Direction::Backward => from + 1,
        };
        let up = (direction == Direction::Forward) != self.reversed();
        let phys = if left == 0 { 0 } else { self.physical(from) };
        let offset = if left == 0 { 0 } else { self.offset_of(if up { phys } else { phys + 1 }) };
        Iter { block: self, phys, left, offset, up }
    }

    /// Calls `f` with every element of a plain block of byte strings, from the front on: the data from there on, and the element's length.
    pub(crate) fn for_each_text(&self, mut f: impl FnMut(&[u8], usize)) {
        assert!(self.kind() == Kind::Str, "the elements are byte strings");
        let h = self.header();
        let (start, end) = (h.start as usize, h.end as usize);
        let data = self.bytes(start, end - start);
        let mut elements = self.iter(0, Direction::Forward);
        while elements.left > 0 {
            let (at, len) = elements.next_place();
            f(&data[at - start..], len);
        }
    }

    /// Physical position of the logical position `index`.
    #[inline]
    pub(super) fn physical(&self, index: usize) -> usize {
        if self.reversed() { self.len() - 1 - index } else { index }
    }

    /// Physical range of a logical one.
    pub(super) fn physical_range(&self, range: Range<usize>) -> Range<usize> {
        let n = self.len();
        if self.reversed() { n - range.end..n - range.start } else { range }
    }

    /// True if the logical `end` is where the data grows upwards.
    #[inline]
    pub(super) fn is_physical_back(&self, end: End) -> bool {
        (end == End::Back) != self.reversed()
    }

    fn get_physical(&self, phys: usize) -> Element<'_> {
        match self.kind() {
            Kind::Int => Element::Int(self.int_at(phys)),
            Kind::Str => Element::Bytes(self.bytes(self.offset_of(phys), self.str_len(phys))),
            Kind::Compressed => panic!("a compressed block is decompressed before it is read"),
        }
    }

    /// Offset of the element at `phys`; `phys == len` gives the end of the data.
    pub(super) fn offset_of(&self, phys: usize) -> usize {
        let h = self.header();
        let n = h.n as usize;
        debug_assert!(phys <= n);
        match (h.kind, h.width) {
            (Kind::Int, width) => h.start as usize + phys * width as usize,
            (_, 0) => h.start as usize + phys * h.elem_len(),
            _ if phys <= n / 2 => h.start as usize + self.sum_lengths(0..phys),
            _ => h.end as usize - self.sum_lengths(phys..n),
        }
    }

    /// Sum of the lengths of a physical range of a Str block with width 1, 2 or 4.
    fn sum_lengths(&self, range: Range<usize>) -> usize {
        let h = self.header();
        let width = h.width as usize;
        let low = h.length_offset(range.end);
        let bytes = self.bytes(low, range.len() * width);
        match width {
            1 => bytes.iter().map(|&b| u32::from(b)).sum::<u32>() as usize,
            2 => bytes.as_chunks::<2>().0.iter().map(|&c| u32::from(u16::from_ne_bytes(c))).sum::<u32>()
                as usize,
            _ => bytes.as_chunks::<4>().0.iter().map(|&c| u32::from_ne_bytes(c) as usize).sum(),
        }
    }

    /// Length of the element at `phys` of a Str block.
    #[inline]
    pub(super) fn str_len(&self, phys: usize) -> usize {
        let h = self.header();
        let width = h.width as usize;
        if width == 0 {
            return h.elem_len();
        }
        read_uint(self.bytes(h.length_offset(phys + 1), width)) as usize
    }

    /// Value of the element at `phys` of an Int block.
    #[inline]
    pub(super) fn int_at(&self, phys: usize) -> i64 {
        let h = self.header();
        let width = h.width as usize;
        let offset = read_uint(self.bytes(h.start as usize + phys * width, width));
        h.aux.wrapping_add(offset) as i64
    }
}

impl Header {
    /// Where the length of element `i - 1` starts, which is the low end of the lengths of all elements below `i`.
    #[inline]
    pub(super) fn length_offset(&self, i: usize) -> usize {
        self.cap as usize - (self.lgap() + i) * self.width as usize
    }
}

/// Reads an unsigned integer of 1, 2, 4 or 8 bytes.
#[inline]
pub(super) fn read_uint(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => unreachable!("widths are 1, 2, 4 and 8"),
    }
}

/// Elements of one block in order, see [`Block::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    block: &'a Block,
    phys: usize,
    left: usize,
    /// Start of the next element when going up, its end when going down.
    offset: usize,
    up: bool,
}

impl<'a> Iterator for Iter<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        if self.left == 0 {
            return None;
        }
        Some(match self.block.kind() {
            Kind::Int => {
                let phys = self.step();
                Element::Int(self.block.int_at(phys))
            }
            _ => {
                let (at, len) = self.next_place();
                Element::Bytes(self.block.bytes(at, len))
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl Iter<'_> {
    /// Goes on to the next element, of which there is one; returns the place of this one.
    #[inline]
    fn step(&mut self) -> usize {
        self.left -= 1;
        let phys = self.phys;
        self.phys = if self.up { phys + 1 } else { phys.wrapping_sub(1) };
        phys
    }

    /// Where the next element of a block of byte strings, of which there is one, lies in the block, and its length.
    #[inline]
    fn next_place(&mut self) -> (usize, usize) {
        let phys = self.step();
        let len = self.block.str_len(phys);
        let at = if self.up { self.offset } else { self.offset - len };
        self.offset = if self.up { at + len } else { at };
        (at, len)
    }
}
