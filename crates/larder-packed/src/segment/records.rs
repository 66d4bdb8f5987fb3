//! A segment whose entries are records of a keyspace: it owns their values and long keys.
//!
//! Invariant R1, on which all `unsafe` here rests: every entry is a record as [`super::record`] draws it; one that is
//! marked as a pointer holds the parts of a live `V`, or the block of a long key, which nobody else owns; one of an embedded
//! kind holds bytes that `V` gave and [adopted](IntoRaw::adopt).

use super::page::{Page, Slot};
use super::raw::{InRecord, IntoRaw};
use super::record::{
    self, KeyField, NewValue, Old, OwnedValue, RECORD_BYTES_MAX, Record, Removed, record_bytes,
};
use super::value_mut::ValueMut;
use super::{Entries, Segment, SlotSet};
use crate::heap::Mover;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// The records of one segment, seen in place.
#[repr(transparent)]
pub struct RecordPage<V> {
    values: PhantomData<V>,
    page: Page,
}

impl<V: IntoRaw> RecordPage<V> {
    fn of(page: &Page) -> &Self {
        // SAFETY: a transparent wrapper: same layout, same metadata. R1 is the caller's, who owns the segment.
        unsafe { &*(std::ptr::from_ref(page) as *const Self) }
    }

    fn of_mut(page: &mut Page) -> &mut Self {
        // SAFETY: as in `of`; the exclusive borrow passes on.
        unsafe { &mut *(std::ptr::from_mut(page) as *mut Self) }
    }

    /// The bytes, for sizes and checks.
    #[inline]
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// The record of `key`.
    #[inline]
    pub fn find(&self, tag: u8, key: &[u8]) -> Option<Record<'_, V>> {
        let slot = self.page.find(tag, |entry| record::has_key(entry, key))?;
        Some(self.record_in(slot))
    }

    /// The record of `key`, to be changed in place.
    #[inline]
    pub fn find_mut(&mut self, tag: u8, key: &[u8]) -> Option<RecordMut<'_, V>> {
        let slot = self.page.find(tag, |entry| record::has_key(entry, key))?;
        Some(RecordMut { page: &mut self.page, slot, values: PhantomData })
    }

    /// Where the record of `key` is, and whether its value is in a form that only keeps it. Good until the segment changes.
    #[inline]
    pub fn find_slot(&self, tag: u8, key: &[u8]) -> Option<(Slot, bool)> {
        let slot = self.page.find(tag, |entry| record::has_key(entry, key))?;
        Some((slot, self.record_in(slot).is_cold()))
    }

    /// The record that [`find_slot`](Self::find_slot) has found, to be changed in place.
    #[inline]
    pub fn found(&mut self, slot: Slot) -> RecordMut<'_, V> {
        debug_assert_eq!(self.page.slot(slot.index()), Some(slot));
        RecordMut { page: &mut self.page, slot, values: PhantomData }
    }

    /// The record of the key that is the one sought, to be changed in place.
    pub fn find_mut_by(&mut self, tag: u8, mut is: impl FnMut(&[u8]) -> bool) -> Option<RecordMut<'_, V>> {
        // SAFETY: R1.
        let slot = self.page.find(tag, |entry| is(unsafe { Record::<V>::new(entry) }.key()))?;
        Some(RecordMut { page: &mut self.page, slot, values: PhantomData })
    }

    /// The record in a slot, to be changed in place; None for a hole.
    pub fn record_mut(&mut self, index: usize) -> Option<RecordMut<'_, V>> {
        let slot = self.page.slot(index)?;
        Some(RecordMut { page: &mut self.page, slot, values: PhantomData })
    }

    /// The record in a slot; None for a hole.
    #[inline]
    pub fn record(&self, index: usize) -> Option<Record<'_, V>> {
        Some(self.record_in(self.page.slot(index)?))
    }

    /// What the content would be, at most, with one more record.
    pub fn content_with(&self, key: &[u8], value: &NewValue<'_, V>, expires: bool) -> usize {
        let key_bytes = KeyField::stored_bytes(key);
        let entry_bytes = record_bytes(key_bytes, expires, value.record_bytes());
        self.page.content_bytes() + self.page.insert_bytes(entry_bytes)
    }

    /// All records, with the numbers of their slots.
    pub fn records(&self) -> RecordsIter<'_, V> {
        RecordsIter { entries: self.page.entries(), values: PhantomData }
    }

    #[inline]
    fn record_in(&self, slot: Slot) -> Record<'_, V> {
        // SAFETY: the slot was just found, so these bytes are a record (R1).
        unsafe { Record::new(self.page.entry(slot)) }
    }
}

/// Iterator over the records of a segment.
pub struct RecordsIter<'a, V> {
    entries: Entries<'a>,
    values: PhantomData<&'a V>,
}

