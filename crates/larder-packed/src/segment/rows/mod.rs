//! Counted segments: what hashes and sets are made of. Clones share one until somebody writes to it.
//!
//! Why not an `Arc` around a [`Segment`]: the count would cost a second allocation and a second cache miss per lookup; here
//! it is the first word of the segment, on the line that a probe loads anyway. Long strings live out of line
//! ([`OutText`], counted as well), so that a segment stays small: copying one counts its strings up.
//!
//! Cost: as a segment; clone O(1), the first write to a shared one copies its 4 KB or less.
//!
//! Invariants, on which all `unsafe` here rests:
//! - W1: every entry was written by the layout `L`; each of its pointers owns one count of a live string.
//! - W2: a segment in which an entry holds a pointer has its mark set.
//! - W3: the count of a segment is the number of `Rows` that point to it; it is written only while that is one. It takes the low 28 bits of
//!   the word; above them are walks since the last use, up to 7, and whether the segment stays plain (see [`LeafRows`]).
//!
//! Tested by `rows/tests.rs` and by the tables of `larder-collections`.

mod field;
mod layout;
mod leaf;
mod member;
mod out;
mod packed;
mod run;

pub use field::{FIELD_INLINE_MAX, FieldValue, FieldValueNew, VALUE_INLINE_MAX, Walked};
pub use layout::{Layout, Row};
pub use leaf::{ColdBytes, LeafRows, Looked};
pub use member::{MEMBER_INLINE_MAX, Member};
pub use out::{Need, OutText, UNUSED_WALKS};
pub use run::{RUN_BYTES_MAX, RUN_ENTRIES_MAX, RUN_ENTRY_MAX, Run, RunIter};

use super::Segment;
use super::entries::Entries;
use super::page::{Page, Slot, footprint_of};
use crate::heap::Mover;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// Bits of the segment's first word that count references.
const COUNT: u32 = (1 << 28) - 1;
/// A segment of more references is copied; the threads that count at the same time do not reach the bits above.
const COUNT_MAX: u32 = 1 << 27;
/// Bits that count walks since the last use.
const WALKS: u32 = 7 << 28;
const WALK: u32 = 1 << 28;
/// Bit: the segment does not shrink.
const STAYS: u32 = 1 << 31;
const _: () =
    assert!(WALKS / WALK >= UNUSED_WALKS as u32 && WALKS & COUNT == 0 && (WALKS | COUNT) & STAYS == 0);

/// Bytes that [`Rows::prefetch_walk`] asks for at most: about as many lines as a processor loads at once.
const WALK_BYTES: usize = 1024;

/// A counted segment of entries of a layout.
#[repr(transparent)]
pub struct Rows<L: Layout> {
    segment: ManuallyDrop<Segment>,
    layout: PhantomData<fn() -> L>,
}

/// Iterator over the entries of a counted segment.
#[derive(Clone)]
pub struct RowsIter<'a, L> {
    entries: Entries<'a>,
    layout: PhantomData<L>,
}

impl<'a, L: Layout> Iterator for RowsIter<'a, L> {
    type Item = Row<'a, L>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (slot, entry) = self.entries.next()?;
        // SAFETY: W1.
        Some(unsafe { Row::new(entry, slot) })
    }
}

impl<L: Layout> Rows<L> {
    /// An empty segment with room for `slots` entries of `entry_bytes` in all.
    pub fn with_room(slots: usize, entry_bytes: usize) -> Self {
        Rows::of(Segment::with_room(slots, entry_bytes))
    }

    /// A segment of these entries with their tags, whose keys differ, in their order: `count` of `entry_bytes` in all, in the room that
    /// these need. Panics if they need more.
    pub fn of_entries<'a>(
        count: usize,
        entry_bytes: usize,
        entries: impl Iterator<Item = (u8, L::New<'a>)>,
    ) -> Self {
        let mut segment = Segment::with_room(count, entry_bytes);
        let mut has_outs = false;
        let entries = entries.map(|(tag, new)| (tag, L::entry_bytes(new), new));
        segment.append_all(entries, |entry, new| has_outs |= L::write(entry, new));
        if has_outs {
            segment.set_mark();
        }
        Rows::of(segment)
    }

    /// A segment of the entries of a run, in their order, with the tag of each one's key.
    pub fn of_run(run: &Run<L>, mut tag: impl FnMut(&[u8]) -> u8) -> Self {
        let mut segment = Segment::with_room(run.len(), run.rows().map(Row::entry_bytes).sum());
        let entries = run.rows().map(|row| (tag(row.key()), row.entry_bytes(), row));
        segment.append_all(entries, |entry, row| entry.copy_from_slice(row.bytes));
        Rows::of(segment)
    }

