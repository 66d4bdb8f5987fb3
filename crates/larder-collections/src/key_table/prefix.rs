//! Keys whose hashes begin with the same bits: they are neighbours in the table, so that they are counted and walked without the others.
//!
//! Cost: O(segments that hold them). The hashes of keys in the two segments at the ends, which hold others as well, are computed again.

use super::hash::{KeyHash, position};
use super::{Entry, KeyTable};
use crate::segment_scan;
use larder_packed::segment::{IntoRaw, Records};
use std::ops::Range;

/// All hashes that begin with certain bits, or with any of several neighbours.
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

    /// These hashes and those that begin with the next prefix, if it is the next.
    pub fn joined(self, next: HashPrefix) -> Option<HashPrefix> {
        (self.last.checked_add(1) == Some(next.first)).then_some(HashPrefix { last: next.last, ..self })
    }

    /// The positions where keys with such hashes are; at the first and the last there may be others.
    pub fn positions(self) -> Range<u64> {
        u64::from(position(self.first))..u64::from(position(self.last)) + 1
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

    /// One of these prefixes, which rise and do not overlap, that the hash of some key begins with; `None` if there is no such key. A segment
    /// is looked at once, however many of them have their place in it: O(segments that may hold such keys + prefixes).
    pub fn find_prefix_in_use(&self, prefixes: &[HashPrefix]) -> Option<usize> {
        debug_assert!(prefixes.is_sorted_by(|one, next| one.last < next.first), "they rise");
        // The segments before this position have been looked at.
        let mut seen = 0;
        for prefix in prefixes {
            let positions = prefix.positions();
            let mut at = positions.start.max(seen);
            while at < positions.end
                && let Some(records) = self.directory.get(at as u32)
            {
                let mut hashes = records.records().map(|(_, record)| H::hash(record.key()));
                let found = hashes.find_map(|hash| place_among(prefixes, hash));
                if found.is_some() {
                    return found;
                }
                seen = self.directory.positions(self.directory.slot(at as u32)).end;
                at = seen;
            }
        }
        None
    }

    /// Visits the entries whose hashes begin with a prefix, in no order, until `visit` says false.
    pub fn walk_prefix(&self, prefix: HashPrefix, mut visit: impl FnMut(Entry<'_, V>) -> bool) {
        self.each_segment_of(prefix, |records, is_whole| {
            let all = records.records().map(|(_, record)| record);
            all.filter(|record| is_whole || prefix.has(H::hash(record.key()))).all(&mut visit)
        });
    }

    /// Where a piece of the table that begins at a position ends: after the segments that have `count` keys or a few more, or with the table, at
    /// 2^32. O(segments of the piece).
    pub fn piece_end(&self, from: u64, count: usize) -> u64 {
        let (mut at, mut found) = (from, 0);
        while found < count.max(1) {
            let Some(records) = u32::try_from(at).ok().and_then(|at| self.directory.get(at)) else {
                return 1 << u32::BITS;
            };
            found += records.page().live();
            at = self.directory.positions(self.directory.slot(at as u32)).end;
        }
        at
    }

    /// Visits the entries at these positions whose hashes begin with a prefix, in no order. O(segments that hold them).
    pub fn walk_piece(&self, prefix: HashPrefix, piece: Range<u64>, mut visit: impl FnMut(Entry<'_, V>)) {
        let all = prefix.positions();
        let mut at = piece.start.max(all.start);
        while at < piece.end.min(all.end)
            && let Some(records) = self.directory.get(at as u32)
        {
            let range = self.directory.positions(self.directory.slot(at as u32));
            // At the first and the last position of the prefix there may be others.
            let is_whole = range.start > all.start
                && range.end < all.end
                && piece.start <= range.start
                && range.end <= piece.end;
            let is_meant = |record: &Entry<'_, V>| {
                let hash = H::hash(record.key());
                prefix.has(hash) && piece.contains(&u64::from(position(hash)))
            };
            let records = records.records().map(|(_, record)| record);
            records.filter(|record| is_whole || is_meant(record)).for_each(&mut visit);
            at = range.end;
        }
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

/// Which of these prefixes, which rise, a hash begins with.
fn place_among(prefixes: &[HashPrefix], hash: u64) -> Option<usize> {
    let at = prefixes.partition_point(|prefix| prefix.last < hash);
    prefixes.get(at).is_some_and(|prefix| prefix.has(hash)).then_some(at)
}
