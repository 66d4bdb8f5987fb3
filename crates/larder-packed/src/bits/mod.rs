//! Strings as runs of bits: counting, finding, combining, and integers of any width at any bit.
//!
//! Bit 0 is the highest bit of the first byte, as the bitmap commands number them. Everything works on the bytes of a
//! string where they lie; nothing is copied, and only what makes a new string allocates.
//!
//! | | cost |
//! |---|---|
//! | count, find | O(bytes), 32 at a time |
//! | combine, invert into a new string | O(bytes), 16 or 32 at a time, see `whole` |
//! | read or write an integer | O(1), 9 bytes |
//!
//! ```text
//!            byte 0            byte 1
//!   bit   0 1 2 3 4 5 6 7   8 9 10 ..
//!         |     \_______________/
//!        high    an integer of 7 bits at offset 3, its highest bit first
//! ```
//!
//! The loops are plain code that the compiler vectorizes; `wide` compiles them a second time for processors with AVX2.
//!
//! Invariants: B1 bits past the end of a string count as 0 and are never written; B2 each function gives the same
//! result as its bit-by-bit twin in the tests at the foot of this module's files.

mod field;
mod whole;
mod wide;

pub use field::{read_field, write_field};
pub use whole::{combine_all, invert_all};
pub use wide::{Operator, count_ones};

use std::ops::Range;

/// Whether a bit is set; false past the end.
#[inline]
pub fn bit(bytes: &[u8], at: u64) -> bool {
    usize::try_from(at >> 3)
        .ok()
        .and_then(|byte| bytes.get(byte))
        .is_some_and(|byte| byte >> (7 - (at & 7)) & 1 == 1)
}

/// Sets or clears a bit and returns what it was. Panics when it lies past the end.
#[inline]
pub fn set_bit(bytes: &mut [u8], at: u64, on: bool) -> bool {
    let (byte, mask) = (&mut bytes[(at >> 3) as usize], 0x80 >> (at & 7));
    let old = *byte & mask != 0;
    if on {
        *byte |= mask;
    } else {
        *byte &= !mask;
    }
    old
}

/// A range of bits as the partial byte before the whole ones, these, and the partial byte after them.
struct Parts {
    /// Index of a byte and the mask of its bits in the range; a mask of 0 when there is none.
    head: (usize, u8),
    body: Range<usize>,
    tail: (usize, u8),
}

impl Parts {
    fn of(bits: &Range<u64>) -> Parts {
        let (first, last) = ((bits.start >> 3) as usize, (bits.end >> 3) as usize);
        let (from_start, to_end) =
            (0xFF >> (bits.start & 7), !(0xFF_u8.unbounded_shr((bits.end & 7) as u32)));
        if first == last {
            return Parts { head: (first, from_start & to_end), body: first..first, tail: (last, 0) };
        }
        let whole = bits.start & 7 == 0;
        Parts {
            head: (first, if whole { 0 } else { from_start }),
            body: first + usize::from(!whole)..last,
            tail: (last, to_end),
        }
    }
}

/// Number of set bits in a range of bits, which is cut off at the end of the string. O(bytes).
pub fn count_ones_in(bytes: &[u8], bits: Range<u64>) -> u64 {
    let end = bits.end.min(bytes.len() as u64 * 8);
    if bits.start >= end {
        return 0;
    }
    let Parts { head, body, tail } = Parts::of(&(bits.start..end));
    let edge =
        |(at, mask): (usize, u8)| u64::from(bytes.get(at).map_or(0, |byte| (byte & mask).count_ones()));
    edge(head) + count_ones(&bytes[body]) + edge(tail)
}

/// The first bit of this value in a range of bits, which is cut off at the end of the string. O(bytes).
pub fn find_bit(bytes: &[u8], bits: Range<u64>, on: bool) -> Option<u64> {
    let end = bits.end.min(bytes.len() as u64 * 8);
    if bits.start >= end {
        return None;
    }
    let Parts { head, body, tail } = Parts::of(&(bits.start..end));
    // The bits looked for, as ones.
    let wanted = |at: usize| if on { bytes[at] } else { !bytes[at] };
    let edge = |(at, mask): (usize, u8)| {
        let byte = if mask == 0 { 0 } else { wanted(at) & mask };
        (byte != 0).then(|| at as u64 * 8 + u64::from(byte.leading_zeros()))
    };
    let in_body = || {
        let at = body.start + wide::first_other(&bytes[body.clone()], if on { 0 } else { 0xFF })?;
        Some(at as u64 * 8 + u64::from(wanted(at).leading_zeros()))
    };
    edge(head).or_else(in_body).or_else(|| edge(tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rng: &mut fastrand::Rng) -> Vec<u8> {
        let filler = [0, 0xFF, 0x10][rng.usize(..3)];
        let mut bytes = vec![filler; rng.usize(..200)];
        for _ in 0..rng.usize(..4) {
            if let Some(byte) = rng.usize(..=bytes.len()).checked_sub(1) {
                bytes[byte] = rng.u8(..);
            }
        }
        bytes
    }

    #[test]
    fn ranges_of_bits_against_single_bits() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..3000 {
            let bytes = sample(&mut rng);
            let len = bytes.len() as u64 * 8;
            let range = rng.u64(..=len + 10)..rng.u64(..=len + 10);
            let inside = || range.clone().filter(|&at| at < len);
            let ones = inside().filter(|&at| bit(&bytes, at)).count() as u64;
            assert_eq!(count_ones_in(&bytes, range.clone()), ones, "{bytes:?} {range:?}");
            for on in [false, true] {
                let first = inside().find(|&at| bit(&bytes, at) == on);
                assert_eq!(find_bit(&bytes, range.clone(), on), first, "{bytes:?} {range:?} {on}");
            }
        }
    }

    #[test]
    fn single_bits() {
        let mut bytes = [0; 2];
        assert!(
            !set_bit(&mut bytes, 0, true) && !set_bit(&mut bytes, 9, true) && set_bit(&mut bytes, 0, true)
        );
        assert_eq!(bytes, [0x80, 0x40]);
        assert!(set_bit(&mut bytes, 9, false) && !bit(&bytes, 9) && bit(&bytes, 0));
        assert!(!bit(&bytes, 16) && !bit(&bytes, u64::MAX));
    }
}
