//! The flat directory of a keyspace table: which segment holds a position of the hash space.
//!
//! Extendible hashing: the top `bits` bits of a position number a slot; a segment of depth `d` is named by a run of
//! `2^(bits - d)` slots. A flat array and not a tree, as a shard's table is never shared and its directory is small.
//!
//! Cost: 8 bytes per slot, about 20 per segment. Lookup O(1); split and merge O(run) besides copying the
//! entries; doubling and halving O(slots).
//!
//! ```text
//!  bits = 3   slot   0    1    2    3    4    5    6    7
//!                  +----+----+----+----+----+----+----+----+
//!                  | a  | a  | a  | a  | b  | b  | c  | d  |    a: depth 1, b: depth 2, c and d: depth 3
//!                  +----+----+----+----+----+----+----+----+
//! ```
//!
//! Invariants:
//! - D1: a run is `2^(bits - depth)` equal handles, starting at a multiple of its length; the depth in the segment's
//!   header is changed here only. The directory owns each segment once, its handles are bitwise copies.
//! - D2: `segments` counts the runs, `deepest` those of depth `bits`; `bytes` sums their capacities and what
//!   [`Directory::count_bytes`] was told.
//!
//! Tested through the key table of `larder-collections`.

use super::records::{RecordPage, Records};
use super::{IntoRaw, Record};
use std::mem::ManuallyDrop;
use std::ops::Range;

/// The hash space has 2^32 positions.
pub const POSITION_BITS: u32 = 32;

/// Segments of records in order of position.
pub struct Directory<V: IntoRaw> {
    slots: Box<[ManuallyDrop<Records<V>>]>,
    bytes: usize,
    segments: u32,
    deepest: u32,
    bits: u8,
}

impl<V: IntoRaw> Directory<V> {
    /// Without a segment, and without an allocation.
    pub fn new() -> Self {
        Directory { slots: Box::default(), bytes: 0, segments: 0, deepest: 0, bits: 0 }
    }

    /// Whether there is no segment.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// log2 of the number of slots.
    pub fn bits(&self) -> u32 {
        u32::from(self.bits)
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.segments as usize
    }

    /// Bytes of all segments, of the directory, and of what was counted in.
    pub fn bytes(&self) -> usize {
        self.bytes + size_of_val(&*self.slots)
    }

    /// Counts bytes that live beside the segments.
    pub fn count_bytes(&mut self, change: isize) {
        self.bytes = self.bytes.checked_add_signed(change).expect("no more bytes go than came");
    }

    /// The slot of a position.
    #[inline]
    pub fn slot(&self, position: u32) -> usize {
        (u64::from(position) >> (POSITION_BITS - self.bits())) as usize
    }

    /// The slots of the segment that a slot names.
    pub fn run(&self, slot: usize) -> Range<usize> {
        let len = 1 << (self.bits() - self.slots[slot].page().depth());
        let start = slot & !(len - 1);
        start..start + len
    }

    /// The positions of the segment that a slot names; the end may be 2^32.
    pub fn positions(&self, slot: usize) -> Range<u64> {
        let run = self.run(slot);
        let shift = POSITION_BITS - self.bits();
        (run.start as u64) << shift..(run.end as u64) << shift
    }

    /// The segment of a position; None when there is none at all.
    #[inline]
    pub fn get(&self, position: u32) -> Option<&Records<V>> {
        self.slots.get(self.slot(position)).map(|records| &**records)
    }

    /// The segment that a slot names.
    #[inline]
    pub fn segment(&self, slot: usize) -> &Records<V> {
        &self.slots[slot]
    }

    /// The segment of a position, for changes in place.
    #[inline]
    pub fn get_mut(&mut self, position: u32) -> Option<&mut RecordPage<V>> {
        let slot = self.slot(position);
        self.slots.get_mut(slot).map(|records| &mut ***records)
    }

    /// Changes the segment that a slot names; it may move.
    pub fn update<R>(&mut self, slot: usize, change: impl FnOnce(&mut Records<V>) -> R) -> R {
        let page = self.slots[slot].page();
        let (depth, capacity) = (page.depth(), page.capacity_bytes());
        let address = self.slots[slot].address();
        let update = Update { directory: self, slot, depth, capacity, address };
        change(&mut update.directory.slots[slot])
    }

    /// Makes the first segment, of all positions.
    pub fn open(&mut self) {
        assert!(self.is_empty());
        let first = Records::new();
        self.bytes += first.page().capacity_bytes();
        self.slots = Box::new([ManuallyDrop::new(first)]);
        (self.segments, self.deepest) = (1, 1);
    }

