//! What a table remembers while a snapshot of it is taken, so that the snapshot shows it as it was at the start.
//!
//! Someone walks the table by position, a segment at a time, and takes what it sees. Whoever is the first to change a key
//! that the walk has not reached puts the old value aside, or notes that there was none; the walk leaves such keys out
//! and gets them at the end. Records are ordered by position, so "reached" is one comparison, and splits and merges
//! do not disturb it.
//!
//! Cost: nothing but a test of a null pointer in every change while no snapshot is taken. Meanwhile, for each key changed
//! before the walk comes by: an entry of about 100 bytes, its name, and what the change copies of its blocks.
//!
//! Invariant K5: at any time, records at positions from `reached` on whose keys are not held, together with the held
//! values, are what the walk has not visited of the table as it was at the start.

use super::hash::{KeyHash, position};
use super::{Entry, InlineBytes, KeyTable, OwnedValue, ValueRef};
use larder_packed::segment::Thin;
use std::collections::HashMap;

/// A key as it was when the snapshot began.
pub struct Captured<V> {
    /// Its value.
    pub value: OwnedValue<V>,
    /// When it expires, in ms.
    pub expire_at_ms: Option<u64>,
    /// Its access word.
    pub access: u32,
}

impl<V: Thin + Clone> Captured<V> {
    /// A copy of an entry; the value is a clone.
    pub fn of(entry: &Entry<'_, V>) -> Self {
        let value = match entry.value() {
            ValueRef::Inline { kind, bytes } => {
                OwnedValue::Inline { kind, bytes: InlineBytes::copy_of(bytes) }
            }
            ValueRef::Out(value) => OwnedValue::Out((*value).clone()),
        };
        Captured { value, expire_at_ms: entry.expire_at_ms(), access: entry.access() }
    }
}

/// The keys put aside, in no order; those that did not exist are left out.
pub type CapturedKeys<V> = Vec<(Box<[u8]>, Captured<V>)>;

pub(super) struct Capture<V> {
    label: usize,
    /// Everything at positions before this has been visited; 2^32 at the end.
    reached: u64,
    held: HashMap<Box<[u8]>, Option<Captured<V>>, foldhash::fast::RandomState>,
}

impl<V: Thin + Clone, H: KeyHash> KeyTable<V, H> {
    /// Begins a snapshot of the table as it is now. `label` comes back from [`capture_label`](Self::capture_label),
    /// wherever the table is moved. O(1). A snapshot that was going on is forgotten.
    pub fn begin_capture(&mut self, label: usize) {
        self.capture = Some(Box::new(Capture { label, reached: 0, held: HashMap::default() }));
    }

    /// The label of the snapshot that is going on.
    pub fn capture_label(&self) -> Option<usize> {
        self.capture.as_ref().map(|capture| capture.label)
    }

    /// Visits those entries of the next segment that are as they were; false when no segment is left. Does nothing without a
    /// snapshot. O(records of a segment).
    pub fn capture_next(&mut self, mut visit: impl FnMut(Entry<'_, V>)) -> bool {
        let Some(capture) = &mut self.capture else { return false };
        let Ok(from) = u32::try_from(capture.reached) else { return false };
        let Some(records) = self.directory.get(from) else {
            capture.reached = 1 << 32;
            return false;
        };
        let range = self.directory.positions(self.directory.slot(from));
        for (_, record) in records.records() {
            // A merge may have put the walk into the middle of a segment.
            let reached = range.start != capture.reached && position(H::hash(record.key())) < from;
            if !reached && !capture.held.contains_key(record.key()) {
                visit(record);
            }
        }
        capture.reached = range.end;
        range.end <= u64::from(u32::MAX)
    }

    /// Ends the snapshot and returns the keys that were put aside.
    pub fn end_capture(&mut self) -> CapturedKeys<V> {
        let Some(capture) = self.capture.take() else { return Vec::new() };
        capture.held.into_iter().filter_map(|(key, captured)| Some((key, captured?))).collect()
    }

    /// To be called before a key is changed, added or removed.
    #[inline]
    pub(super) fn preserve(&mut self, hash: u64, key: &[u8]) {
        if self.capture.is_some() {
            self.put_aside(hash, key);
        }
    }

    #[cold]
    fn put_aside(&mut self, hash: u64, key: &[u8]) {
        let Some(mut capture) = self.capture.take() else { return };
        if u64::from(position(hash)) >= capture.reached && !capture.held.contains_key(key) {
            let captured = self.get(hash, key).map(|entry| Captured::of(&entry));
            capture.held.insert(key.into(), captured);
        }
        self.capture = Some(capture);
    }
}
