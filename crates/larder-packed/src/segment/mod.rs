//! The segment: one allocation of packed entries that a byte of hash finds, the block of every hash-ordered table.
//!
//! Why this and not an open-addressing table of pointers: an entry of 36 bytes that is its own allocation takes 48 bytes
//! and an 8-byte slot that is three quarters full at best. Here it takes its 36 bytes, a tag, a length, and its
//! share of a u16 anchor. An offset per slot would cost two bytes more; the offset is instead a masked sum over 16 length
//! bytes, which costs the processor about as much as loading it.
//!
//! What an entry is, the users say: [`Segment`] and [`Page`] move opaque bytes. [`Records`] makes them records of a
//! keyspace, and [`Directory`] keeps such segments in hash order; [`Rows`] are the counted segments of hashes and sets.
//!
//! Cost: 2.1 bytes per entry, 16 per segment. Find O(slots / 16); insert, resize and remove move the entries after, but for a
//! removal that puts one of the last entries in the place of one that is as long.
//!
//! ```text
//!  0        16       50       84                                    capacity
//!  +--------+--------+--------+-- - - --+--------+-----+-----+-----+
//!  | header | group  | group  |  free   | e[n-1] | ..  | e1  | e0  |
//!  +--------+--------+--------+-- - - --+--------+-----+-----+-----+
//!
//!  header  0          4            8             12         13          16
//!          +----------+------------+-------------+----------+-----------+
//!          | refs u32 | used u32   | capacity u32| depth u8 | slots u24 |  depth's top bits: holes, mark; refs': see `rows`
//!          +----------+------------+-------------+----------+-----------+  (12..16: u32, slots << 8 | depth)
//!  group   0          16           32           34
//!          +----------+------------+------------+
//!          | 16 tags  | 16 lengths | anchor u16 |  tag 0: an empty slot; anchor: bytes in the groups before
//!          +----------+------------+------------+
//!  entry i starts at capacity - anchor - (lengths 0..=i of its group)
//!  long    | bytes (255 and more) | true length u16 |, its length byte being 255
//! ```
//! Offsets count from the end, so a segment grows by two copies and nothing in it changes. `refs` stays 1 in a keyspace;
//! [`Rows`] share segments between copies of a collection and count there. It is the one word that another thread may
//! change while this one reads, so a [`Page`] begins after it.
//!
//! Invariants:
//! - I1: the capacity is the allocation's size, all of it initialised bytes, and a size class of [`crate::heap`].
//! - I2: header, groups and `used` bytes of entries fit; the footprints of all slots add up to `used`.
//! - I3: the last slot is not a hole.
//! - I4: a hole has tag 0 and length 0, and the top bit of the depth byte says that there may be one.
//! - I5: an anchor is the sum of the footprints before its group, modulo 2^16, and a group holds less than 2^16 bytes;
//!   so anchors of a segment that has outgrown 64 KB (equal hashes can do that) unroll from the first one.
//!
//! Tested by `page/tests.rs` against a vector of byte strings, `records/tests.rs`, `rows/tests.rs`, and by
//! the tables on top.

mod directory;
mod entries;
mod page;
pub(crate) mod probe;
mod raw;
mod record;
mod records;
mod rows;
mod slot_set;
mod value_mut;

pub use directory::Directory;
pub use entries::Entries;
pub use page::{ENTRY_BYTES_MAX, Page, Slot};
pub use probe::LANES;
pub use raw::{
    Borrowed, COLD_KIND, COLD_KIND_EMBEDDED, EMBEDDED_KINDS_MAX, EMBEDDED_MAX, Embedded, InRecord, IntoRaw,
    KINDS_MAX,
};
pub use record::{
    EXPIRY_MS_MAX, INLINE_KIND_MAX, INLINE_MAX, InlineBytes, KEY_INLINE_MAX, NewValue, Old, OwnedValue,
    POINTER_BYTES, Record, Removed, ValueRef, long_key_heap_bytes, record_bytes_of,
};
pub use records::{Gone, RecordMut, RecordPage, Records};
pub use rows::{
    ColdBytes, FIELD_INLINE_MAX, FieldValue, FieldValueNew, Layout, LeafRows, Looked, MEMBER_INLINE_MAX,
    Member, Need, OutText, RUN_BYTES_MAX, RUN_ENTRIES_MAX, RUN_ENTRY_MAX, Row, Rows, RowsIter, Run, RunIter,
    UNUSED_WALKS, VALUE_INLINE_MAX, Walked,
};
pub use slot_set::SlotSet;
pub use value_mut::{ValueMut, Whereabouts};

use crate::heap::{self, Mover};
use page::{GROUP_BYTES, HEADER_BYTES, REFS_BYTES, capacity_for, footprint_of};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::AtomicU32;

