//! What a table remembers while a snapshot of it is taken, so that the snapshot shows it as it was at the start.
//!
//! The one that takes the snapshot walks the table by position, a segment at a time. The first change of a
//! key that the walk has not reached puts the old value aside, or notes that there was none; the walk leaves
//! such keys out and gets them at the end. Records are ordered by position, so "reached" is one comparison,
//! and splits and merges do not disturb it.
//!
//! Cost: nothing but a test of a null pointer in every change while no snapshot is taken. Meanwhile, for each key changed
//! before the walk comes by: an entry of a table like this one, and what the change copies of its blocks.
//!
//! Invariant K5: at any time, records at positions from `reached` on whose keys are not held, together with the held
//! values, are what the walk has not visited of the table as it was at the start.

use super::hash::{KeyHash, position};
use super::parts::Capture;
use super::{Entry, ExpireChange, INLINE_KIND_MAX, InlineBytes, KeyTable, NewValue, OwnedValue, ValueRef};
use larder_packed::segment::IntoRaw;

/// A key as it was when the snapshot began.
pub struct Captured<V> {
    /// Its value.
    pub value: OwnedValue<V>,
    /// When it expires, in ms.
    pub expire_at_ms: Option<u64>,
    /// Its access word.
    pub access: u32,
}

impl<V: IntoRaw + Clone> Captured<V> {
    /// A copy of an entry; the value is a clone.
    pub fn of(entry: &Entry<'_, V>) -> Self {
        let value = match entry.kept() {
            ValueRef::Inline { kind, bytes } => {
                OwnedValue::Inline { kind, bytes: InlineBytes::copy_of(bytes) }
            }
            ValueRef::Out(value) => OwnedValue::Out((*value).clone()),
        };
        Captured { value, expire_at_ms: entry.expire_at_ms(), access: entry.access() }
    }
}

/// The kind of a held key that did not exist. Values of the table itself must be of others.
const ABSENT: u8 = INLINE_KIND_MAX;

/// The keys put aside.
pub struct CapturedKeys<V: IntoRaw, H: KeyHash>(KeyTable<V, H>);

impl<V: IntoRaw + Clone, H: KeyHash> CapturedKeys<V, H> {
    /// The keys that existed, as they were, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_, V>> {
        self.0.iter().filter(|entry| !matches!(entry.kept(), ValueRef::Inline { kind: ABSENT, .. }))
    }
}

impl<V: IntoRaw + Clone, H: KeyHash> Capture<V, H> {
    fn holds(&self, key: &[u8]) -> bool {
        !self.held.is_empty() && self.held.get(H::hash(key), key).is_some()
    }

    fn hold(&mut self, hash: u64, key: &[u8], entry: &Entry<'_, V>) {
        let expire = entry.expire_at_ms().map_or(ExpireChange::Clear, ExpireChange::At);
        let value = match entry.kept() {
            ValueRef::Inline { kind, bytes } => NewValue::Inline { kind, bytes },
            ValueRef::Out(value) => NewValue::Out((*value).clone()),
        };
        self.held.put(hash, key, value, expire, entry.access());
    }
}

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Begins a snapshot of the table as it is now. `label` comes back from [`capture_label`](Self::capture_label),
    /// wherever the table is moved. O(1). A snapshot that was going on is forgotten.
    pub fn begin_capture(&mut self, label: usize) {
        self.capture = Some(Box::new(Capture { label, reached: 0, held: KeyTable::new() }));
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
            if !reached && !capture.holds(record.key()) {
                visit(record);
            }
        }
        capture.reached = range.end;
        range.end <= u64::from(u32::MAX)
    }

    /// Whether a snapshot is going on that will want a key of this hash as it was: removing it frees nothing yet.
    pub fn would_keep(&self, hash: u64) -> bool {
        self.capture.as_ref().is_some_and(|capture| u64::from(position(hash)) >= capture.reached)
    }

    /// Ends the snapshot and returns the keys that were put aside.
    pub fn end_capture(&mut self) -> CapturedKeys<V, H> {
        CapturedKeys(self.capture.take().map_or_else(KeyTable::new, |capture| capture.held))
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
        if u64::from(position(hash)) >= capture.reached && capture.held.get(hash, key).is_none() {
            match self.get(hash, key) {
                Some(entry) => capture.hold(hash, key, &entry),
                None => {
                    let absent = NewValue::Inline { kind: ABSENT, bytes: b"" };
                    capture.held.put(hash, key, absent, ExpireChange::Clear, 0);
                }
            }
        }
        self.capture = Some(capture);
    }
}
