//! From a key's hash to its place: the position orders the table, the tag finds the slot.

/// The hash of keys, as the whole keyspace uses it: 64 good bits, seeded, the same for a key as long as a table lives.
///
/// A table asks it again for the keys of a segment that it splits, instead of storing hashes.
pub trait KeyHash {
    /// The hash of a key.
    fn hash(key: &[u8]) -> u64;

    /// Whether the position of a key is this one or a later one. Where a part of the hash tells, the rest need not be computed.
    fn is_from(key: &[u8], start: u32) -> bool {
        position(Self::hash(key)) >= start
    }

    /// How many of the top bits say which keys belong together, and need not be spread well: a table may be that much deeper.
    fn prefix_bits() -> u32 {
        0
    }
}

/// Where a hash belongs in a table.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub position: u32,
    pub tag: u8,
}

impl Place {
    #[inline]
    pub fn of(hash: u64) -> Self {
        Place { position: position(hash), tag: (hash as u8).max(1) }
    }
}

/// The position of a hash: the order of a table, of its scan cursors and of snapshots.
///
/// Taken from the top 32 bits, warped: u -> u(2 + u)/3 with u in 0..1 makes the start of the space twice as dense as its
/// end. Without that all segments of a table are equally full at any moment, grow through the same size classes
/// of the allocator together, and leave each class half empty after them.
#[inline]
pub fn position(hash: u64) -> u32 {
    const THIRD: u64 = 0x5555_5555;
    let u = hash >> 32;
    let third = ((((1 << 33) + u) >> 2) * THIRD) >> 30;
    ((u * third) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn positions_rise_with_the_hash_and_thin_out() {
        let mut last = 0;
        let mut quarter = [0; 4];
        for step in 0..=0xFFFF_u64 {
            let at = position(step << 48 | 0xFFFF << 32);
            assert!(at >= last, "step {step}");
            last = at;
            quarter[at as usize >> 30] += 1;
        }
        assert!(last > u32::MAX - 0x10);
        let [first, .., fourth] = quarter;
        assert!(first * 100 > fourth * 160 && first < 2 * fourth, "{quarter:?}");
    }
}
