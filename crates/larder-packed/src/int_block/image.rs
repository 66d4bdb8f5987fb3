//! Blocks as bytes: how a set of integers travels between two Larders.
//!
//! ```text
//!   width 1 | base 8 | values, n * width          little endian; the values as in memory
//! ```

use super::{BYTES_MAX, HEADER, IntBlock};
use crate::codec::Damaged;

const HEAD_BYTES: usize = 9;

impl IntBlock {
    /// Appends the block's image.
    pub fn image_into(&self, out: &mut Vec<u8>) {
        out.push(self.width() as u8);
        out.extend_from_slice(&self.base().to_le_bytes());
        out.extend_from_slice(self.body());
    }

    /// The block of an image, which may be hostile: of one value or more, and one that satisfies all invariants. O(n).
    pub fn from_image(image: &[u8]) -> Result<IntBlock, Damaged> {
        let (&[width, ref base @ ..], values) = image.split_first_chunk::<HEAD_BYTES>().ok_or(Damaged)?;
        let base = i64::from_le_bytes(*base.first_chunk().ok_or(Damaged)?);
        let is_whole = matches!(width, 1 | 2 | 4 | 8) && values.len().is_multiple_of(usize::from(width));
        let bytes = HEADER + values.len();
        if !is_whole || values.is_empty() || bytes > BYTES_MAX || width == 8 && base != i64::MIN {
            return Err(Damaged);
        }
        let mut block = IntBlock::with_capacity(width, base, bytes);
        block.room_mut()[..values.len()].copy_from_slice(values);
        let n = values.len() / usize::from(width);
        block.set_len(n);
        let rises = (1..n).all(|i| block.distance(i - 1) < block.distance(i));
        let ends = base.checked_add_unsigned(block.distance(n - 1)).is_some();
        if rises && ends { Ok(block) } else { Err(Damaged) }
    }
}
