//! The bytes of one segment, seen in place: find, open, resize and close entries within the room there is.

mod find;
mod gather;
mod group;

use super::probe::{self, LANES};
use crate::heap;
pub(super) use group::GROUP_BYTES;
use group::{anchor_of, lengths, tags};

/// Bytes of the count of references, which come before the page in a segment's allocation.
pub(super) const REFS_BYTES: usize = 4;
/// Bytes of a page before the first group.
pub(super) const HEADER_BYTES: usize = 12;
/// The longest entry. 16 of them stay below 64 KB, so that wrapped anchors can be unrolled (I5).
pub const ENTRY_BYTES_MAX: usize = 4000;

/// A segment gives memory back when a smaller capacity would leave it this part of its content as room to grow.
const SHRINK_SPARE: usize = 16;
/// Smaller capacities than this have the same step as this one.
const STEPS_FROM: usize = 65;
/// Length byte of an entry whose true length stands in a u16 after it.
pub(super) const LONG: u8 = 255;
/// Bits of the depth byte that are the depth.
const DEPTH: u32 = 0x3F;
/// Bit of the depth byte: there may be holes below `slots`.
const HOLES: u32 = 0x80;
/// Bit of the depth byte, free for the owner of the entries.
const MARK: u32 = 0x40;

const USED_AT: usize = 0;
const CAP_AT: usize = 4;
const SHAPE_AT: usize = 8;

const _: () = assert!(LANES * (ENTRY_BYTES_MAX + 2) < 1 << 16);
const _: () = assert!(HEADER_BYTES == SHAPE_AT + 4 && GROUP_BYTES == 34);

/// A segment's bytes after its count of references, which other threads may be changing. Entries are opaque; see the
/// head of the [module](super) for the layout and the invariants.
#[repr(transparent)]
pub struct Page([u8]);

/// Where an entry lies. Valid until the page changes; a stale one reads wrong bytes or panics, no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    index: u32,
    start: u32,
    len: u32,
}

impl Slot {
    /// The slot's number; it stays the same as long as the entry lives in this segment.
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// An entry of a run, which starts at this byte of it.
    #[inline]
    pub(super) fn of_run(index: usize, start: usize, len: usize) -> Slot {
        Slot { index: index as u32, start: start as u32, len: len as u32 }
    }

    /// The entry of slot `index`, which lies below the end of the page by `below` bytes.
    #[inline]
    pub(super) fn below(page: &Page, index: usize, below: usize, len: usize) -> Slot {
        Slot { index: index as u32, start: (page.0.len() - below) as u32, len: len as u32 }
    }

    pub(super) fn len(self) -> usize {
        self.len as usize
    }

    pub(super) fn start(self) -> usize {
        self.start as usize
    }

    /// The same entry after the page has moved.
    pub(super) fn at(self, start: usize) -> Slot {
        Slot { start: start as u32, ..self }
    }
}

impl Page {
    pub(super) fn of(bytes: &[u8]) -> &Page {
        // SAFETY: `Page` is a transparent wrapper, so both slices have the same layout and metadata.
        unsafe { &*(std::ptr::from_ref(bytes) as *const Page) }
    }

    pub(super) fn of_mut(bytes: &mut [u8]) -> &mut Page {
        // SAFETY: as in `of`; the exclusive borrow passes on.
        unsafe { &mut *(std::ptr::from_mut(bytes) as *mut Page) }
    }

    /// Writes how long the segment is: all that the header of an empty page holds.
    pub(super) fn note_capacity(&mut self) {
        self.set_word(CAP_AT, self.capacity_bytes() as u32);
    }

    /// Slots in use, holes among them.
    #[inline]
    pub fn slots(&self) -> usize {
        (self.word(SHAPE_AT) >> 8) as usize
    }

    /// Bytes of all entries.
    #[inline]
    pub fn used_bytes(&self) -> usize {
        self.word(USED_AT) as usize
    }

    /// Bytes of the segment's allocation.
    #[inline]
    pub fn capacity_bytes(&self) -> usize {
        REFS_BYTES + self.0.len()
    }

    /// Bytes that the content needs: header, groups and entries.
    #[inline]
    pub fn content_bytes(&self) -> usize {
        REFS_BYTES + self.front_bytes() + self.used_bytes()
    }

    /// How often the hash space was halved to get here: free for the directory's use, below 64.
    #[inline]
    pub fn depth(&self) -> u32 {
        self.word(SHAPE_AT) & DEPTH
    }

    pub(super) fn set_depth(&mut self, depth: u32) {
        debug_assert!(depth < 64);
        self.set_word(SHAPE_AT, self.word(SHAPE_AT) & !DEPTH | depth);
    }