impl<'a, V: IntoRaw> Iterator for RecordsIter<'a, V> {
    type Item = (usize, Record<'a, V>);

    fn next(&mut self) -> Option<Self::Item> {
        let (slot, entry) = self.entries.next()?;
        // SAFETY: R1.
        Some((slot.index(), unsafe { Record::new(entry) }))
    }
}

/// A record that was found, to be changed without moving its segment.
pub struct RecordMut<'a, V> {
    page: &'a mut Page,
    slot: Slot,
    values: PhantomData<&'a mut V>,
}

impl<'a, V: IntoRaw> RecordMut<'a, V> {
    /// The number of its slot.
    pub fn index(&self) -> usize {
        self.slot.index()
    }

    /// The record, borrowed for as long as this was.
    #[inline]
    pub fn into_record(self) -> Record<'a, V> {
        // SAFETY: R1.
        unsafe { Record::new(self.page.entry(self.slot)) }
    }

    /// The record, for a look.
    #[inline]
    pub fn record(&self) -> Record<'_, V> {
        // SAFETY: R1.
        unsafe { Record::new(self.page.entry(self.slot)) }
    }

    /// Stores the 24-bit access word.
    #[inline]
    pub fn set_access(&mut self, access: u32) {
        record::set_access(self.page.entry_mut(self.slot), access);
    }

    /// Whether [`overwrite`](Self::overwrite) can put this in the record's place.
    pub fn fits(&self, value: &NewValue<'_, V>, expires: bool) -> bool {
        let entry = self.page.entry(self.slot);
        let value_bytes = entry.len() - record::value_at(entry);
        value_bytes == value.record_bytes() && record::expiry(entry).is_some() == expires
    }

    /// Replaces the value, the expiry and the access word by some of the same length.
    pub fn overwrite(self, value: NewValue<'_, V>, expire_at_ms: Option<u64>, access: u32) -> Old<V> {
        assert!(self.fits(&value, expire_at_ms.is_some()), "the record has another length");
        let entry = self.page.entry_mut(self.slot);
        // SAFETY: R1, and the record is written again at once.
        let old = unsafe { take_old(entry) };
        record::write_tail(entry, value, expire_at_ms, access);
        old
    }

    /// Changes the expiry that the record has; false when it has none.
    pub fn change_expiry(&mut self, ms: u64) -> bool {
        let entry = self.page.entry_mut(self.slot);
        let expires = record::expiry(entry).is_some();
        if expires {
            record::set_expiry(entry, ms);
        }
        expires
    }

    /// The bytes of an inline string.
    pub fn into_inline(self) -> Option<&'a mut [u8]> {
        let entry = self.page.entry_mut(self.slot);
        let at = record::value_at(entry);
        let is_string = record::out_parts(entry).is_none() && record::embedded(entry).is_none();
        is_string.then(|| &mut entry[at..])
    }

    /// A copy of an embedded value, which owns what it holds.
    #[inline]
    pub fn embedded(&self) -> Option<V> {
        // SAFETY: R1.
        unsafe { own_embedded(self.page.entry(self.slot)) }
    }

    /// The value, wherever it is; None when it is an inline string.
    #[inline]
    pub fn into_value(self) -> Option<ValueMut<'a, V>> {
        // SAFETY: R1.
        unsafe { ValueMut::take(self.page.entry_mut(self.slot)) }
    }

    /// A value that is not in the record.
    #[inline]
    pub fn into_out(self) -> Option<ValueMut<'a, V>> {
        // SAFETY: R1.
        unsafe { ValueMut::take_outside(self.page.entry_mut(self.slot)) }
    }

    /// Removes the record. Memory is given back by [`Records::shrink`] only.
    pub fn remove(self) -> Removed<V> {
        // SAFETY: the caller of `take_out` removes the record at once.
        self.take_out(Page::close, |entry| unsafe { take_removed(entry) })
    }

    /// The same where nobody counts on the slots of the others: one of the last records may take this one's.
    pub fn swap_remove(self) -> Removed<V> {
        // SAFETY: as in `remove`.
        self.take_out(Page::swap_remove, |entry| unsafe { take_removed(entry) })
    }

    /// The same without a copy of an inline value; returns the expiry too, in milliseconds.
    pub fn swap_discard(self) -> (Old<V>, Option<u64>) {
        // SAFETY: as in `remove`.
        self.take_out(Page::swap_remove, |entry| (unsafe { take_old(entry) }, record::expiry(entry)))
    }

    /// Removes the record after `take` has taken out of it what it owns.
    fn take_out<R>(self, close: fn(&mut Page, Slot), take: impl FnOnce(&[u8]) -> R) -> R {
        let entry = self.page.entry(self.slot);
        let taken = take(entry);
        // SAFETY: R1, and the record is removed before anything else happens.
        unsafe { record::free_long_key(entry) };
        close(self.page, self.slot);
        taken
    }
}

