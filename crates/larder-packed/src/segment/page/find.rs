//! Where entries lie: by tag, by slot.

use super::super::probe::{self, LANES};
use super::group::{GROUP_BYTES, anchor_of, lengths, tags};
use super::{HEADER_BYTES, LONG, Page, Slot};

/// Groups whose tags are compared at once.
const AT_ONCE: usize = 4;
/// Groups of a segment of usual size, at most.
const USUAL: usize = 2 * AT_ONCE;

impl Page {
    /// The first entry with this tag that `is` accepts.
    ///
    /// The tags of four groups of a segment of usual size are compared at once, whether used or not, as the number of groups that a
    /// loop would visit is a branch that the processor cannot guess. Most entries are among these; eight groups are a line or two more, and
    /// these may have to come from memory.
    #[inline]
    pub fn find(&self, tag: u8, mut is: impl FnMut(&[u8]) -> bool) -> Option<Slot> {
        debug_assert!(tag != 0, "tag 0 marks empty slots");
        let slots = self.slots();
        let front = self.0[HEADER_BYTES..].first_chunk::<{ USUAL * GROUP_BYTES }>();
        let usual = slots <= USUAL * LANES && self.0.len() <= 1 << 16;
        let (Some(front), true) = (front, usual) else {
            return self.find_by_group(tag, is);
        };
        let (fours, _) = front.as_chunks::<GROUP_BYTES>().0.as_chunks::<AT_ONCE>();
        for (first, groups) in (0..).step_by(AT_ONCE).zip(fours) {
            let mut hits = groups.iter().enumerate().fold(0_u64, |hits, (g, group)| {
                hits | u64::from(probe::matches(tags(group), tag)) << (g * LANES)
            });
            let left = slots.saturating_sub(first * LANES);
            hits &= u64::MAX.checked_shr(u64::BITS.saturating_sub(left as u32)).unwrap_or(0);
            while hits != 0 {
                let index = hits.trailing_zeros() as usize;
                let (group, lane) = (&groups[index / LANES], index % LANES);
                let slot = self.locate_in(group, usize::from(anchor_of(group)), first + index / LANES, lane);
                if is(self.entry(slot)) {
                    return Some(slot);
                }
                hits &= hits - 1;
            }
            if left <= AT_ONCE * LANES {
                break;
            }
        }
        None
    }

    /// As [`find`](Self::find), for segments that are very small or overflow.
    fn find_by_group(&self, tag: u8, mut is: impl FnMut(&[u8]) -> bool) -> Option<Slot> {
        let mut before = 0;
        for (g, group) in self.groups().iter().enumerate() {
            before = unroll(before, group);
            let mut hits = probe::matches(tags(group), tag);
            while hits != 0 {
                let slot = self.locate_in(group, before, g, hits.trailing_zeros() as usize);
                if is(self.entry(slot)) {
                    return Some(slot);
                }
                hits &= hits - 1;
            }
        }
        None
    }

    #[inline]
    pub(super) fn locate(&self, index: usize) -> Slot {
        let g = index / LANES;
        self.locate_in(&self.groups()[g], self.anchor(g), g, index % LANES)
    }

    /// The slot of a group's lane; `before` bytes lie in the groups before it.
    #[inline]
    fn locate_in(&self, group: &[u8; GROUP_BYTES], before: usize, g: usize, lane: usize) -> Slot {
        let (sum, long) = probe::sum_through(lengths(group), lane);
        let index = (g * LANES + lane) as u32;
        if long {
            return self.locate_long(index, before);
        }
        let start = (self.0.len() - before) as u32 - sum;
        Slot { index, start, len: u32::from(lengths(group)[lane]) }
    }

    #[cold]
    fn locate_long(&self, index: u32, mut below: usize) -> Slot {
        for earlier in index as usize / LANES * LANES..index as usize {
            below += self.footprint_below(earlier, below);
        }
        let footprint = self.footprint_below(index as usize, below);
        let len = if footprint > usize::from(LONG) { footprint - 2 } else { footprint };
        Slot { index, start: (self.0.len() - below - footprint) as u32, len: len as u32 }
    }

    /// Bytes of all entries in slots below `index`.
    pub(super) fn below(&self, index: usize) -> usize {
        let g = index / LANES;
        let before = self.anchor(g);
        match index % LANES {
            0 => before,
            lane => self.0.len() - self.locate_in(&self.groups()[g], before, g, lane - 1).start as usize,
        }
    }

    /// Bytes before a group. A u16 holds it all in any but an overflowing segment.
    pub(super) fn anchor(&self, g: usize) -> usize {
        if self.used_bytes() <= usize::from(u16::MAX) {
            return usize::from(anchor_of(&self.groups()[g]));
        }
        self.groups()[..=g].iter().fold(0, unroll)
    }

    /// Bytes of the entry in slot `index`, its length mark included, when `below` bytes lie in the slots before it.
    #[inline]
    pub(in super::super) fn footprint_below(&self, index: usize, below: usize) -> usize {
        let len = self.groups()[index / LANES][LANES + index % LANES];
        if len != LONG {
            return usize::from(len);
        }
        let top = self.0.len() - below;
        2 + usize::from(u16::from_le_bytes([self.0[top - 2], self.0[top - 1]]))
    }
}

/// The true anchor of the group that follows one whose true anchor is `before`: groups hold less than 64 KB (I5).
#[inline]
pub(super) fn unroll(before: usize, group: &[u8; GROUP_BYTES]) -> usize {
    before + usize::from(anchor_of(group).wrapping_sub(before as u16))
}