    /// Number of entries.
    pub fn live(&self) -> usize {
        if !self.has_holes() {
            return self.slots();
        }
        let free: u32 = self.groups().iter().map(|g| probe::matches(tags(g), 0).count_ones()).sum();
        self.groups().len() * LANES - free as usize
    }

    /// Whether the content is so small that [`shrink`](super::Segment::shrink) would give memory back.
    #[inline]
    pub fn is_sparse(&self) -> bool {
        let content = self.content_bytes();
        let needed = content + content / SHRINK_SPARE;
        // To save less than a quarter is not worth a copy. Tested first, as it mostly says no.
        needed <= self.capacity_bytes() / 4 * 3 && capacity_for(needed) < self.capacity_bytes()
    }

    /// The entry of a slot by its number; None for a hole or a number beyond the last.
    #[inline]
    pub fn slot(&self, index: usize) -> Option<Slot> {
        if index >= self.slots() || self.tag(index) == 0 {
            return None;
        }
        Some(self.locate(index))
    }

    /// The bytes of an entry.
    #[inline]
    pub fn entry(&self, slot: Slot) -> &[u8] {
        &self.0[slot.start as usize..][..slot.len as usize]
    }

    /// The bytes of an entry, to be changed in place.
    #[inline]
    pub fn entry_mut(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.0[slot.start as usize..][..slot.len as usize]
    }

    /// The tag of a slot; 0 for a hole.
    pub fn tag(&self, index: usize) -> u8 {
        self.groups()[index / LANES][index % LANES]
    }

    /// The tags of all slots in order; that of a hole is 0.
    #[inline]
    pub fn tags(&self) -> impl Iterator<Item = u8> {
        self.groups().iter().flat_map(tags).copied().take(self.slots())
    }

    /// Bytes that one more entry of `len` bytes takes from the free room, at most.
    pub fn insert_bytes(&self, len: usize) -> usize {
        let opens_group = self.slots().is_multiple_of(LANES);
        footprint_of(len) + if opens_group { GROUP_BYTES } else { 0 }
    }

    /// Bytes that changing an entry to `len` bytes takes from the free room, at most.
    pub(super) fn resize_bytes(slot: Slot, len: usize) -> usize {
        footprint_of(len).saturating_sub(footprint_of(slot.len as usize))
    }

    /// Bytes between groups and entries.
    pub(super) fn free_bytes(&self) -> usize {
        self.capacity_bytes() - self.content_bytes()
    }

    /// Adds an entry of `len` bytes of any content. The caller has made room for it.
    pub(super) fn open(&mut self, tag: u8, len: usize) -> Slot {
        assert!(tag != 0 && len <= ENTRY_BYTES_MAX, "tag {tag}, {len} bytes");
        let (index, below) = match self.take_hole() {
            Some(index) => (index, self.below(index)),
            None => (self.append_slot(), self.used_bytes()),
        };
        self.group_mut(index)[index % LANES] = tag;
        let empty = Slot { index: index as u32, start: (self.0.len() - below) as u32, len: 0 };
        self.resize(empty, len)
    }

    /// Changes the length of an entry; its content is then any. The caller has made room for it.
    pub(super) fn resize(&mut self, slot: Slot, len: usize) -> Slot {
        assert!(len <= ENTRY_BYTES_MAX, "entry of {len} bytes");
        debug_assert!(slot.len == 0 || self.slot(slot.index()) == Some(slot), "stale slot");
        let index = slot.index();
        let (old, new) = (footprint_of(slot.len as usize), footprint_of(len));
        let top = slot.start as usize + old;
        self.shift_entries(index, slot.start as usize, new as isize - old as isize);
        self.group_mut(index)[LANES + index % LANES] = len.min(LONG as usize) as u8;
        if len >= LONG as usize {
            self.0[top - 2..top].copy_from_slice(&(len as u16).to_le_bytes());
        }
        Slot { index: slot.index, start: (top - new) as u32, len: len as u32 }
    }

    /// Removes an entry and closes its gap.
    pub(super) fn close(&mut self, slot: Slot) {
        self.resize(slot, 0);
        let index = slot.index();
        self.group_mut(index)[index % LANES] = 0;
        let shape = self.word(SHAPE_AT);
        if index + 1 < self.slots() {
            return self.set_word(SHAPE_AT, shape | HOLES);
        }
        let slots = (0..index).rev().find(|&i| self.tag(i) != 0).map_or(0, |i| i + 1);
        let holes = if slots == 0 { 0 } else { shape & HOLES };
        self.set_word(SHAPE_AT, (slots as u32) << 8 | shape & (DEPTH | MARK) | holes);
    }

