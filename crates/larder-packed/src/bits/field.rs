//! Integers of 1 to 64 bits at any bit of a string.

/// Bytes that an integer of 64 bits can touch.
const TOUCHED_MAX: usize = 9;

/// The unsigned integer of `width` bits (1 to 64) at a bit offset; bits past the end are 0. O(1).
pub fn read_field(bytes: &[u8], offset: u64, width: u32) -> u64 {
    (window(bytes, offset) << (offset & 7) >> (128 - width)) as u64
}

/// Writes the low `width` bits (1 to 64) of a value at a bit offset; bits past the end are left out. O(1).
pub fn write_field(bytes: &mut [u8], offset: u64, width: u32, value: u64) {
    let shift = 128 - width - (offset & 7) as u32;
    let mask = (u128::MAX >> (128 - width)) << shift;
    let new = window(bytes, offset) & !mask | (u128::from(value) << shift) & mask;
    let touched = touched(bytes.len(), offset);
    let len = touched.len();
    bytes[touched].copy_from_slice(&new.to_be_bytes()[..len]);
}

/// The bytes from the one with this bit on, the first one highest, and zeros.
fn window(bytes: &[u8], offset: u64) -> u128 {
    let touched = touched(bytes.len(), offset);
    let mut window = [0; 16];
    window[..touched.len()].copy_from_slice(&bytes[touched]);
    u128::from_be_bytes(window)
}

/// The indexes of the bytes that an integer at this bit can touch.
fn touched(len: usize, offset: u64) -> std::ops::Range<usize> {
    let first = usize::try_from(offset >> 3).unwrap_or(usize::MAX).min(len);
    first..first.saturating_add(TOUCHED_MAX).min(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{bit, set_bit};

    #[test]
    fn fields_against_single_bits() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..5000 {
            let len = rng.usize(..24);
            let mut bytes: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
            let (offset, width, value) = (rng.u64(..200), rng.u32(1..=64), rng.u64(..));
            let bits = offset..offset + u64::from(width);
            let read = bits.clone().fold(0, |all, at| all << 1 | u64::from(bit(&bytes, at)));
            assert_eq!(read_field(&bytes, offset, width), read, "{bytes:?} {offset} {width}");
            let mut want = bytes.clone();
            for (i, at) in bits.enumerate().filter(|(_, at)| *at < len as u64 * 8) {
                set_bit(&mut want, at, value >> (u64::from(width) - 1 - i as u64) & 1 == 1);
            }
            write_field(&mut bytes, offset, width, value);
            assert_eq!(bytes, want, "{offset} {width} {value:#x}");
        }
        assert_eq!(read_field(&[0xFF], u64::MAX - 64, 64), 0);
    }
}
