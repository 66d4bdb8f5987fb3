//! Compressing the values of a large hash that nobody has used for a while, and decompressing those that are used again, by a background thread.
//!
//! Only values that lie out of line are compressed, one by one: those of more than 128 bytes. As with the nodes of a stream, the thread
//! collects jobs while it holds the shard ([`Hash::cold_jobs`]), works on shared clones without a lock ([`FieldJob::run`]), and puts each
//! result in its place while it holds the shard again ([`Hash::apply_cold`]), if the value is still the same allocation. Uses are counted by
//! the values themselves, see `larder_packed::segment`.
//!
//! A hash that is compressed as a whole (see [`crate::cold`]) becomes so before its values have waited long enough. Hashes that share their
//! table with a clone are left alone. Tested by `cold_tests.rs`.

use super::{Form, Hash};
use crate::cold::registry::DictionaryRef;
use crate::cold::{ColdParts, forced};
use larder_packed::dictionary::{Compressor, STRING_MAX};
use larder_packed::segment::{Need, OutText};

/// Values of one segment are left for the next walk when they have so many times the bytes that a call may take.
const HELD_TIMES_MAX: usize = 16;

/// A value to compress, to make plain again, or to free the plain copy of.
pub struct FieldJob {
    name: Box<[u8]>,
    old: OutText,
    need: Need,
}

/// The outcome of a [`FieldJob`].
pub struct FieldDone {
    job: FieldJob,
    /// None: there is no other form.
    new: Option<OutText>,
}

/// What a walk has found in a hash.
#[derive(Default)]
pub struct FieldJobs {
    /// What is to be done.
    pub jobs: Vec<FieldJob>,
    /// The values that were cold already.
    pub cold: ColdParts,
}

impl FieldJob {
    /// Whether the value is to be compressed; all other jobs are done without a dictionary.
    pub fn compresses(&self) -> bool {
        self.need == Need::Compress
    }

    /// Bytes of the value.
    pub fn len_bytes(&self) -> usize {
        self.old.raw_bytes()
    }

    /// At most `max` bytes for training; none if the value is not to be compressed.
    pub fn sample(&self, max: usize) -> Box<[u8]> {
        self.old.sample(max).into()
    }

    /// Does the job, with the compressor of a dictionary if the value is to be compressed. Needs no lock. The result for a value that does not
    /// shrink keeps it from being tried again.
    pub fn run(self, dictionary: &DictionaryRef, compressor: &mut Compressor) -> FieldDone {
        let new = self.old.compressed(dictionary.trained(), compressor, forced::is_forced());
        FieldDone { job: self, new }
    }

    /// Does a job that needs no dictionary; None if this one does.
    pub fn run_plain(self) -> Option<FieldDone> {
        let new = match self.need {
            Need::Compress => return None,
            Need::Thaw => Some(self.old.thawed()),
            Need::Clear => None,
        };
        Some(FieldDone { job: self, new })
    }
}

impl FieldDone {
    /// Whether the value becomes smaller.
    pub fn is_smaller(&self) -> bool {
        self.job.compresses() && self.new.is_some()
    }
}

impl Hash {
    /// Whether values of the hash may be compressed one by one: it has a segment. Hashes of few and short fields have none.
    pub fn is_cold_by_values(&self) -> bool {
        matches!(&self.form, Form::Table(table) if table.as_run().is_none())
    }

    /// Adds jobs for values from a position on, 0 at first: to compress those that were not used for
    /// [`UNUSED_WALKS`](larder_packed::segment::UNUSED_WALKS) walks, to make plain those that are read repeatedly, and to free plain copies.
    /// Counts the walk for each value. With `all`, every value that may shrink is compressed.
    ///
    /// A call ends with the segment in which the values to be compressed reach `max_bytes`. Returns the position to continue from, or None at the
    /// end.
    pub fn cold_jobs(&self, from: u32, all: bool, max_bytes: usize, out: &mut FieldJobs) -> Option<u32> {
        let Form::Table(table) = &self.form else { return None };
        let mut bytes = 0;
        table.walk_values(from, all, |row, walked| {
            if let Some(raw_bytes) = walked.cold_raw_bytes {
                out.cold.add(raw_bytes, walked.heap_bytes);
            }
            // Longer values stay plain.
            if let Some(need) = walked.need.filter(|_| bytes < max_bytes * HELD_TIMES_MAX)
                && let Some(old) = row.out_value().filter(|old| old.raw_bytes() <= STRING_MAX)
            {
                bytes += old.raw_bytes();
                out.jobs.push(FieldJob { name: row.key().into(), old, need });
            }
            bytes < max_bytes
        })
    }

    /// Puts the result of a job in its place if the value that it was made from is still there. Returns what it has replaced, to be freed when
    /// the shard has been let go.
    pub fn apply_cold(&mut self, done: FieldDone) -> Option<OutText> {
        let Form::Table(table) = &mut self.form else { return None };
        let FieldDone { job: FieldJob { name, old, need }, new } = done;
        match (need, new) {
            (_, Some(new)) => return table.change_value(&name, &old, new).then_some(old),
            (Need::Clear, None) => {
                // The copy is freed only if nobody else, such as this job, has the value.
                drop(old);
                table.clear_value(&name);
            }
            (_, None) => old.set_stays(),
        }
        None
    }
}

#[cfg(test)]
#[path = "cold_tests.rs"]
mod tests;
