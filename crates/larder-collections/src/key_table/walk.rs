//! Walks: SCAN, all entries, and a random one.

use super::hash::{KeyHash, position};
use super::{Entry, KeyTable};
use crate::segment_scan;
use larder_packed::segment::IntoRaw;

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Visits about `count` entries from a cursor on and returns the next cursor; 0 starts, and 0 means done.
    ///
    /// A cursor is a position: below 2^32, and every number is a valid one. Each entry that is there from the
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
        segment_scan::scan(cursor, count, |from, count| {
            let Some(records) = self.directory.get(from) else { return (0, None) };
            let slot = self.directory.slot(from);
            let range = self.directory.positions(slot);
            let most = records.page().slots();
            let records = records.records().map(|(_, record)| record);
            let position = |record: &Entry<'_, V>| position(H::hash(record.key()));
            let whole = range.start == u64::from(from);
            let (visited, next) =
                segment_scan::visit_from((records, most), (from, whole), count, position, |entry| {
                    visit(slot, entry);
                });
            (visited, next.or(u32::try_from(range.end).ok()))
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
