//! The entries of a page one after the other: what scans, splits, copies and samples go by.
//!
//! A walk adds up lengths instead of asking for the place of each entry, and looks at the header once.

use super::page::{GROUP_BYTES, LONG, Page, Slot};
use super::probe::LANES;
use std::slice;

/// Iterator over a page's entries.
#[derive(Clone)]
pub struct Entries<'a>(Walk<'a>);

impl<'a> Entries<'a> {
    pub(super) fn of(page: &'a Page) -> Self {
        Entries(Walk::of(page))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Slot, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (step, page) = (self.0.next()?, self.0.page);
        let len = if step.len_byte == LONG { step.footprint - 2 } else { step.footprint };
        let slot = Slot::below(page, step.index, step.below + step.footprint, len);
        Some((slot, page.entry(slot)))
    }
}

/// A walk from slot to slot, over holes.
#[derive(Clone)]
pub(super) struct Walk<'a> {
    page: &'a Page,
    /// The group of the next slot; once that is the first of another one, the group before.
    group: &'a [u8; GROUP_BYTES],
    /// The groups after it.
    groups: slice::Iter<'a, [u8; GROUP_BYTES]>,
    slots: usize,
    index: usize,
    below: usize,
}

/// An entry on the walk.
pub(super) struct Step {
    pub index: usize,
    pub tag: u8,
    pub len_byte: u8,
    /// Bytes of the entries before it.
    pub below: usize,
    pub footprint: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn of(page: &'a Page) -> Self {
        let groups = page.groups().iter();
        Walk { page, group: &[0; GROUP_BYTES], groups, slots: page.slots(), index: 0, below: 0 }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Step> {
        while self.index < self.slots {
            let (index, below, lane) = (self.index, self.below, self.index % LANES);
            if lane == 0 {
                self.group = self.groups.next()?;
            }
            let (tag, len_byte) = (self.group[lane], self.group[LANES + lane]);
            let footprint = match len_byte {
                LONG => self.page.footprint_below(index, below),
                len => usize::from(len),
            };
            self.index += 1;
            self.below += footprint;
            if tag != 0 {
                return Some(Step { index, tag, len_byte, below, footprint });
            }
        }
        None
    }
}
