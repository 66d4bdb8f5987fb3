//! Parts of large hashes and sets, compressed one by one by a background thread.
//!
//! A part is a value of a hash that lies out of line, or a whole segment of the table in which no string does. The thread collects jobs while
//! it holds the shard ([`Hash::cold_jobs`](crate::hash::Hash::cold_jobs), [`Set::cold_jobs`](crate::set::Set::cold_jobs)), works on shared clones
//! without a lock ([`PartJob::run`]), and puts each result in its place while it holds the shard again (`apply_cold`), if the part is still the
//! same allocation. Uses are counted by the parts themselves, see `larder_packed::segment`.

use super::registry::DictionaryRef;
use super::{ColdParts, forced};
use crate::table::{FieldValue, Member};
use larder_packed::dictionary::{Compressor, STRING_MAX};
use larder_packed::segment::{Layout, LeafRows, Need, OutText, Rows};

/// Parts of one segment are left for the next walk when they have so many times the bytes that a call may take.
const HELD_TIMES_MAX: usize = 16;

/// Bytes of a sample in [`PartSums`]; of a larger part it is the beginning.
const SAMPLE_MAX: usize = 1024;

/// A part to compress, to make plain again, or to free the plain copy of.
pub struct PartJob {
    part: Part,
    need: Need,
}

/// The outcome of a [`PartJob`].
pub struct PartDone {
    pub(crate) part: Part,
    pub(crate) need: Need,
    /// None: there is no other form.
    pub(crate) new: Option<Form>,
}

/// Where a part is, and what it was.
pub(crate) enum Part {
    Value { name: Box<[u8]>, old: OutText },
    Fields(SegmentPart<FieldValue>),
    Members(SegmentPart<Member>),
}

/// A segment: its first position, and what it was. None for a job that does not look at it.
pub(crate) struct SegmentPart<L: Layout> {
    pub at: u32,
    pub old: Option<LeafRows<L>>,
    /// The tag of a key.
    tag: fn(&[u8]) -> u8,
}

/// A form of a part.
pub(crate) enum Form {
    Value(OutText),
    Fields(LeafRows<FieldValue>),
    Members(LeafRows<Member>),
}

impl Form {
    pub(crate) fn into_fields(self) -> LeafRows<FieldValue> {
        match self {
            Form::Fields(segment) => segment,
            _ => unreachable!("the job was of a segment of fields"),
        }
    }

    pub(crate) fn into_members(self) -> LeafRows<Member> {
        match self {
            Form::Members(segment) => segment,
            _ => unreachable!("the job was of a segment of members"),
        }
    }
}

/// A form that has been replaced. Dropping it takes time, so callers do that without a lock.
pub struct Spent {
    _form: Form,
}

/// The outcome of one call of `cold_jobs`.
#[derive(Default)]
pub struct PartJobs {
    /// The jobs.
    pub jobs: Vec<PartJob>,
    /// The parts that were cold already.
    pub cold: ColdParts,
    /// Bytes of the parts with jobs.
    bytes: usize,
}

/// Sums over the parts of a collection, for reports.
#[derive(Default)]
pub struct PartSums {
    /// The parts that are compressed.
    pub cold: ColdParts,
    /// Bytes of the parts that are not, and could be.
    pub plain_bytes: u64,
    /// Samples of the latter, no more than were asked for.
    pub samples: Vec<Box<[u8]>>,
    samples_max: usize,
}

impl PartSums {
    /// Empty sums, for at most `samples_max` samples.
    pub(crate) fn new(samples_max: usize) -> Self {
        PartSums { samples_max, ..PartSums::default() }
    }

    /// Adds a plain part.
    pub(crate) fn add_plain(&mut self, bytes: usize, part: impl FnOnce() -> Vec<u8>) {
        self.plain_bytes += bytes as u64;
        if self.samples.len() < self.samples_max {
            let mut sample = part();
            sample.truncate(SAMPLE_MAX);
            self.samples.push(sample.into());
        }
    }

    /// Adds a segment.
    pub(crate) fn add_segment<L: Layout>(&mut self, segment: &LeafRows<L>) {
        if let Some(cold) = segment.cold_bytes() {
            self.cold.add(cold.raw, cold.heap);
        }
        if let Some(rows) = segment.compressible() {
            self.add_plain(rows.page().content_bytes(), || segment.packed());
        }
    }

    /// Adds the values of a segment that lie out of line.
    pub(crate) fn add_values(&mut self, rows: &Rows<FieldValue>) {
        if !rows.may_have_outs() {
            return;
        }
        for value in rows.rows().filter_map(|row| row.out_value()) {
            match value.is_cold() {
                true => self.cold.add(value.raw_bytes(), value.heap_bytes()),
                false => self.add_plain(value.raw_bytes(), || value.sample(SAMPLE_MAX).to_vec()),
            }
        }
    }
}

/// Layouts of whose segments parts are made.
pub(crate) trait PartLayout: Layout {
    fn part(segment: SegmentPart<Self>) -> Part;
    fn form(segment: LeafRows<Self>) -> Form;
}

impl PartLayout for FieldValue {
    fn part(segment: SegmentPart<Self>) -> Part {
        Part::Fields(segment)
    }

    fn form(segment: LeafRows<Self>) -> Form {
        Form::Fields(segment)
    }
}

impl PartLayout for Member {
    fn part(segment: SegmentPart<Self>) -> Part {
        Part::Members(segment)
    }