    /// What the content of a segment with `slots` entries of `entry_bytes` in all is.
    pub fn content_of(slots: usize, entry_bytes: usize) -> usize {
        Segment::content_of(slots, entry_bytes)
    }

    /// Bytes that an entry takes in a segment.
    pub fn footprint_bytes(new: L::New<'_>) -> usize {
        footprint_of(L::entry_bytes(new))
    }

    /// The bytes, for sizes.
    #[inline]
    pub fn page(&self) -> &Page {
        &self.segment
    }

    /// Whether other clones point to the segment.
    pub fn is_shared(&self) -> bool {
        self.segment.refs().load(Ordering::Acquire) & COUNT != 1
    }

    /// Notes a use.
    #[inline]
    fn note_use(&self) {
        // Threads that read at the same time need not take the line of memory from each other.
        if self.segment.refs().load(Ordering::Relaxed) & WALKS != 0 {
            self.segment.refs().fetch_and(!WALKS, Ordering::Relaxed);
        }
    }

    /// Counts a walk; whether there were [`UNUSED_WALKS`] since the last use. Only one thread may walk at a time.
    fn count_walk(&self) -> bool {
        let walks = self.segment.refs().load(Ordering::Relaxed) & WALKS;
        if walks < WALKS {
            self.segment.refs().fetch_add(WALK, Ordering::Relaxed);
        }
        walks / WALK + 1 >= u32::from(UNUSED_WALKS)
    }

    fn stays(&self) -> bool {
        self.segment.refs().load(Ordering::Relaxed) & STAYS != 0
    }

    fn set_stays(&self) {
        self.segment.refs().fetch_or(STAYS, Ordering::Relaxed);
    }

    /// Whether an entry may keep a string out of line.
    pub fn may_have_outs(&self) -> bool {
        self.segment.is_marked()
    }

