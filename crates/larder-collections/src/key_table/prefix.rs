//! Keys whose hashes begin with the same bits: they are neighbours in the table, so that they are counted and walked without the others.
//!
//! Cost: O(segments that hold them). The hashes of keys in the two segments at the ends, which hold others as well, are computed again.

use super::hash::{KeyHash, position};
use super::{Entry, KeyTable};
use crate::segment_scan;
use larder_packed::segment::{IntoRaw, Records};

/// All hashes that begin with certain bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashPrefix {
    first: u64,
    last: u64,
}

impl HashPrefix {
    /// The hashes whose top `bits` bits, 1 to 31, are `prefix`.
    pub fn new(prefix: u64, bits: u32) -> Self {
        assert!((1..32).contains(&bits) && prefix >> bits == 0, "the prefix has its bits");
        let first = prefix << (64 - bits);
        HashPrefix { first, last: first | u64::MAX >> bits }
    }

    /// Whether a hash begins so.
    pub fn has(self, hash: u64) -> bool {
        (self.first..=self.last).contains(&hash)
    }
}

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Number of keys whose hashes begin with a prefix.
    pub fn count_prefix(&self, prefix: HashPrefix) -> usize {
        let mut count = 0;
        self.each_segment_of(prefix, |records, is_whole| {
            count += match is_whole {
                true => records.page().live(),
                false => records.records().filter(|(_, record)| prefix.has(H::hash(record.key()))).count(),
            };
            true
        });
        count
    }

    /// Visits the entries whose hashes begin with a prefix, in no order, until `visit` says false.
    pub fn walk_prefix(&self, prefix: HashPrefix, mut visit: impl FnMut(Entry<'_, V>) -> bool) {
        self.each_segment_of(prefix, |records, is_whole| {
            let all = records.records().map(|(_, record)| record);
            all.filter(|record| is_whole || prefix.has(H::hash(record.key()))).all(&mut visit)
        });
    }

    /// Visits about `count` entries whose hashes begin with a prefix, from a cursor on, and returns the next cursor; 0 starts, and 0 means
    /// done. The cursors, and what they promise, are those of [`scan`](Self::scan).
    pub fn scan_prefix(
        &self,
        prefix: HashPrefix,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(Entry<'_, V>),
    ) -> u64 {
        let (first, last) = (position(prefix.first), position(prefix.last));
        let in_prefix = |at: &u32| *at <= last;
        segment_scan::scan(cursor.max(u64::from(first)), count, |from, count| {
            let Some(records) = self.directory.get(from).filter(|_| in_prefix(&from)) else {
                return (0, None);
            };
            let range = self.directory.positions(self.directory.slot(from));
            let most = records.page().slots();
            let records = records.records().map(|(_, record)| record);
            let records = records.filter(|record| prefix.has(H::hash(record.key())));
            let position = |record: &Entry<'_, V>| position(H::hash(record.key()));
            let whole = range.start == u64::from(from);
            let (visited, next) =
                segment_scan::visit_from((records, most), (from, whole), count, position, &mut visit);
            (visited, next.or(u32::try_from(range.end).ok()).filter(in_prefix))
        })
    }

    /// Visits the segments that may have keys of a prefix until `visit` says false, each with whether it has no others. Different hashes
    /// may have the same position, so that those at the first and the last one are looked at.
    fn each_segment_of(&self, prefix: HashPrefix, mut visit: impl FnMut(&Records<V>, bool) -> bool) {
        let (first, last) = (u64::from(position(prefix.first)), u64::from(position(prefix.last)));
        let mut at = first;
        while let Some(records) = u32::try_from(at).ok().and_then(|at| self.directory.get(at)) {
            let range = self.directory.positions(self.directory.slot(at as u32));
            if !visit(records, range.start > first && range.end <= last) || range.end > last {
                return;
            }
            at = range.end;
        }
    }
}