    fn form(segment: LeafRows<Self>) -> Form {
        Form::Members(segment)
    }
}

impl<L: PartLayout> SegmentPart<L> {
    fn compressed(&self, dictionary: &DictionaryRef, compressor: &mut Compressor) -> Option<Form> {
        let old = self.old.as_ref()?;
        old.compressed(dictionary.trained(), compressor, self.tag, forced::is_forced()).map(L::form)
    }

    fn thawed(&self) -> Option<Form> {
        let mut new = self.old.clone()?;
        new.thaw();
        Some(L::form(new))
    }

    fn len_bytes(&self) -> usize {
        self.old.as_ref().and_then(LeafRows::plain).map_or(0, |rows| rows.page().content_bytes())
    }

    fn sample(&self, max: usize) -> Box<[u8]> {
        let mut packed = self.old.as_ref().map(LeafRows::packed).unwrap_or_default();
        packed.truncate(max);
        packed.into()
    }
}

impl PartJob {
    /// Whether the part is to be compressed; all other jobs are done without a dictionary.
    pub fn compresses(&self) -> bool {
        self.need == Need::Compress
    }

    /// Bytes of the part.
    pub fn len_bytes(&self) -> usize {
        match &self.part {
            Part::Value { old, .. } => old.raw_bytes(),
            Part::Fields(segment) => segment.len_bytes(),
            Part::Members(segment) => segment.len_bytes(),
        }
    }

    /// Bytes for training, at most `max`; none if the part is not to be compressed.
    pub fn sample(&self, max: usize) -> Box<[u8]> {
        match &self.part {
            Part::Value { old, .. } => old.sample(max).into(),
            Part::Fields(segment) => segment.sample(max),
            Part::Members(segment) => segment.sample(max),
        }
    }

    /// Does the job, with the compressor of a dictionary if the part is to be compressed. Needs no lock. The result for a part that does not
    /// shrink keeps it from being tried again.
    pub fn run(self, dictionary: &DictionaryRef, compressor: &mut Compressor) -> PartDone {
        let new = match &self.part {
            Part::Value { old, .. } => {
                old.compressed(dictionary.trained(), compressor, forced::is_forced()).map(Form::Value)
            }
            Part::Fields(segment) => segment.compressed(dictionary, compressor),
            Part::Members(segment) => segment.compressed(dictionary, compressor),
        };
        self.done(new)
    }

    /// Does a job that needs no dictionary; None if this one does.
    pub fn run_plain(self) -> Option<PartDone> {
        let new = match (self.need, &self.part) {
            (Need::Compress, _) => return None,
            (Need::Clear, _) => None,
            (Need::Thaw, Part::Value { old, .. }) => Some(Form::Value(old.thawed())),
            (Need::Thaw, Part::Fields(segment)) => segment.thawed(),
            (Need::Thaw, Part::Members(segment)) => segment.thawed(),
        };
        Some(self.done(new))
    }

    fn done(self, new: Option<Form>) -> PartDone {
        PartDone { part: self.part, need: self.need, new }
    }
}

impl PartDone {
    /// Whether the part becomes smaller.
    pub fn is_smaller(&self) -> bool {
        self.need == Need::Compress && self.new.is_some()
    }
}

impl Spent {
    pub(crate) fn of(form: Form) -> Spent {
        Spent { _form: form }
    }
}

impl PartJobs {
    /// Whether there is room for more jobs.
    fn goes_on(&self, max_bytes: usize) -> bool {
        self.bytes < max_bytes
    }

    /// Adds jobs for the values of a segment that lie out of line. Counts the walk for each. None if there are none, or the segment is shared:
    /// it could not be changed.
    pub(crate) fn add_values(
        &mut self,
        rows: &Rows<FieldValue>,
        all: bool,
        max_bytes: usize,
    ) -> Option<bool> {
        if !rows.may_have_outs() || rows.is_shared() {
            return None;
        }
        for row in rows.rows() {
            let Some(walked) = row.walk_value(all) else { continue };
            if let Some(raw_bytes) = walked.cold_raw_bytes {
                self.cold.add(raw_bytes, walked.heap_bytes);
            }
            // Longer values stay plain.
            if let Some(need) = walked.need.filter(|_| self.bytes < max_bytes * HELD_TIMES_MAX)
                && let Some(old) = row.out_value().filter(|old| old.raw_bytes() <= STRING_MAX)
            {
                self.bytes += old.raw_bytes();
                self.jobs.push(PartJob { part: Part::Value { name: row.key().into(), old }, need });
            }
        }
        Some(self.goes_on(max_bytes))
    }

    /// Adds a job for the segment at a position, if it needs one. Counts the walk for it. None if there is none.
    pub(crate) fn add_segment<L: PartLayout>(
        &mut self,
        (at, segment): (u32, &LeafRows<L>),
        tag: fn(&[u8]) -> u8,
        all: bool,
        max_bytes: usize,
    ) -> Option<bool> {
        if let Some(cold) = segment.cold_bytes() {
            self.cold.add(cold.raw, cold.heap);
        }
        let need = segment.walk(all)?;
        let old = (need != Need::Clear).then(|| segment.clone());
        let part = SegmentPart { at, old, tag };
        self.bytes += part.len_bytes();
        self.jobs.push(PartJob { part: L::part(part), need });
        Some(self.goes_on(max_bytes))
    }
}
