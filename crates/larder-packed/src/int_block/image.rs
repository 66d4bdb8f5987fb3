//! Blocks of integers as bytes: how a set of them travels between two Larders.
//!
//! ```text
//!   0    2       3       11
//!   +----+-------+-------+------------------+
//!   | n  | width | base  | values           |    little endian; the values as they lie in memory
//!   | 2  | 1     | 8     | n * width        |
//!   +----+-------+-------+------------------+
//! ```

use super::{BYTES_MAX, HEADER, IntBlock};
use crate::codec::Damaged;

const HEAD_BYTES: usize = 11;

impl IntBlock {
    /// Appends the block's image.
    pub fn image_into(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u16).to_le_bytes());
        out.push(self.width() as u8);
        out.extend_from_slice(&self.base().to_le_bytes());
        out.extend_from_slice(self.body());
    }

    /// The block of an image, which may be hostile: what passes satisfies the invariants, and has a value. O(n).
    pub fn from_image(image: &[u8]) -> Result<IntBlock, Damaged> {
        let (&[n0, n1, width, base @ ..], values) = image.split_first_chunk::<HEAD_BYTES>().ok_or(Damaged)?;
        let (n, base) = (usize::from(u16::from_le_bytes([n0, n1])), i64::from_le_bytes(base));
        let fits = matches!(width, 1 | 2 | 4 | 8) && (width != 8 || base == i64::MIN);
        let bytes = HEADER + values.len();
        if !fits || n == 0 || n * usize::from(width) != values.len() || bytes > BYTES_MAX {
            return Err(Damaged);
        }
        let mut block = IntBlock::with_capacity(width, base, bytes);
        block.room_mut()[..values.len()].copy_from_slice(values);
        block.set_len(n);
        let rises = (1..n).all(|i| block.distance(i - 1) < block.distance(i));
        if !rises || base.checked_add_unsigned(block.distance(n - 1)).is_none() {
            return Err(Damaged);
        }
        Ok(block)
    }
}
