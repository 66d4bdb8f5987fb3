//! Compressing the parts of a large hash that nobody has used for a while: see [`crate::cold::parts`].
//!
//! Values of more than 128 bytes lie out of line, and are compressed one by one. A segment without such a value is compressed as a whole.
//!
//! A hash that is compressed as a whole (see [`crate::cold`]) becomes so before its parts have waited long enough. Hashes that share their
//! table with a clone are left alone. Tested by `cold_tests.rs`.

use super::{Form, Hash};
use crate::cold::parts::{self, Part, PartDone, PartJobs, PartSums, Spent};
use crate::table::{FieldValue, Table};
use larder_packed::segment::Need;

impl Hash {
    /// Whether parts of the hash may be compressed one by one: it has a segment. Hashes of few and short fields have none.
    pub fn has_cold_parts(&self) -> bool {
        matches!(&self.form, Form::Table(table) if table.as_run().is_none())
    }

    /// Number of compressed segments. O(1).
    pub fn cold_segments(&self) -> usize {
        self.table().map_or(0, Table::cold_segments)
    }

    /// Adds jobs for parts from a position on, 0 at first: to compress those that were not used for
    /// [`UNUSED_WALKS`](larder_packed::segment::UNUSED_WALKS) walks, to make plain those that are read repeatedly, and to free plain copies.
    /// Counts the walk for each part. With `all`, every part that may shrink is compressed.
    ///
    /// A call ends with the segment in which the parts to be compressed reach `max_bytes`. Returns the position to continue from, or None at the
    /// end.
    pub fn cold_jobs(&self, from: u32, all: bool, max_bytes: usize, out: &mut PartJobs) -> Option<u32> {
        let Form::Table(table) = &self.form else { return None };
        if let Some(rows) = table.as_segment() {
            out.add_values(rows, all, max_bytes);
            return None;
        }
        table.walk_segments(from, |at, segment| match segment.plain() {
            Some(rows) if rows.may_have_outs() => out.add_values(rows, all, max_bytes),
            _ => out.add_segment((at, segment), Table::<FieldValue>::tag_of, all, max_bytes),
        })
    }

    /// Sums up the parts, with some samples of those that could be compressed. O(fields).
    pub fn part_sums(&self, samples: usize) -> PartSums {
        let mut sums = PartSums::new(samples);
        if let Form::Table(table) = &self.form {
            if let Some(rows) = table.as_segment() {
                sums.add_values(rows);
            }
            table.each_segment(|segment| {
                sums.add_segment(segment);
                if let Some(rows) = segment.plain() {
                    sums.add_values(rows);
                }
            });
        }
        sums
    }

    /// Puts the result of a job in its place if the part that it was made from is still there. Returns what it has replaced, to be freed when
    /// the shard has been let go.
    pub fn apply_cold(&mut self, done: PartDone) -> Option<Spent> {
        let Form::Table(table) = &mut self.form else { return None };
        let PartDone { part, need, new } = done;
        match (part, new) {
            (Part::Fields(segment), new) => {
                let new = new.map(parts::Form::into_fields);
                table.change_segment(&segment, new).map(|old| Spent::of(parts::Form::Fields(old)))
            }
            (Part::Value { name, old }, Some(parts::Form::Value(new))) => {
                table.change_value(&name, &old, new).then(|| Spent::of(parts::Form::Value(old)))
            }
            (Part::Value { name, old }, _) => {
                if need == Need::Clear {
                    // The copy is freed only if nobody else, such as this job, has the value.
                    drop(old);
                    table.clear_value(&name);
                } else {
                    old.set_stays();
                }
                None
            }
            (Part::Members(_), _) => None,
        }
    }
}

#[cfg(test)]
#[path = "cold_tests.rs"]
mod tests;
