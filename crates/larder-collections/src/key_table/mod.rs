//! The packed table of a keyspace: one for each shard and database.
//!
//! Keys, expiries and short values live in the segments of [`larder_packed::segment`], ordered by a warped position of
//! their hash; longer values and other types are a kind and a pointer of the caller's type `V`. An allocation per
//! key would cost 48 bytes for a key of 16 and a value of 20, and a slot; here they take 41 and a share of 3.
//!
//! Cost: 8.1 bytes per key beside key and value (14.1 with an expiry), and the slack of the segments: in all about 47 bytes
//! of heap for 16 + 20 (resident 48.4 to 48.8 from half a million keys on, at every size; 52 to 56 after twice as many
//! removals and inserts as keys). An empty table is 80 bytes and allocates nothing. Get, put, remove O(1), moving at
//! most one segment of 4 KB; a split doubles the directory now and then, a copy of 8 bytes per slot.
//!
//! ```text
//!  KeyTable --> directory  [ s0 | s0 | s1 | s2 | .. ]      2^bits slots, by the top bits of the position
//!         |                   |         |    |
//!         |                 segment  segment segment       up to 128 records or 4 KB
//!         +---> expiry     [ m0 | -  | m1 | m2 | .. ]      earliest expiry per segment, parallel to the directory
//!                                                          (only once a key has one; at the first slot of a run)
//! ```
//!
//! Policies:
//! - Split at [`SEGMENT_SLOTS_MAX`] records or [`SEGMENT_BYTES_MAX`], but not deeper than log2(segments) +
//!   [`DEPTH_SLACK`]: equal hashes make one segment overflow, and not the directory explode. A hash whose top bits say which keys belong
//!   together ([`KeyHash::prefix_bits`]) makes neighbours of those, and that many more levels are allowed.
//! - Removing closes the gap, shrinks the segment, and merges it with its buddy when both fit into one with room to spare.
//! - A cursor of SCAN is a position: everything before it has been visited. Whatever splits or merges meanwhile, a
//!   record that stays is visited exactly once.
//!
//! Invariants:
//! - K1: each record's position lies in its segment's positions, and its slot has the tag of its hash. No key is twice.
//! - K2: `len` counts the records, `expires_len` those with an expiry, `expires_sum_ms` is the sum of these;
//!   a table without records holds no memory but a snapshot's.
//! - K3: the minimum of a segment is at most its earliest expiry, `soonest` at most the least minimum.
//! - K4: no segment has more than `2^sample_bits` slots.
//! - K5: see `capture`.
//!
//! Tested by `tests/` here: a model, hostile hashes, scans and snapshots under change, chi-square, expiry, drops.

mod capture;
mod cold;
mod embed;
mod entry;
mod expiry;
mod hash;
mod hot;
mod hot_set;
mod limit;
mod parts;
mod prefix;
mod relocation;
mod sample;
mod shape;
mod stats;
mod walk;

#[cfg(test)]
#[allow(unsafe_code, reason = "the values of the tests are pointers")]
mod tests;

pub use crate::segment_scan::CURSOR_BITS;
pub use capture::{Captured, CapturedKeys};
pub use cold::Found;
pub use embed::{Unchanged, WriteBack};
pub use entry::EntryMut;
pub use hash::{KeyHash, position};
pub use larder_packed::segment::{
    Borrowed, EXPIRY_MS_MAX, Gone, INLINE_KIND_MAX, INLINE_MAX, InlineBytes, IntoRaw, KEY_INLINE_MAX,
    KINDS_MAX, NewValue, Old, OwnedValue, Record as Entry, Removed, SlotSet, ValueMut, ValueRef,
};
pub use limit::limit_embedded;
pub use parts::{DEPTH_SLACK, ExpireChange, KeyTable, SEGMENT_BYTES_MAX, SEGMENT_SLOTS_MAX};
pub use prefix::HashPrefix;
pub use sample::{Sample, SampleFrom};
pub use stats::{TableStats, record_bytes_about};

use hash::Place;
use larder_packed::segment::{Directory, RecordMut, Records, long_key_heap_bytes};
use std::marker::PhantomData;