    /// Splits the segment that a slot names in two, doubling the directory when it must. `goes_right` says of a
    /// record whether its position is in the upper half. Returns whether the directory has doubled.
    pub fn split(&mut self, slot: usize, goes_right: impl FnMut(Record<'_, V>) -> bool) -> bool {
        let depth = self.slots[slot].page().depth();
        let right = self.update(slot, |records| records.split(goes_right));
        let doubles = depth == self.bits();
        if doubles {
            self.double();
        }
        let run = self.run(if doubles { slot * 2 } else { slot });
        self.bytes += right.page().capacity_bytes();
        self.segments += 1;
        if depth + 1 == self.bits() {
            self.deepest += 2;
        }
        self.slots[run.start].set_depth(depth + 1);
        self.fill(run.start + run.len() / 2..run.end, right, depth + 1);
        doubles
    }

    /// The segment of the other half of what was one segment before, if it has not been split further: it has
    /// the same depth as the segment that the slot names, and the two could be merged.
    pub fn buddy(&self, slot: usize) -> Option<(usize, &Records<V>)> {
        let run = self.run(slot);
        if run.len() == self.slots.len() {
            return None;
        }
        let buddy = run.start ^ run.len();
        (self.run(buddy).len() == run.len()).then(|| (buddy, self.segment(buddy)))
    }

    /// Merges the segment that a slot names with its buddy, which it has.
    pub fn merge(&mut self, slot: usize) {
        let run = self.run(slot);
        let (buddy, _) = self.buddy(slot).expect("there is a buddy");
        let depth = self.slots[slot].page().depth();
        let both = run.start & !run.len()..(run.start | run.len()) + run.len();
        // SAFETY: the copy in `merged` replaces both runs below; until then nothing can panic but the join itself,
        // which happens before anything has changed.
        let mut merged = unsafe { duplicate(&self.slots[run.start]) };
        // SAFETY: as above; all handles of the buddy are overwritten by `fill`.
        let mut gone = unsafe { duplicate(&self.slots[buddy]) };
        let before = merged.page().capacity_bytes() + gone.page().capacity_bytes();
        merged.absorb(&mut gone);
        self.bytes = self.bytes - before + merged.page().capacity_bytes();
        self.segments -= 1;
        if depth == self.bits() {
            self.deepest -= 2;
        }
        self.fill(both, ManuallyDrop::into_inner(merged), depth - 1);
    }

    /// Halves the directory when no segment needs its last bit; says whether it did.
    pub fn halve(&mut self) -> bool {
        if self.deepest > 0 || self.bits == 0 {
            return false;
        }
        // SAFETY: every second handle: each run has a power of two, and not one, of equal handles (D1), so none is
        // lost; the old array is dropped without dropping segments.
        self.slots = self.slots.iter().step_by(2).map(|records| unsafe { duplicate(records) }).collect();
        self.bits -= 1;
        self.deepest =
            self.iter().filter(|(_, records)| records.page().depth() == self.bits()).count() as u32;
        true
    }

    /// Frees everything.
    pub fn clear(&mut self) {
        *self = Directory::new();
    }

    /// The segments in order of position, each with the first slot of its run.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Records<V>)> {
        let mut slot = 0;
        std::iter::from_fn(move || {
            let records = self.slots.get(slot)?;
            let at = slot;
            slot = self.run(slot).end;
            Some((at, &**records))
        })
    }

    /// Panics unless the invariants hold.
    pub fn check_invariants(&self) {
        let (mut bytes, mut segments, mut deepest) = (0, 0, 0);
        for (slot, records) in self.iter() {
            let run = self.run(slot);
            assert_eq!(run.start, slot, "D1: a run starts at a multiple of its length");
            assert!(self.slots[run].iter().all(|r| r.address() == records.address()), "D1: slot {slot}");
            bytes += records.page().capacity_bytes();
            segments += 1;
            deepest += u32::from(records.page().depth() == self.bits());
        }
        assert!(self.is_empty() || self.slots.len() == 1 << self.bits, "D1");
        assert!(bytes <= self.bytes, "D2: {bytes} bytes, counted {}", self.bytes);
        assert_eq!((segments, deepest), (self.segments, self.deepest), "D2");
    }

    fn double(&mut self) {
        // SAFETY: the copies replace the originals: the old array is dropped without dropping segments.
        let twice = self.slots.iter().flat_map(|records| unsafe { [duplicate(records), duplicate(records)] });
        self.slots = twice.collect();
        self.bits += 1;
        self.deepest = 0;
    }

    /// Makes `records` the segment of a run.
    fn fill(&mut self, run: Range<usize>, mut records: Records<V>, depth: u32) {
        records.set_depth(depth);
        let records = ManuallyDrop::new(records);
        for slot in &mut self.slots[run] {
            // SAFETY: the directory owns the segment from here on, once (D1).
            *slot = unsafe { duplicate(&records) };
        }
    }
}

impl<V: IntoRaw> Default for Directory<V> {
    fn default() -> Self {
        Directory::new()
    }
}

impl<V: IntoRaw> Drop for Directory<V> {
    fn drop(&mut self) {
        let mut slot = 0;
        while slot < self.slots.len() {
            let run = self.run(slot);
            // SAFETY: the run's handles are all copies of this one (D1), and none is used again.
            unsafe { ManuallyDrop::drop(&mut self.slots[run.start]) };
            slot = run.end;
        }
    }
}

/// A segment being changed; whatever happens, its run gets the handle that it has afterwards.
struct Update<'a, V: IntoRaw> {
    directory: &'a mut Directory<V>,
    slot: usize,
    depth: u32,
    capacity: usize,
    address: usize,
}

impl<V: IntoRaw> Drop for Update<'_, V> {
    fn drop(&mut self) {
        let Update { directory, slot, depth, capacity, address } = self;
        let records = &mut directory.slots[*slot];
        records.set_depth(*depth);
        directory.bytes = directory.bytes - *capacity + records.page().capacity_bytes();
        if records.address() != *address {
            // SAFETY: the copies replace stale handles of the same run (D1).
            let moved = unsafe { duplicate(records) };
            let run = directory.run(*slot);
            for slot in &mut directory.slots[run] {
                // SAFETY: as above.
                *slot = unsafe { duplicate(&moved) };
            }
        }
    }
}

/// # Safety
/// Only one of the copies may be used to change or drop the segment, or the others are overwritten first.
unsafe fn duplicate<V: IntoRaw>(records: &ManuallyDrop<Records<V>>) -> ManuallyDrop<Records<V>> {
    // SAFETY: a bitwise copy of a pointer that is not dropped; the rest is the caller's promise.
    unsafe { std::ptr::read(records) }
}