/// A record that was removed, one of several.
pub struct Gone<'a, V> {
    /// Its key.
    pub key: &'a [u8],
    /// Its expiry, in milliseconds.
    pub expire_at_ms: Option<u64>,
    /// Its value, unless that was inline.
    pub value: Old<V>,
}

/// A segment of records.
#[repr(transparent)]
pub struct Records<V: IntoRaw> {
    segment: Segment,
    values: PhantomData<V>,
}

impl<V: IntoRaw> Records<V> {
    /// An empty segment, without room.
    pub fn new() -> Self {
        Records::of(Segment::with_room(0, 0))
    }

    /// Adds the record of a key that is not there; returns the number of its slot.
    pub fn insert(
        &mut self,
        tag: u8,
        key: &[u8],
        value: NewValue<'_, V>,
        expire_at_ms: Option<u64>,
        access: u32,
    ) -> usize {
        let key = KeyField::store(key);
        let bytes = record_bytes(key.bytes(), expire_at_ms.is_some(), value.record_bytes());
        let slot = self.segment.insert(tag, bytes);
        record::write(self.segment.entry_mut(slot), key, value, expire_at_ms, access);
        slot.index()
    }

    /// Replaces all of a record but its key, at another length.
    pub fn replace(
        &mut self,
        index: usize,
        value: NewValue<'_, V>,
        expire_at_ms: Option<u64>,
        access: u32,
    ) -> Old<V> {
        let mut copy = [0; RECORD_BYTES_MAX];
        let slot = self.segment.slot(index).expect("the slot is taken");
        let copy = copy_entry(self.segment.entry(slot), &mut copy);
        let bytes = record_bytes(KeyField::of(copy).bytes(), expire_at_ms.is_some(), value.record_bytes());
        let slot = self.segment.resize_entry(slot, bytes);
        record::write(self.segment.entry_mut(slot), KeyField::of(copy), value, expire_at_ms, access);
        // SAFETY: R1; the copy's value has just been replaced in the segment.
        unsafe { take_old(copy) }
    }

    /// Adds, changes or removes the expiry of a record.
    pub fn set_expiry(&mut self, index: usize, expire_at_ms: Option<u64>) {
        let mut copy = [0; RECORD_BYTES_MAX];
        let slot = self.segment.slot(index).expect("the slot is taken");
        let copy = copy_entry(self.segment.entry(slot), &mut copy);
        let value_bytes = copy.len() - record::value_at(copy);
        let bytes = record_bytes(KeyField::of(copy).bytes(), expire_at_ms.is_some(), value_bytes);
        let slot = self.segment.resize_entry(slot, bytes);
        record::rewrite_expiry(self.segment.entry_mut(slot), copy, expire_at_ms);
    }

