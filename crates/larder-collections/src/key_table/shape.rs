//! Splits, merges, growth and shrinking: how the segments follow the number of keys.

use super::hash::KeyHash;
use super::{DEPTH_SLACK, KeyTable, SEGMENT_BYTES_MAX, SEGMENT_SLOTS_MAX};
use larder_packed::segment::{IntoRaw, NewValue, Page, Records};

/// Buddies are merged when they fill at most this share of a full segment together. With less, sparse
/// segments stay after a mass deletion; with more, the next insert splits them again.
const MERGE_PERCENT: usize = 85;
/// Content below this share of a full segment makes a change look at the buddy, which costs a cache miss. Of two that could be merged one is below
/// half of [`MERGE_PERCENT`].
const LOOK_PERCENT: usize = MERGE_PERCENT.div_ceil(2);
/// The directory is halved when it has this many slots per segment, or more.
const SLOTS_PER_SEGMENT_MAX: usize = 4;
/// No directory has more than 2^28 slots.
const BITS_MAX: u32 = 28;

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Finds the segment for a new record, after splitting it as often as its limits ask for; returns its slot.
    pub(super) fn make_room(
        &mut self,
        position: u32,
        key: &[u8],
        value: &NewValue<'_, V>,
        expires: bool,
    ) -> usize {
        if self.directory.is_empty() {
            self.directory.open();
        }
        loop {
            let slot = self.directory.slot(position);
            let records = self.directory.segment(slot);
            let page = records.page();
            let full = records.content_with(key, value, expires) > SEGMENT_BYTES_MAX
                || page.slots() >= SEGMENT_SLOTS_MAX && page.live() >= SEGMENT_SLOTS_MAX;
            if !full || !self.may_split(page) {
                return slot;
            }
            self.split(slot);
        }
    }

    /// Changes a record's length, after which its segment may be too large or too empty.
    pub(super) fn change_length<R>(&mut self, position: u32, change: impl FnOnce(&mut Records<V>) -> R) -> R {
        let result = self.directory.update(self.directory.slot(position), change);
        loop {
            let slot = self.directory.slot(position);
            let page = self.directory.segment(slot).page();
            if page.content_bytes() <= SEGMENT_BYTES_MAX || !self.may_split(page) {
                break;
            }
            self.split(slot);
        }
        self.settle(position);
        result
    }

    /// As [`settle`](Self::settle), for a place where one record has gone. As long as its segment has no memory to give back nothing is
    /// done: to look at the buddy costs a cache miss.
    #[inline]
    pub(super) fn settle_one(&mut self, position: u32) {
        if self.len == 0 || self.directory.segment(self.directory.slot(position)).page().is_sparse() {
            self.settle(position);
        }
    }

    /// Gives memory back around a position where records have gone or become shorter.
    pub(super) fn settle(&mut self, position: u32) {
        if self.len == 0 {
            return self.close();
        }
        while self.merges(position) {
            let slot = self.directory.slot(position);
            self.merge_minima(slot);
            self.directory.merge(slot);
            if self.directory.slots() >= SLOTS_PER_SEGMENT_MAX * self.directory.segments()
                && self.directory.halve()
            {
                self.halve_minima();
            }
        }
        let slot = self.directory.slot(position);
        if self.directory.segment(slot).page().is_sparse() {
            self.directory.update(slot, Records::shrink);
        }
    }

    /// How deep a segment may lie, as things are.
    pub(super) fn depth_max(&self) -> u32 {
        (self.directory.segments().ilog2() + DEPTH_SLACK + H::prefix_bits()).min(BITS_MAX)
    }

    fn may_split(&self, page: &Page) -> bool {
        page.live() > 1 && page.depth() < self.depth_max()
    }

    fn split(&mut self, slot: usize) {
        let range = self.directory.positions(slot);
        let middle = (range.start + (range.end - range.start) / 2) as u32;
        let doubled = self.directory.split(slot, |record| H::is_from(record.key(), middle));
        self.split_minima(middle, doubled);
    }

    /// Whether the segment of a position and its buddy should become one.
    fn merges(&self, position: u32) -> bool {
        let slot = self.directory.slot(position);
        let page = self.directory.segment(slot).page();
        if page.content_bytes() * 100 > SEGMENT_BYTES_MAX * LOOK_PERCENT {
            return false;
        }
        let Some((_, buddy)) = self.directory.buddy(slot) else { return false };
        let buddy = buddy.page();
        (page.content_bytes() + buddy.content_bytes()) * 100 <= SEGMENT_BYTES_MAX * MERGE_PERCENT
            && (page.live() + buddy.live()) * 100 <= SEGMENT_SLOTS_MAX * MERGE_PERCENT
    }

    /// The last key has gone.
    fn close(&mut self) {
        self.directory.clear();
        self.close_minima();
        self.sample_bits = 0;
        self.hot = None;
    }
}
