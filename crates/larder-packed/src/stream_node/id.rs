//! The id of an entry.

use std::cmp::Ordering;

/// The id of an entry of a stream: milliseconds, and a number that tells entries of the same millisecond apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StreamId {
    /// Milliseconds since 1970, by custom.
    pub ms: u64,
    /// Counts entries of one millisecond.
    pub seq: u64,
}

/// Ids ascend as the pair of their numbers. Trees compare them at every step: one number of 128 bits takes fewer instructions.
impl Ord for StreamId {
    #[inline]
    fn cmp(&self, other: &StreamId) -> Ordering {
        let number = |id: &StreamId| u128::from(id.ms) << 64 | u128::from(id.seq);
        number(self).cmp(&number(other))
    }
}

impl PartialOrd for StreamId {
    #[inline]
    fn partial_cmp(&self, other: &StreamId) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl StreamId {
    /// The lowest id, which no entry can have.
    pub const ZERO: StreamId = StreamId { ms: 0, seq: 0 };
    /// The highest id.
    pub const MAX: StreamId = StreamId { ms: u64::MAX, seq: u64::MAX };

    /// The id of these two numbers.
    pub fn new(ms: u64, seq: u64) -> StreamId {
        StreamId { ms, seq }
    }

    /// The next higher id; None after the highest.
    pub fn next(self) -> Option<StreamId> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(StreamId { ms: self.ms, seq }),
            None => self.ms.checked_add(1).map(|ms| StreamId { ms, seq: 0 }),
        }
    }

    /// The next lower id; None before the lowest.
    pub fn previous(self) -> Option<StreamId> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(StreamId { ms: self.ms, seq }),
            None => self.ms.checked_sub(1).map(|ms| StreamId { ms, seq: u64::MAX }),
        }
    }

    /// Sixteen bytes, big endian, so that their order is that of the ids.
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.ms) << 64 | u128::from(self.seq)).to_be_bytes()
    }

    /// The id of sixteen bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> StreamId {
        let both = u128::from_be_bytes(bytes);
        StreamId { ms: (both >> 64) as u64, seq: both as u64 }
    }
}

impl std::fmt::Display for StreamId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::StreamId;

    #[test]
    fn neighbours() {
        let id = StreamId::new(5, u64::MAX);
        assert_eq!(id.next(), Some(StreamId::new(6, 0)));
        assert_eq!(StreamId::new(6, 0).previous(), Some(id));
        assert_eq!((StreamId::MAX.next(), StreamId::ZERO.previous()), (None, None));
        assert_eq!(StreamId::from_bytes(id.to_bytes()), id);
        assert!(id.to_bytes() < StreamId::new(6, 0).to_bytes());
    }
}
