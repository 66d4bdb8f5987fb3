//! What a table holds, for MEMORY USAGE and DEBUG HTSTATS, and the check of its invariants.

use super::hash::{KeyHash, Place};
use super::{Entry, KeyTable, SEGMENT_SLOTS_MAX};
use larder_packed::segment::{IntoRaw, LANES, Records, record_bytes_of};
use std::collections::HashSet;
use std::fmt;

/// Tag, length, and a share of the anchor and the headers.
const SLOT_BYTES: usize = 3;

/// Bytes that segments take for each 100 bytes of records, on average: directory and free room are the rest.
const SEGMENT_PERCENT: usize = 108;

/// About the bytes that a record takes in a large table, which keeps this many bytes of value in it.
pub fn record_bytes_about(key: &[u8], expires: bool, value_bytes: usize) -> usize {
    let (record, long_key) = record_bytes_of(key, expires, value_bytes);
    (record + SLOT_BYTES) * SEGMENT_PERCENT / 100 + long_key
}

/// Shape of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStats {
    /// Number of keys.
    pub keys: usize,
    /// Number of keys with an expiry.
    pub expires: usize,
    /// Number of segments.
    pub segments: usize,
    /// Slots of the directory.
    pub directory_slots: usize,
    /// Bytes of segments that hold something.
    pub content_bytes: usize,
    /// Bytes of all segments.
    pub segment_bytes: usize,
    /// Bytes of everything: segments, directory, expiries, long keys.
    pub memory_bytes: usize,
    /// Number of segments by depth.
    pub depths: Vec<usize>,
    /// Number of segments by number of records, in steps of 16; the last step takes all overflowing ones.
    pub fills: Vec<usize>,
}

/// The bytes of a segment with all that belongs to it, and those of its records: each record has its part of the former.
#[derive(Clone, Copy)]
pub(super) struct Share {
    all_bytes: usize,
    used_bytes: usize,
}

impl Share {
    /// The part of an entry of the segment. The free room of a segment that is almost empty is no key's: an entry has at most half
    /// as much of it as it takes itself.
    pub(super) fn of<V: IntoRaw>(&self, entry: Entry<'_, V>) -> usize {
        let own = entry.record_bytes() + SLOT_BYTES;
        (self.all_bytes * own / self.used_bytes).min(own + own / 2) + entry.long_key_bytes()
    }
}

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Bytes that the table holds beyond its own 72: segments, directory, expiries and long keys, but not the
    /// values of their own.
    pub fn memory_bytes(&self) -> usize {
        let expiry =
            self.expiry.as_ref().map_or(0, |e| size_of_val(&**e) + e.minima.capacity() * size_of::<u64>());
        self.directory.bytes() + expiry
    }

    /// Bytes that the entry of a key takes in the table, with its share of free room and directory: those of all entries add up
    /// to [`memory_bytes`](Self::memory_bytes), but for the expiries and the room of segments that are less than two thirds full.
    /// Without what its value holds elsewhere. O(records of a segment).
    pub fn share_bytes(&self, hash: u64, key: &[u8]) -> Option<usize> {
        let place = Place::of(hash);
        let entry = self.directory.get(place.position)?.find(place.tag, key)?;
        Some(self.share_at(self.directory.slot(place.position)).of(entry))
    }

    /// What the entries of the segment at a slot of the directory share out.
    pub(super) fn share_at(&self, slot: usize) -> Share {
        let page = self.directory.segment(slot).page();
        let run = self.directory.run(slot).len();
        let expiry = self.expiry.as_ref().map_or(0, |_| run * size_of::<u64>());
        Share {
            all_bytes: page.capacity_bytes() + run * size_of::<usize>() + expiry,
            used_bytes: (page.used_bytes() + page.live() * SLOT_BYTES).max(1),
        }
    }

    /// Bytes that one entry takes in the table, without what its value holds elsewhere.
    pub fn entry_bytes(entry: Entry<'_, V>) -> usize {
        entry.record_bytes() + entry.long_key_bytes() + SLOT_BYTES
    }

    /// Counts what the table is made of. Walks all segments.
    pub fn stats(&self) -> TableStats {
        let mut stats = TableStats {
            keys: self.len,
            expires: self.expires_len(),
            segments: self.directory.segments(),
            directory_slots: self.directory.slots(),
            memory_bytes: self.memory_bytes(),
            ..TableStats::default()
        };
        for (_, segment) in self.directory.iter() {
            stats.add(segment);
        }
        stats
    }

    /// Panics unless the invariants of the [module](super) hold.
    pub fn check_invariants(&self) {
        self.directory.check_invariants();
        assert_eq!(self.directory.is_empty(), self.is_empty(), "K2");
        let mut keys = HashSet::new();
        for (slot, segment) in self.directory.iter() {
            self.check_segment(slot, segment);
            for (index, record) in segment.records() {
                assert!(keys.insert(record.key()), "K1: a key is twice");
                let place = Place::of(H::hash(record.key()));
                assert!(self.directory.positions(slot).contains(&u64::from(place.position)), "K1");
                assert_eq!(segment.page().tag(index), place.tag, "K1");
            }
        }
        assert_eq!(keys.len(), self.len, "K2");
        let segments: usize = self.directory.iter().map(|(_, s)| s.page().capacity_bytes()).sum();
        let long_keys: usize = self.iter().map(Entry::long_key_bytes).sum();
        let slots = self.directory.slots() * size_of::<usize>();
        assert_eq!(self.directory.bytes(), segments + long_keys + slots, "K2");
        self.check_expiry();
    }

    fn check_segment(&self, slot: usize, segment: &Records<V>) {
        let page = segment.page();
        page.check_invariants();
        assert!(page.slots() <= 1 << self.sample_bits, "K4: slot {slot}");
    }
}

