//! How wide the integers of a block are.

/// Bytes that hold any number up to `max`: 1, 2, 4 or 8.
#[inline]
pub fn width_of(max: u64) -> u8 {
    match max {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

/// The largest number of that many bytes.
pub(super) fn uint_max(width: u8) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(width))
}
