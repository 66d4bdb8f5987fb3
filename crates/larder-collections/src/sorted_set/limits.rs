//! Sizes at which a sorted set changes.

/// A set of one leaf takes at most this many bytes.
pub(super) const PACKED_BYTES_MAX: usize = 4096;

/// Longer members cannot be stored: two of them share a leaf for a moment, whose offsets have 32 bits.
pub const MEMBER_LEN_MAX: usize = 1 << 30;

/// Up to where OBJECT ENCODING calls a sorted set small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most members.
    pub entries: u64,
    /// Bytes of the longest member.
    pub member_len: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { entries: 128, member_len: 64 }
    }
}