    /// The entry of a key.
    #[inline]
    pub fn find(&self, tag: u8, key: &[u8]) -> Option<Row<'_, L>> {
        // SAFETY: W1.
        let slot = self.segment.find(tag, |entry| unsafe { L::has_key(entry, key) })?;
        Some(self.row_in(slot))
    }

    /// The entry in a slot; None for a hole.
    #[inline]
    pub fn row(&self, index: usize) -> Option<Row<'_, L>> {
        Some(self.row_in(self.segment.slot(index)?))
    }

    /// All entries in slot order.
    pub fn rows(&self) -> RowsIter<'_, L> {
        RowsIter { entries: self.segment.entries(), layout: PhantomData }
    }

    /// What the content would be, at most, with one more entry.
    #[inline]
    pub fn content_with(&self, new: L::New<'_>) -> usize {
        self.segment.content_bytes() + self.segment.insert_bytes(L::entry_bytes(new))
    }

    /// Adds an entry whose key is not there.
    pub fn insert(&mut self, tag: u8, new: L::New<'_>) {
        let len = L::entry_bytes(new);
        let segment = self.make_mut(footprint_of(len));
        let slot = segment.insert(tag, len);
        Self::write(segment, slot, new);
    }

    /// Puts another entry of the same key in the place of one.
    pub fn replace(&mut self, slot: Slot, new: L::New<'_>) {
        let len = L::entry_bytes(new);
        let segment = self.make_mut(len.saturating_sub(slot.len()));
        // SAFETY: W1, and the entry is written again at once.
        let slot = unsafe { drop_outs::<L>(segment, slot) };
        let slot = segment.resize_entry(slot, len);
        Self::write(segment, slot, new);
    }

    /// Removes an entry; one of the last that is as long takes its place. Without such a one there is a hole then, which the next insert fills.
    pub fn remove(&mut self, slot: Slot) {
        let segment = self.make_mut(0);
        // SAFETY: W1, and the entry is removed at once.
        let slot = unsafe { drop_outs::<L>(segment, slot) };
        segment.swap_remove(slot);
    }

    /// Removes an entry of a segment without holes, so that the others keep their order.
    pub fn remove_in_order(&mut self, slot: Slot) {
        let segment = self.make_mut(0);
        // SAFETY: W1, and the entry is removed at once.
        let slot = unsafe { drop_outs::<L>(segment, slot) };
        segment.close_slot(slot);
    }

    /// Gives memory back when the content has become small; says whether it did.
    pub fn shrink(&mut self) -> bool {
        self.segment.is_sparse() && self.make_mut(0).shrink()
    }

    /// Two segments: the entries for which `goes_right` is false, and those for which it is true.
    pub fn split(&self, mut goes_right: impl FnMut(Row<'_, L>) -> bool) -> (Self, Self) {
        // SAFETY: W1.
        let halves = self.segment.split(|slot, entry| goes_right(unsafe { Row::new(entry, slot) }));
        let halves = (Rows::of(halves.0), Rows::of(halves.1));
        (self.handed_to(halves.0), self.handed_to(halves.1))
    }

    /// One segment with the entries of both.
    pub fn join(left: &Self, right: &Self) -> Self {
        let joined = Rows::of(Segment::join(&left.segment, &right.segment));
        if left.page().is_marked() { left.handed_to(joined) } else { right.handed_to(joined) }
    }

    /// How often the hash space was halved to get here, below 64; as its directory set it.
    #[inline]
    pub fn depth(&self) -> u32 {
        self.segment.depth()
    }

    /// Notes the depth.
    pub fn set_depth(&mut self, depth: u32) {
        self.make_mut(0).set_depth(depth);
    }

    /// Moves the segment and its out-of-line strings, those that lie in sparse slabs and are not shared.
    pub fn move_blocks(&mut self, mover: &mut Mover) {
        if self.is_shared() {
            return;
        }
        if mover.is_at_start() {
            self.segment.move_block(mover);
        }
        if !self.segment.is_marked() {
            return;
        }
        mover.each(self.segment.slots(), |mover, index| {
            let Some(slot) = self.segment.slot(index) else { return };
            let entry = self.segment.entry_mut(slot);
            for at in L::outs(entry).into_iter().flatten() {
                // SAFETY: W1, and nobody else knows the segment.
                unsafe { out::move_out(entry, at, mover) };
            }
        });
    }

    /// Bytes of the segment and of its out-of-line strings. O(entries) if there are such strings.
    pub fn heap_bytes(&self) -> usize {
        let outs = if self.segment.is_marked() { self.rows().map(Row::out_bytes).sum() } else { 0 };
        self.segment.capacity_bytes() + outs
    }

    /// Asks the processor to load the lines that a probe reads.
    #[inline]
    pub fn prefetch(&self) {
        self.segment.prefetch();
    }

    /// Asks the processor to load all of a small segment, and what a walk over a larger one reads first.
    #[inline]
    pub fn prefetch_walk(&self) {
        self.segment.prefetch_bytes(self.segment.capacity().min(WALK_BYTES));
    }

    /// Asks the processor to load the entry that a probe for `tag` looks at first.
    #[inline]
    pub fn prefetch_entry(&self, tag: u8) {
        self.segment.prefetch_entry(tag);
    }

    /// Gives the segment away as a pointer. [`Rows::from_raw`] takes it back; until then the pointer owns a count.
    pub fn into_raw(self) -> NonNull<u8> {
        let rows = ManuallyDrop::new(self);
        rows.segment.ptr
    }

    /// Takes back what [`Rows::into_raw`] gave.
    ///
    /// # Safety
    /// `raw` came from `into_raw` of the same layout, and each pointer is taken back once.
    pub unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        Rows::of(Segment { ptr: raw })
    }

    /// Panics unless the invariants hold.
    pub fn check_invariants(&self) {
        self.segment.check_invariants();
        let has_outs = self.rows().any(|row| row.out_bytes() > 0);
        assert!(!has_outs || self.segment.is_marked(), "W2: unmarked");
        assert!(self.segment.refs().load(Ordering::Relaxed) & COUNT >= 1, "W3");
    }

    /// The segment, to be written to: copied first if it is shared, at its size or with room for `more` bytes. (At its
    /// size, as users count the bytes of segments that they do not see grow or shrink.)
    fn make_mut(&mut self, more: usize) -> &mut Segment {
        let refs = self.segment.refs().load(Ordering::Acquire);
        if refs & COUNT != 1 {
            let bytes = self.segment.capacity_bytes().max(self.segment.content_bytes() + more);
            let copy = self.segment.copy(bytes);
            *self = self.handed_to(Rows::of(copy));
        } else if refs != 1 {
            // It is used now, and may shrink again.
            self.segment.refs().store(1, Ordering::Relaxed);
        }
        &mut self.segment
    }

    /// A segment into which entries of this one have been copied, after counting their strings up.
    fn handed_to(&self, mut copy: Self) -> Self {
        if self.segment.is_marked() {
            copy.segment.set_mark();
            for (_, entry) in copy.segment.entries() {
                for at in L::outs(entry).into_iter().flatten() {
                    // SAFETY: W1 of the original, which is alive. The clone is the copy's and is not dropped here.
                    let _counted: ManuallyDrop<OutText> = unsafe { out::borrow_out(entry, at) }.clone();
                }
            }
        }
        copy
    }

    fn write(segment: &mut Segment, slot: Slot, new: L::New<'_>) {
        if L::write(segment.entry_mut(slot), new) {
            segment.set_mark();
        }
    }

    #[inline]
    fn row_in(&self, slot: Slot) -> Row<'_, L> {
        // SAFETY: W1.
        unsafe { Row::new(self.segment.entry(slot), slot) }
    }

    fn of(segment: Segment) -> Self {
        Rows { segment: ManuallyDrop::new(segment), layout: PhantomData }
    }
}

