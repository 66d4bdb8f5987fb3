//! All entries of a page: to look at, and to fill a page with.

use super::super::entries::{Entries, Walk};
use super::super::probe::LANES;
use super::{ENTRY_BYTES_MAX, GROUP_BYTES, HEADER_BYTES, LONG, Page, SHAPE_AT, USED_AT, footprint_of};
use std::ops::Range;

impl Page {
    /// All entries in slot order.
    pub fn entries(&self) -> Entries<'_> {
        Entries::of(self)
    }

    /// Adds the entries of `from` for whose slots `stays` is true, in their order and without holes, to this page, which has no holes
    /// either. The caller has made room for them. What stays side by side is copied in one piece.
    pub(in super::super) fn gather(&mut self, from: &Page, stays: impl Fn(usize) -> bool) {
        debug_assert!(!self.has_holes());
        let (mut slots, mut used, mut copied) = (self.slots(), self.used_bytes(), 0);
        let mut walk = Walk::of(from);
        while let Some(step) = walk.next() {
            if stays(step.index) {
                let to = self.group_mut(slots);
                if slots % LANES == 0 {
                    to.fill(0);
                    to[2 * LANES..].copy_from_slice(&(used as u16).to_le_bytes());
                }
                (to[slots % LANES], to[LANES + slots % LANES]) = (step.tag, step.len_byte);
                slots += 1;
                used += step.footprint;
            } else {
                self.copy_below(used, from, copied..step.below);
                copied = step.below + step.footprint;
            }
        }
        self.copy_below(used, from, copied..from.used_bytes());
        self.set_word(USED_AT, used as u32);
        self.set_word(SHAPE_AT, (slots as u32) << 8 | self.depth());
    }

    /// Makes this empty page one of these entries, in their order and without holes: the tag of each, its length, and what `write` makes
    /// its bytes of. The caller has made room for them.
    pub(in super::super) fn append_all<T>(
        &mut self,
        entries: impl Iterator<Item = (u8, usize, T)>,
        mut write: impl FnMut(&mut [u8], T),
    ) {
        let (mut slots, mut used) = (0, 0);
        for (tag, len, what) in entries {
            assert!(tag != 0 && len <= ENTRY_BYTES_MAX, "tag {tag}, {len} bytes");
            let (group_at, lane) = (HEADER_BYTES + slots / LANES * GROUP_BYTES, slots % LANES);
            let (before, top) = (used, self.0.len() - used);
            used += footprint_of(len);
            assert!(group_at + GROUP_BYTES + used <= self.0.len(), "I2: no room for {slots} entries");
            let start = self.0.len() - used;
            let group = &mut self.0[group_at..][..GROUP_BYTES];
            if lane == 0 {
                group.fill(0);
                group[2 * LANES..].copy_from_slice(&(before as u16).to_le_bytes());
            }
            (group[lane], group[LANES + lane]) = (tag, len.min(usize::from(LONG)) as u8);
            if len >= usize::from(LONG) {
                self.0[top - 2..top].copy_from_slice(&(len as u16).to_le_bytes());
            }
            write(&mut self.0[start..start + len], what);
            slots += 1;
        }
        self.set_word(USED_AT, used as u32);
        self.set_word(SHAPE_AT, (slots as u32) << 8);
    }

    /// Copies what lies `range` below the end of another page, so that it ends up `used` below the end of this one.
    fn copy_below(&mut self, used: usize, from: &Page, range: Range<usize>) {
        let (start, from_start) = (self.0.len() - used, from.0.len() - range.end);
        self.0[start..][..range.len()].copy_from_slice(&from.0[from_start..][..range.len()]);
    }
}