/// What has become of an attempt to remove a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Attempt<V> {
    /// There is no such key.
    Missing,
    /// The key stays.
    Refused,
    /// The key is gone; what its value was.
    Removed(Old<V>),
}

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// An empty table; allocates nothing.
    pub fn new() -> Self {
        KeyTable {
            directory: Directory::new(),
            len: 0,
            expiry: None,
            capture: None,
            hot: None,
            sample_bits: 0,
            hash: PhantomData,
        }
    }

    /// Number of keys.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no key.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Asks the processor to load what a lookup of this hash reads first. Several keys that are known ahead (MGET, a
    /// pipeline) are found up to three times faster after one round of this for all, and one of
    /// [`prefetch_entry`](Self::prefetch_entry). False: there is no key of this hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) -> bool {
        self.directory.get(position(hash)).map(Records::prefetch).is_some()
    }

    /// Asks the processor to load the entry of this hash, when [`prefetch`](Self::prefetch) has had time to work. False: there is no key
    /// of this hash.
    #[inline]
    pub fn prefetch_entry(&self, hash: u64) -> bool {
        self.prefetch_entry_and(hash, |_| ())
    }

    /// As [`prefetch_entry`](Self::prefetch_entry), for a key that is to be removed: what that touches too.
    #[inline]
    pub fn prefetch_removal(&self, hash: u64) -> bool {
        self.prefetch_entry_and(hash, Records::prefetch_last)
    }

    /// As [`prefetch_entry`](Self::prefetch_entry), for a key that is most likely new and to be put.
    #[inline]
    pub fn prefetch_put(&self, hash: u64) -> bool {
        self.prefetch_entry_and(hash, Records::prefetch_room)
    }

    #[inline]
    fn prefetch_entry_and(&self, hash: u64, more: impl FnOnce(&Records<V>)) -> bool {
        let place = Place::of(hash);
        self.directory.get(place.position).is_some_and(|records| {
            more(records);
            records.prefetch_record(place.tag)
        })
    }

    /// The entry of a key.
    #[inline]
    pub fn get(&self, hash: u64, key: &[u8]) -> Option<Entry<'_, V>> {
        let place = Place::of(hash);
        self.directory.get(place.position)?.find(place.tag, key)
    }

    /// The entry of a key, whose access word becomes `access` (24 bits).
    #[inline]
    pub fn get_touch(&mut self, hash: u64, key: &[u8], access: u32) -> Option<Entry<'_, V>> {
        let mut found = self.find_mut(hash, key)?;
        found.set_access(access);
        Some(found.into_record())
    }

    /// The entry of a key, whose access word becomes what `access` makes of it (24 bits).
    #[inline]
    pub fn get_touch_with(
        &mut self,
        hash: u64,
        key: &[u8],
        access: impl FnOnce(u32) -> u32,
    ) -> Option<Entry<'_, V>> {
        let mut found = self.find_mut(hash, key)?;
        let access = access(found.record().access());
        found.set_access(access);
        Some(found.into_record())
    }

    /// Sets the access word of a key (24 bits); false when there is no such key.
    pub fn set_access(&mut self, hash: u64, key: &[u8], access: u32) -> bool {
        self.get_touch(hash, key, access).is_some()
    }

    /// The entry of a key, to look at and then to change its value, in one search.
    #[inline]
    pub fn entry_mut(&mut self, hash: u64, key: &[u8]) -> Option<EntryMut<'_, V>> {
        self.preserve(hash, key);
        self.find_used(hash, key).map(EntryMut)
    }

    /// The value of a key when it is not in its record, to be changed.
    pub fn get_mut(&mut self, hash: u64, key: &[u8]) -> Option<ValueMut<'_, V>> {
        self.preserve(hash, key);
        self.find_used(hash, key)?.into_out()
    }

    /// The same for a change of form that means nothing: a snapshot may show the value before it or after.
    pub fn get_mut_same(&mut self, hash: u64, key: &[u8]) -> Option<ValueMut<'_, V>> {
        self.find_mut(hash, key)?.into_out()
    }

    /// The bytes of an inline value, to be changed in place.
    pub fn inline_mut(&mut self, hash: u64, key: &[u8]) -> Option<&mut [u8]> {
        self.preserve(hash, key);
        self.find_mut(hash, key)?.into_inline()
    }

    /// Inserts a key, or replaces its value; returns what the value was if the key was there.
    pub fn put(
        &mut self,
        hash: u64,
        key: &[u8],
        value: NewValue<'_, V>,
        expire: ExpireChange,
        access: u32,
    ) -> Option<Old<V>> {
        let NewValue::Out(mut value) = value else { return self.put_as(hash, key, value, expire, access) };
        value.settle();
        let embedded = value.with_embedded(|embedded| {
            let embedded = limit::within_limit(embedded);
            embedded.map(|bytes| self.put_as(hash, key, NewValue::Embedded(bytes), expire, access))
        });
        embedded.unwrap_or_else(|| self.put_as(hash, key, NewValue::Out(value), expire, access))
    }

    /// Puts a value in the form that it has.
    fn put_as(
        &mut self,
        hash: u64,
        key: &[u8],
        value: NewValue<'_, V>,
        expire: ExpireChange,
        access: u32,
    ) -> Option<Old<V>> {
        self.preserve(hash, key);
        let Some(found) = self.find_mut(hash, key) else {
            self.insert(Place::of(hash), key, value, expire.apply(None), access);
            return None;
        };
        let before = found.record().expire_at_ms();
        let after = expire.apply(before);
        let old = if found.fits(&value, after.is_some()) {
            found.overwrite(value, after, access)
        } else {
            let index = found.index();
            self.change_length(position(hash), |records| records.replace(index, value, after, access))
        };
        self.note_expiry(position(hash), before, after);
        Some(old)
    }

    /// Gives a key an expiry, another one, or none; false when there is no such key.
    pub fn set_expire(&mut self, hash: u64, key: &[u8], expire_at_ms: Option<u64>) -> bool {
        self.preserve(hash, key);
        let Some(mut found) = self.find_mut(hash, key) else { return false };
        let before = found.record().expire_at_ms();
        let in_place = match expire_at_ms {
            Some(ms) => found.change_expiry(ms),
            None => before.is_none(),
        };
        if !in_place {
            let index = found.index();
            self.change_length(position(hash), |records| records.set_expiry(index, expire_at_ms));
        }
        self.note_expiry(position(hash), before, expire_at_ms);
        true
    }

    /// Removes a key.
    pub fn remove(&mut self, hash: u64, key: &[u8]) -> Option<Removed<V>> {
        self.preserve(hash, key);
        let removed = self.find_mut(hash, key)?.swap_remove();
        self.note_removed(hash, key, removed.expire_at_ms);
        Some(removed)
    }

    /// Removes a key if `may_go` says so of its entry; an inline value is not given back.
    pub fn remove_if(
        &mut self,
        hash: u64,
        key: &[u8],
        may_go: impl FnOnce(&Entry<'_, V>) -> bool,
    ) -> Attempt<V> {
        self.preserve(hash, key);
        let Some(found) = self.find_mut(hash, key) else { return Attempt::Missing };
        if !may_go(&found.record()) {
            return Attempt::Refused;
        }
        let (old, expire_at_ms) = found.swap_discard();
        self.note_removed(hash, key, expire_at_ms);
        Attempt::Removed(old)
    }

    /// Sees to all that a record's removal changes but the record.
    fn note_removed(&mut self, hash: u64, key: &[u8], expire_at_ms: Option<u64>) {
        self.directory.count_bytes(-(long_key_heap_bytes(key) as isize));
        self.len -= 1;
        let position = position(hash);
        self.note_expiry(position, expire_at_ms, None);
        self.settle_one(position);
    }

    /// Removes everything and frees all memory, and forgets a snapshot that is going on.
    pub fn clear(&mut self) {
        *self = KeyTable::new();
    }

    /// The record of a key, with its value in the form in which it is used.
    #[inline]
    fn find_used(&mut self, hash: u64, key: &[u8]) -> Option<RecordMut<'_, V>> {
        let place = Place::of(hash);
        let (slot, is_cold) = self.directory.get(place.position)?.find_slot(place.tag, key)?;
        if is_cold {
            self.thaw(hash, key);
            return self.find_mut(hash, key);
        }
        Some(self.directory.get_mut(place.position)?.found(slot))
    }

    #[inline]
    fn find_mut(&mut self, hash: u64, key: &[u8]) -> Option<RecordMut<'_, V>> {
        let place = Place::of(hash);
        self.directory.get_mut(place.position)?.find_mut(place.tag, key)
    }

    fn insert(
        &mut self,
        place: Place,
        key: &[u8],
        value: NewValue<'_, V>,
        expire_at_ms: Option<u64>,
        access: u32,
    ) {
        let slot = self.make_room(place.position, key, &value, expire_at_ms.is_some());
        let slots = self.directory.update(slot, |records| {
            records.insert(place.tag, key, value, expire_at_ms, access);
            records.page().slots()
        });
        self.directory.count_bytes(long_key_heap_bytes(key) as isize);
        self.sample_bits = self.sample_bits.max(slots.next_power_of_two().ilog2() as u8);
        self.len += 1;
        self.note_expiry(place.position, None, expire_at_ms);
    }
}

impl<V: IntoRaw + Clone, H: KeyHash> Default for KeyTable<V, H> {
    fn default() -> Self {
        KeyTable::new()
    }
}