    /// Removes the records in the slots of a set, all of which are taken, and gives the memory back: one copy of what stays,
    /// without holes. Slots are numbered again, in the same order. `each` gets the records that go, in order.
    pub fn remove_several(&mut self, gone: SlotSet, mut each: impl FnMut(Gone<'_, V>)) {
        let rest = self.segment.without(gone);
        let before = std::mem::replace(&mut self.segment, rest);
        for slot in gone.iter().filter_map(|index| before.slot(index)) {
            let entry = before.entry(slot);
            // SAFETY: R1; the record has no place in the new segment, and the old one goes without looking at it. If `each`
            // panics the records that it has not seen leak.
            unsafe {
                let value = take_old(entry);
                each(Gone { key: Record::<V>::new(entry).key(), expire_at_ms: record::expiry(entry), value });
                record::free_long_key(entry);
            }
        }
    }

    /// Gives memory back when the content has become small; says whether it did.
    pub fn shrink(&mut self) -> bool {
        self.segment.shrink()
    }

    /// Moves all records that `goes_right` picks into a new segment.
    pub fn split(&mut self, mut goes_right: impl FnMut(Record<'_, V>) -> bool) -> Self {
        // SAFETY: R1. If the closure panics nothing has moved yet.
        let (left, right) = self.segment.split(|_, entry| goes_right(unsafe { Record::new(entry) }));
        // The old segment goes without its records: each lives on in one of the halves.
        self.segment = left;
        Records::of(right)
    }

    /// Takes over all records of `other`, whose shell goes.
    pub(super) fn absorb(&mut self, other: &mut ManuallyDrop<Self>) {
        self.segment = Segment::join(&self.segment, &other.segment);
        // SAFETY: the records have moved, so only the bytes are freed, and the caller does not use `other` again.
        unsafe { std::ptr::drop_in_place(&raw mut other.segment) };
    }

    /// Moves the segment, its long keys and its values, those that lie in sparse slabs.
    pub fn move_blocks(&mut self, mover: &mut Mover) {
        if mover.is_at_start() {
            self.segment.move_block(mover);
        }
        mover.each(self.segment.slots(), |mover, index| {
            let Some(slot) = self.segment.slot(index) else { return };
            let entry = self.segment.entry_mut(slot);
            if !record::has_block(entry) {
                return;
            }
            mover.key(|mover| {
                // SAFETY: R1; nothing borrows the key.
                unsafe { record::move_long_key(entry, mover) };
                // SAFETY: R1.
                if let Some(mut value) = unsafe { ValueMut::<V>::take_outside(entry) } {
                    value.move_blocks(mover);
                }
            });
        });
    }

    pub(super) fn set_depth(&mut self, depth: u32) {
        self.segment.set_depth(depth);
    }

    /// The address, to tell whether the segment has moved.
    #[inline]
    pub fn address(&self) -> usize {
        self.segment.address()
    }

    /// Asks the processor to load the lines that a probe reads.
    #[inline]
    pub fn prefetch(&self) {
        self.segment.prefetch();
    }

    /// Asks the processor to load the first `bytes` bytes, or what there is of them, before they are read one by one.
    #[inline]
    pub fn prefetch_bytes(&self, bytes: usize) {
        self.segment.prefetch_bytes(bytes);
    }

    /// Asks the processor to load the record that a probe for `tag` looks at first. False: there is none.
    #[inline]
    pub fn prefetch_record(&self, tag: u8) -> bool {
        self.segment.prefetch_entry(tag)
    }

    /// Asks the processor to load the last record, which a removal touches.
    #[inline]
    pub fn prefetch_last(&self) {
        self.segment.prefetch_last();
    }

    /// Asks the processor to load the place of the next record.
    #[inline]
    pub fn prefetch_room(&self) {
        self.segment.prefetch_room();
    }

    fn of(segment: Segment) -> Self {
        Records { segment, values: PhantomData }
    }
}

impl<V: IntoRaw> Default for Records<V> {
    fn default() -> Self {
        Records::new()
    }
}

impl<V: IntoRaw> Drop for Records<V> {
    fn drop(&mut self) {
        for (_, entry) in self.segment.entries() {
            // SAFETY: R1; the segment goes with its records.
            unsafe {
                record::free_long_key(entry);
                drop(take_old::<V>(entry));
            }
        }
    }
}

impl<V: IntoRaw> Deref for Records<V> {
    type Target = RecordPage<V>;

    #[inline]
    fn deref(&self) -> &RecordPage<V> {
        RecordPage::of(&self.segment)
    }
}

impl<V: IntoRaw> DerefMut for Records<V> {
    #[inline]
    fn deref_mut(&mut self) -> &mut RecordPage<V> {
        RecordPage::of_mut(&mut self.segment)
    }
}

fn copy_entry<'a>(entry: &[u8], copy: &'a mut [u8; RECORD_BYTES_MAX]) -> &'a [u8] {
    copy[..entry.len()].copy_from_slice(entry);
    &copy[..entry.len()]
}

/// # Safety
/// `entry` is a record whose value nobody uses afterwards.
unsafe fn take_old<V: IntoRaw>(entry: &[u8]) -> Old<V> {
    if let Some((kind, ptr, _)) = record::out_parts(entry) {
        // SAFETY: R1 and the caller's promise: this becomes the only copy.
        return Old::Out(unsafe { V::from_raw(kind, ptr) });
    }
    if let Some(embedded) = record::embedded(entry) {
        // SAFETY: R1 and the caller's promise.
        unsafe { V::disown(embedded) };
    }
    Old::Inline
}

/// A copy of an embedded value, which owns what it holds; None if the value is not embedded.
///
/// # Safety
/// `entry` is a record of a segment of `V`.
#[inline]
unsafe fn own_embedded<V: IntoRaw>(entry: &[u8]) -> Option<V> {
    let embedded = record::embedded(entry)?;
    // SAFETY: R1, and the value is made its own at once.
    Some(unsafe { V::in_record(embedded.kind(), InRecord::Read(embedded.bytes())) }.into_own())
}

/// # Safety
/// As for `take_old`.
unsafe fn take_removed<V: IntoRaw>(entry: &[u8]) -> Removed<V> {
    // SAFETY: R1.
    let embedded = unsafe { own_embedded(entry) };
    // SAFETY: passed on to the caller.
    let value = match (embedded, unsafe { take_old(entry) }) {
        (Some(value), _) | (None, Old::Out(value)) => OwnedValue::Out(value),
        (None, Old::Inline) => record::inline_copy(entry),
    };
    Removed { value, expire_at_ms: record::expiry(entry), access: record::access(entry) }
}

#[cfg(test)]
mod tests;
