//! Blocks as the bytes of a record: see [`crate::embed`].

use super::{Block, HEADER, Kind, REVERSED};
use crate::embed::{Collect, read_signed, signed_len};

/// Bit of the first byte, between kind and width.
const IS_REVERSED: u8 = 4;
const _: () = assert!(Kind::Compressed as u8 <= IS_REVERSED);

impl Block {
    /// Collects the bytes that a record, or a compressed value, holds of this block; false if it may not live there.
    #[inline]
    pub fn embed(&self, out: &mut impl Collect) -> bool {
        self.try_embed(out).is_some()
    }

    fn try_embed(&self, out: &mut impl Collect) -> Option<()> {
        let h = self.header();
        let body = if h.kind == Kind::Compressed { return None } else { self.body_form() };
        let n = u8::try_from(body.n).ok()?;
        let inner = body.inner | if self.flag(REVERSED) { IS_REVERSED } else { 0 };
        if h.kind == Kind::Int {
            let base = body.aux as i64;
            let len = signed_len(base);
            out.push(&[inner, len as u8])?;
            out.push(&base.to_le_bytes()[..len])?;
        } else {
            out.push(&[inner, n])?;
        }
        out.push(self.bytes(h.start as usize, h.data_len()))?;
        if h.kind == Kind::Str {
            let lengths = self.len() * usize::from(h.width);
            out.push(self.bytes(h.length_offset(self.len()), lengths))?;
        }
        Some(())
    }

    /// The block of bytes that [`embed`](Self::embed) collected. Panics on others.
    pub fn of_embedded(bytes: &[u8]) -> Block {
        let (&[first, second], rest) = bytes.split_first_chunk().expect("two bytes at least");
        let (inner, width) = (first & !IS_REVERSED, usize::from(first >> 4));
        let (n, aux, image) = if inner & 0xF == Kind::Int as u8 {
            let (base, values) = rest.split_at(usize::from(second));
            (values.len() / width, read_signed(base) as u64, values)
        } else {
            let n = usize::from(second);
            let equal = if width == 0 && n > 0 { rest.len() / n } else { 0 };
            (n, equal as u64, rest)
        };
        let (kind, lengths) =
            if inner & 0xF == Kind::Int as u8 { (Kind::Int, 0) } else { (Kind::Str, n * width) };
        let (data, lengths) = image.split_at(image.len() - lengths);
        let mut block = Block::with_capacity(kind, width as u8, HEADER + image.len());
        block.write(HEADER, data);
        block.write(block.heap_bytes() - lengths.len(), lengths);
        let h = block.header_mut();
        (h.n, h.end, h.aux) = (n as u32, (HEADER + data.len()) as u32, aux);
        if first & IS_REVERSED != 0 {
            block.set_flag(REVERSED, true);
        }
        block
    }
}