    /// Removes an entry without keeping the order of the others: one of the last that is as long takes its place, so that few others move.
    pub(super) fn swap_remove(&mut self, slot: Slot) {
        let Some(late) = self.late_one_as_long_as(slot) else { return self.close(slot) };
        if late.index != slot.index {
            let (from, to) = (late.start as usize, slot.start as usize);
            self.0.copy_within(from..from + footprint_of(late.len()), to);
            let (index, tag) = (slot.index(), self.tag(late.index()));
            self.group_mut(index)[index % LANES] = tag;
        }
        // Holes among the last slots would have to stay where they are.
        if self.has_holes() {
            self.close(late);
        } else if late.index() + 1 == self.slots() {
            self.pop(late);
        } else {
            self.close_slot(late);
        }
    }

    /// Removes the last entry, which lies below all others, from a page without holes.
    fn pop(&mut self, last: Slot) {
        let (group, lane) = (self.group_mut(last.index()), last.index() % LANES);
        (group[lane], group[LANES + lane]) = (0, 0);
        self.set_word(USED_AT, self.word(USED_AT) - footprint_of(last.len()) as u32);
        self.set_word(SHAPE_AT, self.word(SHAPE_AT) - (1 << 8));
    }

    /// The last entry of this length, if it is in one of the last two groups. Most often it is the last of all.
    #[inline]
    fn late_one_as_long_as(&self, slot: Slot) -> Option<Slot> {
        let last = self.last();
        if last.len == slot.len {
            return Some(last);
        }
        if slot.len == 0 || slot.len >= u32::from(LONG) {
            return None;
        }
        let slots = self.slots();
        self.groups().iter().enumerate().rev().take(2).find_map(|(g, group)| {
            let lanes = probe::matches(lengths(group), slot.len as u8) & lanes_below(slots - g * LANES);
            (lanes != 0).then(|| self.locate(g * LANES + lanes.ilog2() as usize))
        })
    }

    /// The last entry, of a page that has one: it lies below all others.
    #[inline]
    fn last(&self) -> Slot {
        let last = self.slots() - 1;
        match self.groups()[last / LANES][LANES + last % LANES] {
            LONG => self.locate(last),
            len => Slot::below(self, last, self.used_bytes(), usize::from(len)),
        }
    }

    /// Removes an entry and its slot too, so that those after it keep their order. O(slots).
    pub(super) fn close_slot(&mut self, slot: Slot) {
        self.resize(slot, 0);
        let (index, last) = (slot.index(), self.slots() - 1);
        for g in index / LANES..=last / LANES {
            let from = if g == index / LANES { index % LANES } else { 0 };
            let next = (g + 1) * LANES;
            let moves_in = (next <= last).then(|| self.first_of(g + 1));
            let group = self.group_mut(g * LANES);
            group.copy_within(from + 1..LANES, from);
            group.copy_within(LANES + from + 1..2 * LANES, LANES + from);
            let (tag, len, footprint) = moves_in.unwrap_or_default();
            (group[LANES - 1], group[2 * LANES - 1]) = (tag, len);
            if next <= last {
                let group = self.group_mut(next);
                let anchor = anchor_of(group).wrapping_add(footprint as u16);
                group[2 * LANES..].copy_from_slice(&anchor.to_le_bytes());
            }
        }
        self.set_word(SHAPE_AT, self.word(SHAPE_AT) - (1 << 8));
    }

    /// Tag, length byte and footprint of the first slot of a group.
    fn first_of(&self, g: usize) -> (u8, u8, usize) {
        let group = &self.groups()[g];
        (group[0], group[LANES], self.footprint_below(g * LANES, self.anchor(g)))
    }

    /// Whether the owner of the entries has set its mark.
    #[inline]
    pub(super) fn is_marked(&self) -> bool {
        self.word(SHAPE_AT) & MARK != 0
    }

    /// Sets the mark of the owner of the entries; copies inherit it, splits and joins do not.
    pub(super) fn set_mark(&mut self) {
        self.set_word(SHAPE_AT, self.word(SHAPE_AT) | MARK);
    }

