//! Where entries belong, and how large segments grow.

use crate::key_table::position;
use larder_packed::segment::{Layout, Row, Rows};

/// A segment of this many entries is split. Fewer make clones cheaper to write to, more leave less air.
pub const SEGMENT_SLOTS_MAX: usize = 128;
/// A segment of this many bytes is split.
pub const SEGMENT_BYTES_MAX: usize = 4096;
/// How much deeper than the average a segment may lie.
pub const DEPTH_SLACK: u32 = 4;

/// Where a hash belongs in a table.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub position: u32,
    pub tag: u8,
}

impl Place {
    #[inline]
    pub(super) fn of(hash: u64) -> Self {
        Place { position: position(hash), tag: (hash as u8).max(1) }
    }
}

/// What a lookup before a change has shown.
#[derive(Clone, Copy)]
pub(super) enum Sought {
    /// There was none.
    Unknown,
    /// The key is not there.
    Absent,
    /// It is in the slot of this number.
    In(usize),
}

impl Sought {
    /// The entry of the key in its segment.
    #[inline]
    pub(super) fn row<'r, L: Layout>(
        self,
        rows: &'r Rows<L>,
        place: Place,
        key: &[u8],
    ) -> Option<Row<'r, L>> {
        match self {
            Sought::Unknown => rows.find(place.tag, key),
            Sought::Absent => None,
            Sought::In(slot) => rows.row(slot),
        }
    }
}