impl Rows<FieldValue> {
    /// Puts another form of the same string in the place of a value that lies out of line, if it is still `old`; else, and for a segment that is
    /// shared, does nothing. Returns whether it did, and bytes of heap before and after.
    pub fn change_value(&mut self, slot: Slot, old: &OutText, new: OutText) -> Option<(usize, usize)> {
        if self.is_shared() {
            return None;
        }
        let at = FieldValue::outs(self.segment.entry(slot))[1]?;
        let entry = self.segment.entry_mut(slot);
        // SAFETY: W1.
        let current = unsafe { out::borrow_out(entry, at) };
        if !current.is_same(old) {
            return None;
        }
        let bytes = (current.heap_bytes(), new.heap_bytes());
        // SAFETY: W1, and this is exclusive and not shared, so nobody borrows from the entry.
        unsafe { out::replace_out(entry, at, new) };
        Some(bytes)
    }

    /// Frees the plain copy of a compressed value, if nobody shares it.
    pub fn clear_value(&mut self, slot: Slot) {
        if self.is_shared() {
            return;
        }
        if let Some(at) = FieldValue::outs(self.segment.entry(slot))[1] {
            // SAFETY: W1; what is cleared stays the entry's.
            unsafe { out::borrow_out(self.segment.entry_mut(slot), at) }.clear();
        }
    }

    /// Gives an entry an expiry, in milliseconds, or takes it away.
    pub fn set_expiry(&mut self, slot: Slot, expire_at_ms: Option<u64>) {
        let mut copy = [0; field::ENTRY_MAX];
        let old = self.segment.entry(slot);
        let len = field::bytes_with_expiry(old, expire_at_ms.is_some());
        let copy = &mut copy[..old.len()];
        copy.copy_from_slice(old);
        let segment = self.make_mut(len.saturating_sub(copy.len()));
        let slot = slot_in(segment, slot);
        let slot = segment.resize_entry(slot, len);
        field::rewrite_expiry(segment.entry_mut(slot), copy, expire_at_ms);
    }
}

impl<L: Layout> Clone for Rows<L> {
    fn clone(&self) -> Self {
        let before = self.segment.refs().fetch_add(1, Ordering::Relaxed);
        let clone = Rows::of(Segment { ptr: self.segment.ptr });
        if before & COUNT < COUNT_MAX {
            return clone;
        }
        self.handed_to(Rows::of(self.segment.copy(self.segment.capacity_bytes())))
    }
}

impl<L: Layout> Drop for Rows<L> {
    fn drop(&mut self) {
        if self.segment.refs().fetch_sub(1, Ordering::Release) & COUNT != 1 {
            return;
        }
        fence(Ordering::Acquire);
        if self.segment.is_marked() {
            for (slot, _) in self.segment.entries() {
                // SAFETY: W1; this was the last reference, so nobody uses the entries again.
                unsafe { drop_outs::<L>(&self.segment, slot) };
            }
        }
        // SAFETY: the last reference (W3), and `self` is not used again.
        unsafe { ManuallyDrop::drop(&mut self.segment) };
    }
}

/// The same slot after the segment may have moved: offsets count from the end.
fn slot_in(segment: &Segment, slot: Slot) -> Slot {
    segment.slot(slot.index()).expect("the slot is taken")
}

/// Counts down the strings of an entry; returns its slot as it is now.
///
/// # Safety
/// The entry was written by `L` (W1), and its pointers are not used again.
unsafe fn drop_outs<L: Layout>(segment: &Segment, slot: Slot) -> Slot {
    let slot = slot_in(segment, slot);
    if !segment.is_marked() {
        return slot;
    }
    let entry = segment.entry(slot);
    for at in L::outs(entry).into_iter().flatten() {
        // SAFETY: the caller's promise: this copy takes the entry's count with it.
        drop(ManuallyDrop::into_inner(unsafe { out::borrow_out(entry, at) }));
    }
    slot
}

#[cfg(test)]
mod tests;