/// A segment that owns its allocation. Reading and in-place changes are those of [`Page`].
#[repr(transparent)]
pub struct Segment {
    ptr: NonNull<u8>,
}

// SAFETY: a segment is plain bytes that it owns alone; nothing in it is bound to a thread.
unsafe impl Send for Segment {}
// SAFETY: through a shared reference the bytes can only be read.
unsafe impl Sync for Segment {}

impl Segment {
    /// An empty segment with room for `slots` entries of `entry_bytes` bytes in all.
    pub fn with_room(slots: usize, entry_bytes: usize) -> Segment {
        Segment::with_capacity(Segment::content_of(slots, entry_bytes))
    }

    /// The content of a segment with `slots` entries of `entry_bytes` in all.
    fn content_of(slots: usize, entry_bytes: usize) -> usize {
        REFS_BYTES + HEADER_BYTES + slots.div_ceil(LANES) * GROUP_BYTES + entry_bytes
    }

    /// Adds an entry of `len` bytes, to be filled through [`Page::entry_mut`].
    pub fn insert(&mut self, tag: u8, len: usize) -> Slot {
        self.reserve(self.insert_bytes(len));
        self.open(tag, len)
    }

    /// Changes the length of an entry; the content is to be written again.
    pub fn resize_entry(&mut self, slot: Slot, len: usize) -> Slot {
        let bytes = Page::resize_bytes(slot, len);
        let end = self.capacity_bytes() - slot.start();
        self.reserve(bytes);
        let start = self.capacity_bytes() - end;
        self.resize(slot.at(start), len)
    }

    /// Gives memory back when the content has become small; says whether it did.
    pub fn shrink(&mut self) -> bool {
        let shrinks = self.is_sparse();
        if shrinks {
            self.move_to(self.content_bytes());
        }
        shrinks
    }

    /// A segment without the entries in the slots of a set, all of which are taken, and without holes.
    pub fn without(&self, gone: SlotSet) -> Segment {
        let gone_bytes: usize =
            gone.iter().filter_map(|index| self.slot(index)).map(|slot| footprint_of(slot.len())).sum();
        let (slots, bytes) = (self.live() - gone.len(), self.used_bytes() - gone_bytes);
        let mut rest = Segment::with_room(slots, bytes);
        rest.gather(self, |index| !gone.contains(index));
        rest
    }

    /// Two segments: the entries for which `goes_right` (asked in slot order) is false, and those for which it is true.
    pub fn split(&self, mut goes_right: impl FnMut(Slot, &[u8]) -> bool) -> (Segment, Segment) {
        let mut are_right = vec![false; self.slots()];
        let (mut count, mut bytes) = ([0; 2], [0; 2]);
        for (slot, entry) in self.entries() {
            let is_right = goes_right(slot, entry);
            are_right[slot.index()] = is_right;
            count[usize::from(is_right)] += 1;
            bytes[usize::from(is_right)] += footprint_of(entry.len());
        }
        let half = |is_right: bool| {
            let mut half = Segment::with_room(count[usize::from(is_right)], bytes[usize::from(is_right)]);
            half.gather(self, |index| are_right[index] == is_right);
            half
        };
        (half(false), half(true))
    }

    /// One segment with the entries of both.
    pub fn join(left: &Segment, right: &Segment) -> Segment {
        let (slots, bytes) = (left.live() + right.live(), left.used_bytes() + right.used_bytes());
        // Only without holes can it stay as it is.
        let mut joined = if left.has_holes() {
            let mut rest = Segment::with_room(slots, bytes);
            rest.gather(left, |_| true);
            rest
        } else {
            left.copy(Segment::content_of(slots, bytes))
        };
        joined.gather(right, |_| true);
        joined
    }

    /// Moves the segment if it lies in a sparse slab. Only its one reference may call this.
    fn move_block(&mut self, mover: &mut Mover) {
        let capacity = self.capacity();
        // SAFETY: the segment owns its allocation of this capacity (I1), and all callers have the only reference.
        unsafe { mover.move_growing(&mut self.ptr, capacity) };
    }

    /// The address, to tell whether the segment has moved.
    pub fn address(&self) -> usize {
        self.ptr.as_ptr() as usize
    }

    /// Asks the processor to load the first lines, those that a probe reads.
    #[inline]
    pub fn prefetch(&self) {
        for line in 0..3 {
            prefetch(self.ptr.as_ptr().wrapping_add(line * 64));
        }
    }

    /// Asks the processor to load the first `bytes` bytes, or what there is of them, before they are read one by one.
    #[inline]
    pub fn prefetch_bytes(&self, bytes: usize) {
        for at in (0..bytes).step_by(64) {
            prefetch(self.ptr.as_ptr().wrapping_add(at));
        }
    }

