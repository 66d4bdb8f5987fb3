//! All entries of a page: to look at, and to fill another page with.

use super::super::entries::{Entries, Walk};
use super::super::probe::LANES;
use super::{Page, SHAPE_AT, USED_AT};
use std::ops::Range;

impl Page {
    /// All entries in slot order.
    pub fn entries(&self) -> Entries<'_> {
        Entries::of(self)
    }

    /// Makes this empty page one of the entries of `from` that stay, in their order and without holes. The caller has made
    /// room for them. What stays side by side is copied in one piece.
    pub(in super::super) fn gather(&mut self, from: &Page, stays: impl Fn(usize) -> bool) {
        let (mut slots, mut used, mut copied) = (0, 0, 0);
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
        self.set_word(SHAPE_AT, (slots as u32) << 8);
    }

    /// Copies what lies `range` below the end of another page, so that it ends up `used` below the end of this one.
    fn copy_below(&mut self, used: usize, from: &Page, range: Range<usize>) {
        let (start, from_start) = (self.0.len() - used, from.0.len() - range.end);
        self.0[start..][..range.len()].copy_from_slice(&from.0[from_start..][..range.len()]);
    }
}
