//! Writing listpacks.

use super::{COUNT_UNKNOWN, END, HEADER, backlen};
use crate::block::{Block, Element};
use crate::{int, short};

/// Builds one listpack entry by entry.
#[derive(Clone, Debug)]
pub struct Writer {
    /// What is written, and zeros after it.
    bytes: Vec<u8>,
    at: usize,
    /// Narrower than `at`: two of one width become a vector that is read, added to and stored, for which the next entry then waits.
    entries: u32,
}

/// The elements of a plain block as a listpack.
pub fn from_block(block: &Block) -> Vec<u8> {
    let mut writer = Writer::with_capacity(block.size_bytes() + 4 * block.len());
    let mut integers = Vec::new();
    if block.integers_into(&mut integers) {
        writer.push_integers(&integers);
    } else {
        block.for_each_text(|data, len| writer.push_first(data, len));
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
        Writer { bytes: vec![0; HEADER + bytes + ENTRY_ROOM], at: HEADER, entries: 0 }
    }

    /// Adds an entry; text that is a canonical integer is stored as one, as Redis does.
    #[inline]
    pub fn push(&mut self, element: Element<'_>) {
        match element {
            Element::Int(value) => self.push_int(value),
            Element::Bytes(text) => self.push_bytes(text),
        }
    }

    /// Adds text, as [`push`](Self::push) does.
    #[inline]
    pub fn push_bytes(&mut self, text: &[u8]) {
        match int::parse(text) {
            Some(value) => self.push_int(value),
            None => self.push_text(text),
        }
    }

    /// Adds text, as [`push`](Self::push) does, and then an integer.
    #[inline]
    pub fn push_pair(&mut self, text: &[u8], value: i64) {
        if text.len() >= SHORT_TEXT_END || int::parse(text).is_some() {
            self.push_bytes(text);
            return self.push_int(value);
        }
        let room = self.room(text.len() + INT_ENTRY_MAX);
        let at = short_text_entry(room, text.len(), |room| short::copy(&mut room[..text.len()], text));
        let len = at + int_entry(&mut room[at..], value);
        self.at += len;
        self.entries += 2;
    }

    /// Adds text that is no canonical integer.
    #[inline]
    pub fn push_text(&mut self, text: &[u8]) {
        debug_assert!(int::parse(text).is_none());
        let len = text_entry(self.room(text.len()), text);
        self.close(len);
    }

    /// Adds the first `len` bytes of `data` as an entry.
    #[inline]
    fn push_first(&mut self, data: &[u8], len: usize) {
        let text = &data[..len];
        match (int::parse(text), data.first_chunk::<TEXT_WINDOW>()) {
            (Some(value), _) => self.push_int(value),
            (None, Some(window)) if len <= TEXT_WINDOW => {
                // All of the window is written, of which the back length and what comes next cover what is too much.
                let copy = |room: &mut [u8]| room[..TEXT_WINDOW].copy_from_slice(window);
                let len = short_text_entry(self.room(0), len, copy);
                self.close(len);
            }
            (None, _) => self.push_text(text),
        }
    }

    /// Adds an integer.
    #[inline]
    fn push_int(&mut self, value: i64) {
        let len = int_entry(self.room(0), value);
        self.close(len);
    }

    /// Where the next entry goes: room for a text of this length, and for any integer.
    #[inline]
    fn room(&mut self, text_len: usize) -> &mut [u8] {
        let end = self.at + text_len + ENTRY_ROOM;
        if end > self.bytes.len() {
            self.grow(end);
        }
        &mut self.bytes[self.at..]
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        self.bytes.resize(end.max(2 * self.bytes.len()), 0);
    }

    /// Counts an entry of `len` bytes that has been written.
    #[inline]
    fn close(&mut self, len: usize) {
        self.at += len;
        self.entries += 1;
    }

    /// Adds integers, each as an entry.
    pub fn push_integers(&mut self, values: &[i64]) {
        values.iter().for_each(|&value| self.push_int(value));
    }

    /// The listpack's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.truncate(self.at);
        self.bytes.push(END);
        let total = u32::try_from(self.bytes.len()).expect("a listpack is smaller than 4 GB");
        let entries = u16::try_from(self.entries).unwrap_or(COUNT_UNKNOWN);
        self.bytes[..4].copy_from_slice(&total.to_le_bytes());
        self.bytes[4..HEADER].copy_from_slice(&entries.to_le_bytes());
        self.bytes
    }
}

/// The longest entry of an integer.
const INT_ENTRY_MAX: usize = 10;
/// The first byte of a text of less than [`SHORT_TEXT_END`] bytes, which are added to it.
const SHORT_TEXT: u8 = 0x80;
const SHORT_TEXT_END: usize = 64;
/// Text that is copied in one piece of fixed size where there is as much after it.
const TEXT_WINDOW: usize = 32;
/// Room for what an entry has beside its text, for an integer, and for a window.
const ENTRY_ROOM: usize = TEXT_WINDOW + 2;
const _: () = assert!(ENTRY_ROOM >= INT_ENTRY_MAX);

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
    out.extend_from_slice(&[0; INT_ENTRY_MAX]);
    let len = int_entry(&mut out[start..], value);
    out.truncate(start + len);
}

fn push_str(out: &mut Vec<u8>, text: &[u8]) {
    let start = out.len();
    if text.len() <= TEXT_WINDOW {
        out.extend_from_slice(&[0; ENTRY_ROOM]);
    } else {
        out.resize(start + text.len() + ENTRY_ROOM, 0);
    }
    let len = text_entry(&mut out[start..], text);
    out.truncate(start + len);
}

/// Writes the entry of an integer, of [`INT_ENTRY_MAX`] bytes at most, and says how long it is. There may be any bytes after it.
#[inline]
fn int_entry(room: &mut [u8], value: i64) -> usize {
    let room: &mut [u8; INT_ENTRY_MAX] = room.first_chunk_mut().expect("there is room for any integer");
    match int_word(value) {
        Some((word, len)) => {
            room[..8].copy_from_slice(&word.to_le_bytes());
            len
        }
        None => {
            room[0] = 0xf4;
            room[1..9].copy_from_slice(&value.to_le_bytes());
            room[9] = 9;
            INT_ENTRY_MAX
        }
    }
}

/// Writes the entry of a text, for which there is room, and says how long it is.
#[inline(always)]
fn text_entry(room: &mut [u8], text: &[u8]) -> usize {
    let len = text.len();
    if len >= SHORT_TEXT_END {
        return long_text_entry(room, text);
    }
    short_text_entry(room, len, |room| short::copy(&mut room[..len], text))
}

/// The same for a text of less than [`SHORT_TEXT_END`] bytes, which `copy` puts in its place; it may write more after it.
#[inline(always)]
fn short_text_entry(room: &mut [u8], len: usize, copy: impl FnOnce(&mut [u8])) -> usize {
    room[0] = SHORT_TEXT | len as u8;
    copy(&mut room[1..]);
    room[1 + len] = len as u8 + 1;
    len + 2
}

fn long_text_entry(room: &mut [u8], text: &[u8]) -> usize {
    let at = match text.len() {
        len @ 0..4096 => {
            room[..2].copy_from_slice(&[0xe0 | (len >> 8) as u8, len as u8]);
            2
        }
        len => {
            room[0] = 0xf0;
            room[1..5].copy_from_slice(&(len as u32).to_le_bytes());
            5
        }
    };
    let end = at + text.len();
    room[at..end].copy_from_slice(text);
    let (back, count) = backlen(end);
    room[end..end + count].copy_from_slice(&back[..count]);
    end + count
}
