//! Samples for eviction: the entries of one segment at a time.
//!
//! A segment holds the keys of a small range of hashes: with respect to anything but their names they are a random sample
//! of some 60 to 100, side by side in memory. Looking at all of them costs little more than at two or three that lie apart.
//!
//! Every segment is picked with the same chance, whatever share of the positions it has: a slot of the directory is
//! thrown until it is the first of its segment's run, which at least every fourth is. Which segments have keys that
//! expire is known from the minima that expiry keeps; those are 8 bytes a slot, so that few such keys among many others
//! are found with a look at some KB.

use super::expiry::{NEVER, earliest};
use super::{Entry, KeyHash, KeyTable, SEGMENT_BYTES_MAX};
use larder_packed::segment::Thin;

/// Segments whose minima turn out to be too early, until one is taken as it is.
const STALE_MAX: usize = 8;

/// Which entries a sample is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleFrom {
    /// All keys.
    All,
    /// Keys that expire.
    Expiring,
    /// The segment where a key expires first: its keys that expire.
    Soonest,
}

impl<V: Thin + Clone, H: KeyHash> KeyTable<V, H> {
    /// Visits those entries of one segment that a sample may be of, and returns their number: 0 only if the table has none.
    /// O(records of a segment), and O(slots) at 8 bytes each where keys that expire are looked for.
    pub fn sample(
        &mut self,
        from: SampleFrom,
        rng: &mut fastrand::Rng,
        mut visit: impl FnMut(Entry<'_, V>),
    ) -> usize {
        let slot = match from {
            SampleFrom::All => self.any_segment(rng),
            SampleFrom::Expiring => self.expiring_segment(rng),
            SampleFrom::Soonest => self.soonest_segment(),
        };
        let Some(slot) = slot else { return 0 };
        let mut visited = 0;
        for (_, record) in self.directory.segment(slot).records() {
            if from == SampleFrom::All || record.expire_at_ms().is_some() {
                visit(record);
                visited += 1;
            }
        }
        visited
    }

    /// The first slot of a segment that has entries.
    fn any_segment(&self, rng: &mut fastrand::Rng) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        loop {
            let slot = rng.usize(..self.directory.slots());
            if !self.directory.starts_run(slot) {
                continue;
            }
            let segment = self.directory.segment(slot);
            if self.directory.segments() > 1 {
                segment.prefetch_bytes(SEGMENT_BYTES_MAX);
            }
            if segment.page().live() > 0 {
                return Some(slot);
            }
        }
    }

    /// The first segment from a random slot on that has entries that expire.
    fn expiring_segment(&mut self, rng: &mut fastrand::Rng) -> Option<usize> {
        let start = rng.usize(..self.directory.slots().max(1));
        loop {
            let expiry = self.expiry.as_mut().filter(|expiry| expiry.len > 0)?;
            let minima = &mut expiry.minima;
            let behind = minima[start..].iter().position(|&ms| ms != NEVER).map(|at| start + at);
            let slot = behind.or_else(|| minima[..start].iter().position(|&ms| ms != NEVER))?;
            let segment = self.directory.segment(slot);
            segment.prefetch_bytes(SEGMENT_BYTES_MAX);
            minima[slot] = earliest(segment);
            if minima[slot] != NEVER {
                return Some(slot);
            }
        }
    }

    /// The segment of the least minimum, after looking whether it is right.
    fn soonest_segment(&mut self) -> Option<usize> {
        let expiry = self.expiry.as_mut().filter(|expiry| expiry.len > 0)?;
        let mut looks = 0;
        loop {
            let least = *expiry.minima.iter().min()?;
            let slot = expiry.minima.iter().position(|&ms| ms == least)?;
            let segment = self.directory.segment(slot);
            segment.prefetch_bytes(SEGMENT_BYTES_MAX);
            expiry.minima[slot] = earliest(segment);
            looks += 1;
            let is_right = expiry.minima[slot] == least || looks >= STALE_MAX;
            if is_right && expiry.minima[slot] != NEVER {
                return Some(slot);
            }
        }
    }
}
