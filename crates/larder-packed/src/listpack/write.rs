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
    block.iter(0, Direction::Forward).for_each(|element| writer.push(element));
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
        let start = self.bytes.len();
        match element {
            Element::Int(value) => self.put_int(value),
            Element::Bytes(text) => match int::parse(text) {
                Some(value) => self.put_int(value),
                None => self.put_str(text),
            },
        }
        let (back, len) = backlen(self.bytes.len() - start);
        self.bytes.extend_from_slice(&back[..len]);
        self.entries += 1;
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

    fn put_int(&mut self, value: i64) {
        let bytes = value.to_le_bytes();
        match value {
            0..=127 => self.bytes.push(value as u8),
            -4096..=4095 => {
                let bits = value as u16 & 0x1fff;
                self.bytes.extend_from_slice(&[0xc0 | (bits >> 8) as u8, bits as u8]);
            }
            -0x8000..=0x7fff => self.put(0xf1, &bytes[..2]),
            -0x80_0000..=0x7f_ffff => self.put(0xf2, &bytes[..3]),
            -0x8000_0000..=0x7fff_ffff => self.put(0xf3, &bytes[..4]),
            _ => self.put(0xf4, &bytes),
        }
    }

    fn put_str(&mut self, text: &[u8]) {
        match text.len() {
            len @ 0..64 => self.bytes.push(0x80 | len as u8),
            len @ 64..4096 => self.bytes.extend_from_slice(&[0xe0 | (len >> 8) as u8, len as u8]),
            len => self.put(0xf0, &(len as u32).to_le_bytes()),
        }
        self.bytes.extend_from_slice(text);
    }

    fn put(&mut self, encoding: u8, data: &[u8]) {
        self.bytes.push(encoding);
        self.bytes.extend_from_slice(data);
    }
}