    /// Asks the processor to load the entry that a probe for `tag` looks at first. False: there is none.
    #[inline]
    pub fn prefetch_entry(&self, tag: u8) -> bool {
        let Some(slot) = self.find(tag, |_| true) else { return false };
        prefetch(self.entry(slot).as_ptr());
        prefetch(self.entry(slot).as_ptr().wrapping_add(64));
        true
    }

    /// Asks the processor to load the last entry, to which a removed one may give its place.
    #[inline]
    pub fn prefetch_last(&self) {
        let last = self.ptr.as_ptr().wrapping_add(self.capacity() - self.used_bytes());
        prefetch(last);
        prefetch(last.wrapping_add(64));
    }

    /// Asks the processor to load the place of the next entry, if that is not longer than a line or two.
    #[inline]
    pub fn prefetch_room(&self) {
        let last = self.ptr.as_ptr().wrapping_add(self.capacity() - self.used_bytes());
        prefetch(last.wrapping_sub(1));
        prefetch(last.wrapping_sub(64));
    }

    fn with_capacity(bytes: usize) -> Segment {
        let capacity = capacity_for(bytes);
        assert!(u32::try_from(capacity).is_ok(), "a segment of {capacity} bytes");
        let ptr = heap::alloc_growing(capacity);
        // SAFETY: `capacity` bytes were just allocated, and nobody else knows them yet; zeroing makes them all
        // initialised (I1). The slice is that of `Segment::bytes`.
        let bytes = unsafe {
            ptr.write_bytes(0, capacity);
            ptr.cast::<u32>().write(1);
            slice::from_raw_parts_mut(ptr.add(REFS_BYTES).as_ptr(), capacity - REFS_BYTES)
        };
        Page::of_mut(bytes).note_capacity();
        Segment { ptr }
    }

    fn reserve(&mut self, bytes: usize) {
        if self.free_bytes() < bytes {
            self.move_to(self.content_bytes() + bytes);
        }
    }

    fn move_to(&mut self, bytes: usize) {
        *self = self.copy(bytes);
    }

    /// The same content in an allocation for `bytes` bytes, which are enough.
    fn copy(&self, bytes: usize) -> Segment {
        let capacity = capacity_for(bytes);
        let (front, used) = (REFS_BYTES + self.front_bytes(), self.used_bytes());
        assert!(front + used <= capacity && u32::try_from(capacity).is_ok(), "a segment of {capacity} bytes");
        let ptr = heap::alloc_growing(capacity);
        // SAFETY: both allocations are as long as their capacities, which hold the front and the entries (I2, and the
        // assertion). The four writes cover the new one from its start to its end: it is initialised (I1).
        let bytes = unsafe {
            ptr.cast::<u32>().write(1);
            ptr.add(REFS_BYTES).copy_from_nonoverlapping(self.ptr.add(REFS_BYTES), front - REFS_BYTES);
            ptr.add(front).write_bytes(0, capacity - front - used);
            ptr.add(capacity - used).copy_from_nonoverlapping(self.ptr.add(self.capacity() - used), used);
            slice::from_raw_parts_mut(ptr.add(REFS_BYTES).as_ptr(), capacity - REFS_BYTES)
        };
        Page::of_mut(bytes).note_capacity();
        Segment { ptr }
    }

    /// The count of references, for owners that share segments; 1 in a new one.
    #[inline]
    fn refs(&self) -> &AtomicU32 {
        // SAFETY: I1: the first four bytes are initialised, aligned, live as long as `self`, and no page covers them.
        unsafe { self.ptr.cast::<AtomicU32>().as_ref() }
    }

    #[inline]
    fn capacity(&self) -> usize {
        // SAFETY: I1: the header is initialised, and the allocation is aligned to 8.
        u32::from_le(unsafe { self.ptr.add(8).cast::<u32>().read() }) as usize
    }
}

#[inline]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect that a program could see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: I1: the pointer came from `heap::alloc_growing` with this capacity, and nobody uses it after the owner.
        unsafe { heap::free_growing(self.ptr, self.capacity()) };
    }
}

impl Deref for Segment {
    type Target = Page;

    #[inline]
    fn deref(&self) -> &Page {
        let len = self.capacity() - REFS_BYTES;
        // SAFETY: I1: this many initialised bytes, owned by `self` and unchanged while it is borrowed.
        Page::of(unsafe { slice::from_raw_parts(self.ptr.add(REFS_BYTES).as_ptr(), len) })
    }
}

impl DerefMut for Segment {
    #[inline]
    fn deref_mut(&mut self) -> &mut Page {
        let len = self.capacity() - REFS_BYTES;
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        Page::of_mut(unsafe { slice::from_raw_parts_mut(self.ptr.add(REFS_BYTES).as_ptr(), len) })
    }
}
