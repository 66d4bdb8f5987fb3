//! Reading and writing fields of fixed size, big endian.

use super::malformed::Malformed;

/// What is left of a packet.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|&[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(|&bytes| u16::from_be_bytes(bytes))
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(|&bytes| u32::from_be_bytes(bytes))
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(|&bytes| u64::from_be_bytes(bytes))
    }
}

/// Appends a text and zeros up to a size; what is longer is cut.
pub(super) fn write_padded(out: &mut Vec<u8>, text: &[u8], size: usize) {
    let text = &text[..text.len().min(size)];
    out.extend_from_slice(text);
    out.resize(out.len() + size - text.len(), 0);
}
