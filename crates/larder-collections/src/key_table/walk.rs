//! Walks: SCAN, all entries, and a random one.

use super::hash::{KeyHash, position};
use super::{Entry, KeyTable};
use crate::segment_scan::{self, Paged, Segment};
use larder_packed::segment::{IntoRaw, Page, Records};

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Visits about `count` entries from a cursor on and returns the next cursor; 0 starts, and 0 means done.
    ///
    /// A cursor has [`CURSOR_BITS`](crate::key_table::CURSOR_BITS), and every number is a valid one. Each entry that is there from the
    /// first call to the last is visited exactly once, whatever is put and removed meanwhile.
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(Entry<'_, V>)) -> u64 {
        self.scan_slots(cursor, count, |_, entry| visit(entry))
    }

    /// The same with the bytes of each entry, as [`share_bytes`](Self::share_bytes) counts them: O(1) for each.
    pub fn scan_with_shares(
        &self,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(Entry<'_, V>, usize),
    ) -> u64 {
        let mut last = None;
        self.scan_slots(cursor, count, |slot, entry| {
            let share = match last {
                Some((of, share)) if of == slot => share,
                _ => self.share_at(slot),
            };
            last = Some((slot, share));
            visit(entry, share.of(entry));
        })
    }

    /// The walk of both, with the slot of the directory that each entry is in.
    fn scan_slots(&self, cursor: u64, count: usize, mut visit: impl FnMut(usize, Entry<'_, V>)) -> u64 {
        let segment_at = |at: u32| {
            let records = self.directory.get(at)?;
            let slot = self.directory.slot(at);
            Some(Segment { of: (slot, records), range: self.directory.positions(slot) })
        };
        let position_of = |&(_, records): &(usize, &Records<V>), index: usize| {
            position(H::hash(tagged(records, index).key()))
        };
        segment_scan::scan_by_tags(cursor, count, segment_at, position_of, |&(slot, records), index| {
            visit(slot, tagged(records, index));
        })
    }

    /// All entries, in no order but that of segments.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_, V>> {
        self.directory.iter().flat_map(|(_, segment)| segment.records()).map(|(_, record)| record)
    }

    /// An entry, each with the same chance; None when there is none.
    ///
    /// A random slot of the directory names a segment in proportion to its share of the positions; a number below
    /// `2^sample_bits` times that share hits one of its slots with the inverse chance, or is thrown again.
    pub fn random(&self, rng: &mut fastrand::Rng) -> Option<Entry<'_, V>> {
        if self.is_empty() {
            return None;
        }
        loop {
            let slot = rng.usize(..self.directory.slots());
            let records = self.directory.segment(slot);
            let share = self.directory.run(slot).len();
            let index = rng.usize(..share << self.sample_bits);
            if let Some(record) = records.record(index) {
                return Some(record);
            }
        }
    }
}

impl<V: IntoRaw> Paged for (usize, &Records<V>) {
    fn page(&self) -> &Page {
        self.1.page()
    }
}

/// The entry of a tag.
fn tagged<V: IntoRaw>(records: &Records<V>, index: usize) -> Entry<'_, V> {
    records.record(index).expect("a tag belongs to an entry")
}
