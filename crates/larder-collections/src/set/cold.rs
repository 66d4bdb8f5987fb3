//! Compressing the segments of a large set that nobody has used for a while: see [`crate::cold::parts`].
//!
//! Integers that are packed as such stay so: their blocks hold differences. A set that is compressed as a whole (see [`crate::cold`]) becomes so
//! before its segments have waited long enough. Tested by `cold_tests.rs`.

use super::{Member, Set};
use crate::cold::parts::{Form, Part, PartDone, PartJobs, PartSums, Spent};
use crate::table::Table;
use std::sync::Arc;

impl Set {
    /// Whether segments of the set may be compressed one by one: it has more than one.
    pub fn has_cold_parts(&self) -> bool {
        self.strings().is_some_and(Table::has_segments)
    }

    /// Number of compressed segments. O(1).
    pub fn cold_segments(&self) -> usize {
        self.strings().map_or(0, Table::cold_segments)
    }

    /// Adds jobs for segments from a position on, 0 at first: see [`Hash::cold_jobs`](crate::hash::Hash::cold_jobs).
    pub fn cold_jobs(&self, from: u32, all: bool, max_bytes: usize, out: &mut PartJobs) -> Option<u32> {
        let strings = self.strings().filter(|_| !self.is_shared())?;
        strings.walk_segments(from, |at, segment| {
            out.add_segment((at, segment), Table::<Member>::tag_of, all, max_bytes)
        })
    }

    /// Sums up the segments: see [`Hash::part_sums`](crate::hash::Hash::part_sums). O(members).
    pub fn part_sums(&self, samples: usize) -> PartSums {
        let mut sums = PartSums::new(samples);
        if let Some(strings) = self.strings() {
            strings.each_segment(|segment| sums.add_segment(segment));
        }
        sums
    }

    /// Puts the result of a job in its place: see [`Hash::apply_cold`](crate::hash::Hash::apply_cold).
    pub fn apply_cold(&mut self, done: PartDone) -> Option<Spent> {
        let PartDone { part: Part::Members(segment), new, .. } = done else { return None };
        let strings = match self {
            Set::Ints(_) => return None,
            Set::Strings(strings) => strings,
            Set::Both(parts) => &mut Arc::get_mut(parts)?.strings,
        };
        let old = strings.change_segment(&segment, new.map(Form::into_members))?;
        Some(Spent::of(Form::Members(old)))
    }

    /// Whether a clone shares both parts.
    fn is_shared(&self) -> bool {
        matches!(self, Set::Both(parts) if Arc::strong_count(parts) > 1)
    }
}

#[cfg(test)]
#[path = "cold_tests.rs"]
mod tests;
