//! The thread that compresses parts, for the tests of hashes and sets.

use super::parts::{PartDone, PartJobs, Spent};
use super::{DictionaryRef, add};
use crate::hash::Hash;
use crate::set::Set;
use larder_packed::dictionary::{Compressor, Dictionary};

/// A collection that is compressed in parts.
pub(crate) trait InParts {
    fn cold_jobs(&self, from: u32, all: bool, max_bytes: usize, out: &mut PartJobs) -> Option<u32>;
    fn apply_cold(&mut self, done: PartDone) -> Option<Spent>;
}

impl InParts for Hash {
    fn cold_jobs(&self, from: u32, all: bool, max_bytes: usize, out: &mut PartJobs) -> Option<u32> {
        self.cold_jobs(from, all, max_bytes, out)
    }

    fn apply_cold(&mut self, done: PartDone) -> Option<Spent> {
        self.apply_cold(done)
    }
}

impl InParts for Set {
    fn cold_jobs(&self, from: u32, all: bool, max_bytes: usize, out: &mut PartJobs) -> Option<u32> {
        self.cold_jobs(from, all, max_bytes, out)
    }

    fn apply_cold(&mut self, done: PartDone) -> Option<Spent> {
        self.apply_cold(done)
    }
}

/// A dictionary of a text, with its compressor.
pub(crate) struct Tools(DictionaryRef, Compressor);

impl Tools {
    pub(crate) fn of(text: &str) -> Self {
        let dictionary = Dictionary::of(text.as_bytes().into()).expect("it is one");
        let dictionary = add(dictionary).expect("there is a number");
        let compressor = dictionary.compressor().expect("there is memory");
        Tools(dictionary, compressor)
    }

    /// One walk over the whole collection; how many parts got another form.
    pub(crate) fn walk(&mut self, collection: &mut impl InParts, all: bool) -> usize {
        let (mut next, mut changed) = (Some(0), 0);
        while let Some(from) = next {
            let mut found = PartJobs::default();
            next = collection.cold_jobs(from, all, 10_000, &mut found);
            assert!(next.is_none_or(|next| next > from));
            for job in found.jobs {
                let done = if job.compresses() {
                    job.run(&self.0, &mut self.1)
                } else {
                    job.run_plain().expect("it needs none")
                };
                changed += usize::from(collection.apply_cold(done).is_some());
            }
        }
        changed
    }
}
