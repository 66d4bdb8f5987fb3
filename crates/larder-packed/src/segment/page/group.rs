//! The parts of a group: the tags and the lengths of its entries, and where they begin.

use super::super::probe::LANES;

/// Bytes of one group: 16 tags, 16 lengths, a u16 anchor.
pub(in super::super) const GROUP_BYTES: usize = 2 * LANES + 2;

#[inline]
pub(super) fn tags(group: &[u8; GROUP_BYTES]) -> &[u8; LANES] {
    group.first_chunk().expect("a group starts with its tags")
}

#[inline]
pub(super) fn lengths(group: &[u8; GROUP_BYTES]) -> &[u8; LANES] {
    group[LANES..].first_chunk().expect("a group goes on with its lengths")
}

#[inline]
pub(super) fn anchor_of(group: &[u8; GROUP_BYTES]) -> u16 {
    u16::from_le_bytes([group[2 * LANES], group[2 * LANES + 1]])
}
