//! Blocks of integers as the bytes of a record: see [`crate::embed`].
//!
//! A rebuilt block costs a pass over its values anyway, so the distances between neighbours are stored as short as each is.

use super::IntBlock;
use crate::embed::{Collect, read_signed, signed_len};

/// Distances whose lengths share a byte.
const GROUP: usize = 4;

impl IntBlock {
    /// Collects the bytes that a record, or a compressed value, holds of this block; false if it may not live there.
    pub fn embed(&self, out: &mut impl Collect) -> bool {
        self.try_embed(out).is_some()
    }

    fn try_embed(&self, out: &mut impl Collect) -> Option<()> {
        let n = u8::try_from(self.len()).ok().filter(|&n| n > 0)?;
        let value = |at: usize| self.base().wrapping_add_unsigned(self.distance(at));
        let first = value(0);
        let len = signed_len(first);
        out.push(&[n, len as u8])?;
        out.push(&first.to_le_bytes()[..len])?;
        for start in (1..self.len()).step_by(GROUP) {
            let (mut lengths, mut bytes, mut used) = (0, [0; GROUP * 4], 0);
            for at in start..self.len().min(start + GROUP) {
                let gap = u32::try_from(self.distance(at) - self.distance(at - 1)).ok()?;
                let len = 4 - gap.leading_zeros() as usize / 8;
                lengths |= (len as u8 - 1) << (2 * (at - start));
                bytes[used..used + len].copy_from_slice(&gap.to_le_bytes()[..len]);
                used += len;
            }
            out.push(&[lengths])?;
            out.push(&bytes[..used])?;
        }
        Some(())
    }

    /// The block of bytes that [`embed`](Self::embed) collected. Panics on others.
    pub fn of_embedded(bytes: &[u8]) -> IntBlock {
        let (&[n, len], rest) = bytes.split_first_chunk().expect("a number and a length");
        let (first, mut rest) = rest.split_at(usize::from(len));
        let n = usize::from(n);
        let mut last = read_signed(first);
        let mut values = Vec::with_capacity(n);
        values.push(last);
        for start in (1..n).step_by(GROUP) {
            let (&lengths, gaps) = rest.split_first().expect("lengths of a group");
            rest = gaps;
            for at in start..n.min(start + GROUP) {
                let len = usize::from(lengths >> (2 * (at - start)) & 3) + 1;
                let (gap, after) = rest.split_at(len);
                let mut whole = [0; 4];
                whole[..len].copy_from_slice(gap);
                last = last.wrapping_add_unsigned(u64::from(u32::from_le_bytes(whole)));
                values.push(last);
                rest = after;
            }
        }
        IntBlock::of_sorted(&values).expect("a block has held them")
    }
}
