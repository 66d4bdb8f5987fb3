//! Building a block from a known sequence, in exactly the memory it needs.

use super::width::{uint_max, width_of};
use super::{Block, Direction, Element, HEADER, Kind};
use crate::int;

/// What must be known of a sequence before the block for it is made.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    count: usize,
    text_bytes: usize,
    len_min: usize,
    len_max: usize,
    ints: bool,
    int_min: i64,
    int_max: i64,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            count: 0,
            text_bytes: 0,
            len_min: usize::MAX,
            len_max: 0,
            ints: true,
            int_min: i64::MAX,
            int_max: i64::MIN,
        }
    }
}

impl Shape {
    /// Takes another element into account.
    pub fn add(&mut self, element: Element<'_>) {
        let len = element.text_len();
        self.count += 1;
        self.text_bytes += len;
        (self.len_min, self.len_max) = (self.len_min.min(len), self.len_max.max(len));
        match element {
            Element::Int(value) => {
                (self.int_min, self.int_max) = (self.int_min.min(value), self.int_max.max(value));
            }
            Element::Bytes(_) => self.ints = false,
        }
    }

    /// Width of the lengths of a Str block.
    fn length_width(&self) -> u8 {
        if self.len_min == self.len_max { 0 } else { width_of(self.len_max as u64) }
    }

    /// Bytes of data and lengths of a Str block.
    pub(super) fn text_size(&self) -> usize {
        self.text_bytes + self.count * self.length_width() as usize
    }

    /// Integers, and not smaller as text.
    fn suits_ints(&self) -> bool {
        self.ints && self.count * self.int_coding().0 as usize <= self.text_size()
    }

    /// Width and base of an Int block.
    fn int_coding(&self) -> (u8, u64) {
        let span = (self.int_max as u64).wrapping_sub(self.int_min as u64);
        let width = width_of(span);
        let slack = uint_max(width) - span;
        (width, if width == 8 { 0 } else { (self.int_min as u64).wrapping_sub(slack / 2) })
    }
}

impl Block {
    /// A block of these elements, which `shape` has seen before.
    pub fn of_shape<'a>(shape: &Shape, elements: impl Iterator<Item = Element<'a>>) -> Block {
        if shape.count == 0 {
            return Block::empty();
        }
        if shape.suits_ints() { Block::of_ints(shape, elements) } else { Block::of_texts(shape, elements) }
    }

    /// A block of these integers.
    pub fn of_integers(values: &[i64]) -> Block {
        let (low, high) =
            values.iter().fold((i64::MAX, i64::MIN), |(low, high), &v| (low.min(v), high.max(v)));
        let shape = Shape { count: values.len(), int_min: low, int_max: high, ..Shape::default() };
        if values.is_empty() || !are_longer_as_text(values, shape.int_coding().0) {
            let (mut shape, elements) =
                (Shape::default(), || values.iter().map(|&value| Element::Int(value)));
            elements().for_each(|element| shape.add(element));
            return Block::of_shape(&shape, elements());
        }
        let (width, base) = shape.int_coding();
        let len = shape.count * usize::from(width);
        let mut block = Block::with_capacity(Kind::Int, width, HEADER + len);
        block.fill(HEADER, len, |bytes| match width {
            1 => encode(bytes.as_chunks_mut().0, values, |value| [value.wrapping_sub(base) as u8]),
            2 => encode(bytes.as_chunks_mut().0, values, |value| {
                (value.wrapping_sub(base) as u16).to_ne_bytes()
            }),
            4 => encode(bytes.as_chunks_mut().0, values, |value| {
                (value.wrapping_sub(base) as u32).to_ne_bytes()
            }),
            _ => encode(bytes.as_chunks_mut().0, values, |value| value.wrapping_sub(base).to_ne_bytes()),
        });
        let h = block.header_mut();
        (h.n, h.end, h.aux) = (shape.count as u32, (HEADER + len) as u32, base);
        block
    }

    /// Appends the integers of a block that packs them as such; false if this is another one.
    pub fn integers_into(&self, out: &mut Vec<i64>) -> bool {
        let h = self.header();
        if h.kind != Kind::Int {
            return false;
        }
        let (start, base, bytes) = (out.len(), h.aux, self.bytes(h.start as usize, h.data_len()));
        let value = |offset: u64| base.wrapping_add(offset) as i64;
        match h.width {
            1 => out.extend(bytes.iter().map(|&byte| value(u64::from(byte)))),
            2 => out
                .extend(bytes.as_chunks().0.iter().map(|&chunk| value(u64::from(u16::from_ne_bytes(chunk))))),
            4 => out
                .extend(bytes.as_chunks().0.iter().map(|&chunk| value(u64::from(u32::from_ne_bytes(chunk))))),
            _ => out.extend(bytes.as_chunks().0.iter().map(|&chunk| value(u64::from_ne_bytes(chunk)))),
        }
        if self.reversed() {
            out[start..].reverse();
        }
        true
    }

    /// The elements of several plain blocks, in order, as one block.
    pub fn concat(blocks: &[Block]) -> Block {
        let elements = || blocks.iter().flat_map(|block| block.iter(0, Direction::Forward));
        let mut shape = Shape::default();
        elements().for_each(|element| shape.add(element));
        Block::of_shape(&shape, elements())
    }

    fn of_ints<'a>(shape: &Shape, elements: impl Iterator<Item = Element<'a>>) -> Block {
        let (width, base) = shape.int_coding();
        let mut block = Block::with_capacity(Kind::Int, width, HEADER + shape.count * width as usize);
        let mut at = HEADER;
        for element in elements {
            let Element::Int(value) = element else { unreachable!("the shape says integers") };
            block.write_uint(at, width, (value as u64).wrapping_sub(base));
            at += width as usize;
        }
        assert_eq!(at, HEADER + shape.count * width as usize, "the shape is of other elements");
        let h = block.header_mut();
        (h.n, h.end, h.aux) = (shape.count as u32, at as u32, base);
        block
    }

    fn of_texts<'a>(shape: &Shape, elements: impl Iterator<Item = Element<'a>>) -> Block {
        let width = shape.length_width();
        let mut block = Block::with_capacity(Kind::Str, width, HEADER + shape.text_size());
        block.header_mut().set_str_aux(if width == 0 { shape.len_max } else { 0 }, 0);
        for element in elements {
            match element {
                Element::Bytes(bytes) => block.append_str(bytes),
                Element::Int(value) => int::with_text(value, |text| block.append_str(text)),
            }
        }
        let seen = (block.len(), block.header().data_len());
        assert_eq!(seen, (shape.count, shape.text_bytes), "the shape is of other elements");
        block
    }
}

/// Whether the texts of these integers certainly take this many bytes each, on the average; false if that is to be counted.
fn are_longer_as_text(values: &[i64], width: u8) -> bool {
    // Where two bytes are needed, texts have two digits or lengths of their own; where four or eight are, most texts tell.
    let least: u64 = match width {
        1 | 2 => return true,
        4 => 1000,
        _ => 10_000_000,
    };
    let long = values.iter().filter(|value| value.unsigned_abs() >= least).count();
    // One that is long has `width` digits at least, any other has one. Where there are both, the lengths differ, and take a byte each.
    let (width, short) = (usize::from(width), values.len() - long);
    long * (width + 1) + short * 2 >= values.len() * width
}

#[inline]
fn encode<const W: usize>(lanes: &mut [[u8; W]], values: &[i64], code: impl Fn(u64) -> [u8; W]) {
    for (lane, &value) in lanes.iter_mut().zip(values) {
        *lane = code(value as u64);
    }
}
