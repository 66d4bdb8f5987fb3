//! Writing listpacks.

use super::{COUNT_UNKNOWN, END, HEADER, backlen};
use crate::block::{Block, Direction, Element};
use crate::int;

/// Builds one listpack entry by entry.
#[derive(Clone, Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    entries: usize,
}

/// The elements of a plain block as a listpack.
pub fn from_block(block: &Block) -> Vec<u8> {
    let mut writer = Writer::with_capacity(block.size_bytes() + 4 * block.len());
    let mut integers = Vec::new();
    if block.integers_into(&mut integers) {
        writer.push_integers(&integers);
    } else {
        block.iter(0, Direction::Forward).for_each(|element| writer.push(element));
    }
    writer.finish()
}

impl Default for Writer {
    fn default() -> Self {
        Writer::with_capacity(0)
    }
}

impl Writer {
    /// A writer with room for about `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Writer {
        let mut buffer = Vec::with_capacity(bytes + HEADER + 1);
        buffer.extend_from_slice(&[0; HEADER]);
        Writer { bytes: buffer, entries: 0 }
    }

    /// Adds an entry; text that is a canonical integer is stored as one, as Redis does.
    pub fn push(&mut self, element: Element<'_>) {
        push_element(&mut self.bytes, element);
        self.entries += 1;
    }

    /// Adds text that is no canonical integer.
    pub fn push_text(&mut self, text: &[u8]) {
        debug_assert!(int::parse(text).is_none());
        push_str(&mut self.bytes, text);
        self.entries += 1;
    }

    /// Adds integers, each as an entry.
    pub fn push_integers(&mut self, values: &[i64]) {
        let mut room = [0; INTS_AT_ONCE * INT_ENTRY_MAX + size_of::<u64>()];
        for run in values.chunks(INTS_AT_ONCE) {
            let mut len = 0;
            for &value in run {
                // Whole words are written, of which the next one covers what is too much.
                let to = &mut room[len..];
                if let Some((word, bytes)) = int_word(value) {
                    *to.first_chunk_mut().expect("there is room for each") = word.to_le_bytes();
                    len += bytes;
                } else {
                    to[0] = 0xf4;
                    to[1..9].copy_from_slice(&value.to_le_bytes());
                    to[9] = 9;
                    len += INT_ENTRY_MAX;
                }
            }
            self.bytes.extend_from_slice(&room[..len]);
        }
        self.entries += values.len();
    }

    /// The listpack's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(END);
        let total = u32::try_from(self.bytes.len()).expect("a listpack is smaller than 4 GB");
        let entries = u16::try_from(self.entries).unwrap_or(COUNT_UNKNOWN);
        self.bytes[..4].copy_from_slice(&total.to_le_bytes());
        self.bytes[4..HEADER].copy_from_slice(&entries.to_le_bytes());
        self.bytes
    }
}

/// Integers that are written at once.
const INTS_AT_ONCE: usize = 64;
/// The longest entry of an integer.
const INT_ENTRY_MAX: usize = 10;

/// An entry of up to 6 bytes, the first one lowest, and how many they are; None for an integer that takes more.
#[inline]
fn int_word(value: i64) -> Option<(u64, usize)> {
    let bits = value as u64;
    Some(match value {
        0..=127 => (bits | 1 << 8, 2),
        -4096..=4095 => (0xc0 | bits >> 8 & 0x1f | (bits & 0xff) << 8 | 2 << 16, 3),
        -0x8000..=0x7fff => (0xf1 | (bits & 0xffff) << 8 | 3 << 24, 4),
        -0x80_0000..=0x7f_ffff => (0xf2 | (bits & 0xff_ffff) << 8 | 4 << 32, 5),
        -0x8000_0000..=0x7fff_ffff => (0xf3 | (bits & 0xffff_ffff) << 8 | 5 << 40, 6),
        _ => return None,
    })
}

/// Appends one entry with its back length; text that is a canonical integer is stored as one.
pub fn push_element(out: &mut Vec<u8>, element: Element<'_>) {
    match element {
        Element::Int(value) => push_int(out, value),
        Element::Bytes(text) => match int::parse(text) {
            Some(value) => push_int(out, value),
            None => push_str(out, text),
        },
    }
}

/// Appends an integer as one entry.
#[inline]
pub fn push_int(out: &mut Vec<u8>, value: i64) {
    let start = out.len();
    match int_word(value) {
        // A whole word is written, of which only the entry stays.
        Some((word, len)) => {
            out.extend_from_slice(&word.to_le_bytes());
            out.truncate(start + len);
        }
        None => {
            out.push(0xf4);
            out.extend_from_slice(&value.to_le_bytes());
            out.push(9);
        }
    }
}

fn push_str(out: &mut Vec<u8>, text: &[u8]) {
    let start = out.len();
    match text.len() {
        len @ 0..64 => {
            // Room is made once, and the back length is known: most entries are short.
            out.reserve(len + 2);
            out.push(0x80 | len as u8);
            out.extend_from_slice(text);
            return out.push(len as u8 + 1);
        }
        len @ 64..4096 => out.extend_from_slice(&[0xe0 | (len >> 8) as u8, len as u8]),
        len => put(out, 0xf0, &(len as u32).to_le_bytes()),
    }
    out.extend_from_slice(text);
    push_backlen(out, start);
}

/// Closes the entry that begins at `start`.
#[inline]
fn push_backlen(out: &mut Vec<u8>, start: usize) {
    match out.len() - start {
        len @ 0..128 => out.push(len as u8),
        len => {
            let (back, count) = backlen(len);
            out.extend_from_slice(&back[..count]);
        }
    }
}

fn put(out: &mut Vec<u8>, encoding: u8, data: &[u8]) {
    out.push(encoding);
    out.extend_from_slice(data);
}