impl TableStats {
    /// Adds the counts of another table.
    pub fn merge(&mut self, other: &TableStats) {
        self.keys += other.keys;
        self.expires += other.expires;
        self.segments += other.segments;
        self.directory_slots += other.directory_slots;
        self.content_bytes += other.content_bytes;
        self.segment_bytes += other.segment_bytes;
        self.memory_bytes += other.memory_bytes;
        for (mine, theirs) in [(&mut self.depths, &other.depths), (&mut self.fills, &other.fills)] {
            mine.resize(mine.len().max(theirs.len()), 0);
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
    }

    fn add<V: IntoRaw>(&mut self, segment: &Records<V>) {
        let page = segment.page();
        self.content_bytes += page.content_bytes();
        self.segment_bytes += page.capacity_bytes();
        count(&mut self.depths, page.depth() as usize);
        count(&mut self.fills, (page.live() / LANES).min(SEGMENT_SLOTS_MAX / LANES + 1));
    }
}

impl fmt::Display for TableStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, " keys: {}, with an expiry: {}", self.keys, self.expires)?;
        writeln!(f, " segments: {}, directory slots: {}", self.segments, self.directory_slots)?;
        let fill = self.content_bytes * 100 / self.segment_bytes.max(1);
        writeln!(f, " segment bytes: {}, filled: {fill}%", self.segment_bytes)?;
        writeln!(f, " memory bytes: {}", self.memory_bytes)?;
        writeln!(f, " segments by depth:")?;
        for (depth, n) in self.depths.iter().enumerate().filter(|(_, n)| **n > 0) {
            writeln!(f, "   {depth}: {n}")?;
        }
        writeln!(f, " segments by number of keys:")?;
        for (step, n) in self.fills.iter().enumerate().filter(|(_, n)| **n > 0) {
            writeln!(f, "   {}+: {n}", step * LANES)?;
        }
        Ok(())
    }
}

fn count(histogram: &mut Vec<usize>, at: usize) {
    if histogram.len() <= at {
        histogram.resize(at + 1, 0);
    }
    histogram[at] += 1;
}
