//! Leaves as the bytes of a record: see [`crate::embed`].

use super::{Form, HEADER, Leaf};
use crate::buffer::Buffer;
use crate::embed::Collect;

/// Bits of the first byte: the width of deltas, that of lengths, the owner's mark, and whether there is a prefix.
const LENGTHS_SHIFT: u32 = 4;
const MARK: u8 = 0x40;
const PREFIX: u8 = 0x80;
/// Bits of the second byte that are the shift of keys; the others are the length of the base above [`BASE_MIN`].
const SHIFT: u8 = 0x3F;
/// The least length of a base.
const BASE_MIN: usize = 5;
/// The width of deltas that comes without a base.
const WHOLE: usize = 8;

impl Leaf {
    /// Collects the bytes that a record, or a compressed value, holds of this leaf; false if it may not live there.
    #[inline]
    pub fn embed(&self, out: &mut impl Collect) -> bool {
        self.try_embed(out).is_some()
    }

    fn try_embed(&self, out: &mut impl Collect) -> Option<()> {
        let form = self.form();
        let byte = |value: usize| u8::try_from(value).ok();
        let base = form.base.to_le_bytes();
        let zeros = base.iter().take(8 - BASE_MIN).take_while(|&&byte| byte == 0).count();
        let lengths = if form.lw == 4 { return None } else { (form.lw as u8) << LENGTHS_SHIFT };
        let mark = if self.mark() { MARK } else { 0 };
        let prefix = if form.prefix_len > 0 { PREFIX } else { 0 };
        let base_len = (8 - BASE_MIN - zeros) as u8;
        let third = if form.lw == 0 { byte(form.fixed)? } else { byte(form.n)? };
        // Without lengths the number of entries follows from the bytes, unless there is only one, empty and of no score.
        if form.n == 0 || form.lw == 0 && byte(form.n).is_none() {
            return None;
        }
        out.push(&[form.sw as u8 | lengths | mark | prefix, form.shift as u8 | base_len << 6, third])?;
        if form.prefix_len > 0 {
            out.push(&[byte(form.prefix_len)?])?;
        }
        if form.sw < WHOLE {
            out.push(&base[zeros..])?;
        }
        out.push(&self.0[HEADER..form.end()])
    }

    /// The leaf of bytes that [`embed`](Self::embed) collected. Panics on others.
    pub fn of_embedded(bytes: &[u8]) -> Leaf {
        let (&[first, second, third], rest) = bytes.split_first_chunk().expect("a leaf has a head");
        let (sw, lw) = (usize::from(first & 0xF), usize::from(first >> LENGTHS_SHIFT & 3));
        let (prefix_len, rest) = match first & PREFIX {
            0 => (0, rest),
            _ => (usize::from(rest[0]), &rest[1..]),
        };
        let base_len = if sw < WHOLE { usize::from(second >> 6) + BASE_MIN } else { 0 };
        let (base, sections) = rest.split_at(base_len);
        let mut whole = [0; 8];
        whole[8 - base_len..].copy_from_slice(base);
        let (fixed, n) = match lw {
            0 => (usize::from(third), (sections.len() - prefix_len) / (1 + sw + usize::from(third))),
            _ => (0, usize::from(third)),
        };
        let shift = u32::from(second & SHIFT);
        let mut form =
            Form { base: u64::from_le_bytes(whole), fixed, heap_len: 0, n, prefix_len, sw, shift, lw };
        form.heap_len = HEADER + sections.len() - form.heap_at();
        let mut buffer = Buffer::of(&[], HEADER + sections.len());
        let body = buffer.make_mut();
        form.write(body);
        body[HEADER - 1] = u8::from(first & MARK != 0);
        body[HEADER..][..sections.len()].copy_from_slice(sections);
        Leaf(buffer)
    }
}