    /// Panics unless the invariants of the [module](super) hold.
    pub fn check_invariants(&self) {
        assert_eq!(self.word(CAP_AT) as usize, self.capacity_bytes(), "I1");
        assert!(self.content_bytes() <= self.capacity_bytes(), "I2");
        let (slots, mut below) = (self.slots(), 0);
        assert!(slots == 0 || self.tag(slots - 1) != 0, "I3: the last slot is a hole");
        for index in 0..self.groups().len() * LANES {
            if index % LANES == 0 {
                assert_eq!(self.anchor(index / LANES), below, "I5: anchor of slot {index}");
            }
            let footprint = self.footprint_below(index, below);
            assert!(self.tag(index) != 0 || footprint == 0, "I4: hole {index} has bytes");
            assert!(index < slots || self.tag(index) == 0, "I4: slot {index} is beyond the last");
            assert!(self.has_holes() || index >= slots || self.tag(index) != 0, "I4: hole {index} unmarked");
            below += footprint;
        }
        assert_eq!(below, self.used_bytes(), "I2");
    }

    pub(super) fn has_holes(&self) -> bool {
        self.word(SHAPE_AT) & HOLES != 0
    }

    /// Bytes of header and groups.
    pub(super) fn front_bytes(&self) -> usize {
        HEADER_BYTES + self.slots().div_ceil(LANES) * GROUP_BYTES
    }

    #[inline]
    pub(super) fn groups(&self) -> &[[u8; GROUP_BYTES]] {
        self.0[HEADER_BYTES..self.front_bytes()].as_chunks().0
    }

    /// The group of a slot. Also serves the group that is just being opened.
    fn group_mut(&mut self, index: usize) -> &mut [u8; GROUP_BYTES] {
        let at = HEADER_BYTES + index / LANES * GROUP_BYTES;
        self.0[at..].first_chunk_mut().expect("I2: groups lie inside the page")
    }

    /// The last hole, so that as few entries as possible move. Clears the mark when there is none.
    fn take_hole(&mut self) -> Option<usize> {
        if !self.has_holes() {
            return None;
        }
        let slots = self.slots();
        let hole = self.groups().iter().enumerate().rev().find_map(|(g, group)| {
            let lanes = probe::matches(tags(group), 0) & lanes_below(slots - g * LANES);
            (lanes != 0).then(|| g * LANES + lanes.ilog2() as usize)
        });
        if hole.is_none() {
            self.set_word(SHAPE_AT, self.word(SHAPE_AT) & !HOLES);
        }
        hole
    }

    fn append_slot(&mut self) -> usize {
        let index = self.slots();
        if index.is_multiple_of(LANES) {
            let anchor = self.used_bytes() as u16;
            let group = self.group_mut(index);
            group.fill(0);
            group[2 * LANES..].copy_from_slice(&anchor.to_le_bytes());
        }
        self.set_word(SHAPE_AT, self.word(SHAPE_AT) + (1 << 8));
        index
    }

    /// Moves all entries after slot `index`, which end at `end`, by `grow` bytes down, and everything that counts them.
    fn shift_entries(&mut self, index: usize, end: usize, grow: isize) {
        if grow == 0 {
            return;
        }
        let start = self.0.len() - self.used_bytes();
        if start < end {
            self.0.copy_within(start..end, start.wrapping_add_signed(-grow));
        }
        self.set_word(USED_AT, self.word(USED_AT).wrapping_add_signed(grow as i32));
        let later = HEADER_BYTES + (index / LANES + 1) * GROUP_BYTES..self.front_bytes();
        if !later.is_empty() {
            for group in self.0[later].as_chunks_mut::<GROUP_BYTES>().0 {
                let anchor = anchor_of(group).wrapping_add_signed(grow as i16);
                group[2 * LANES..].copy_from_slice(&anchor.to_le_bytes());
            }
        }
    }

    #[inline]
    fn word(&self, at: usize) -> u32 {
        let header: &[u8; HEADER_BYTES] = self.0.first_chunk().expect("I1: a page has a header");
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    }

    fn set_word(&mut self, at: usize, word: u32) {
        self.0[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
}

/// The capacity that a segment of this many bytes gets: one of eight per doubling (of four up to 1 KB, where
/// the allocator has no more), whatever finer sizes the heap has. Each size in use leaves some free blocks,
/// and segments pass through many: finer steps cost more than they save.
#[inline]
pub(super) fn capacity_for(bytes: usize) -> usize {
    let step = 1 << ((bytes.max(STEPS_FROM) - 1).ilog2() - 3);
    heap::class_size(bytes.next_multiple_of(step))
}

/// Bytes that an entry of `len` bytes takes: a long one carries its length in a u16.
pub(super) fn footprint_of(len: usize) -> usize {
    if len < usize::from(LONG) { len } else { len + 2 }
}

/// A mask of the lanes below `count`.
fn lanes_below(count: usize) -> u32 {
    if count >= LANES { 0xFFFF } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests;
