//! Samples for eviction: the entries of one segment at a time.
//!
//! A segment holds the keys of a small range of hashes: with respect to anything but their names they are a random sample
//! of some 60 to 100, side by side in memory. Looking at all of them costs little more than at two or three that lie apart.
//!
//! Samples are taken in the order of the table, round after round: each segment has its turn as often as any other, none is
//! looked at twice before all others were, and the next one can be asked for while this one is looked at. Where a round
//! stands is a position, as for SCAN.
//!
//! Which segments have keys that expire is known from the minima that expiry keeps; those are 8 bytes a slot, so that few
//! such keys among many others are found with a look at some KB.
//!
//! Removing several of a sample costs one copy of the others, by which the segment gives back what it does not need.
//! Removing them one by one would move half of the others each time, and leave holes.

use super::expiry::{NEVER, earliest};
use super::{Entry, KeyHash, KeyTable, SEGMENT_BYTES_MAX};
use larder_packed::segment::{Gone, IntoRaw, SlotSet, long_key_heap_bytes};

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

/// A segment that is looked at. Means nothing once the table has changed.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    from: SampleFrom,
    slot: usize,
    /// The position after it: where the next sample is looked for. None at the end of the table.
    pub next: Option<u32>,
}

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// The first segment from a position on that has, or seems to have, entries that a sample may be of; after
    /// [`Soonest`](SampleFrom::Soonest) there is no next, whatever the position. Asks the processor to load it, and the one
    /// after it. O(1), and O(slots) at 8 bytes each where keys that expire are looked for.
    pub fn sample(&mut self, from: SampleFrom, position: u32) -> Option<Sample> {
        if self.is_empty() {
            return None;
        }
        let slot = match from {
            SampleFrom::All => self.directory.run(self.directory.slot(position)).start,
            SampleFrom::Expiring => self.expiring_segment(position)?,
            SampleFrom::Soonest => self.soonest_segment()?,
        };
        if self.directory.segments() == 1 || from == SampleFrom::Soonest {
            return Some(Sample { from, slot, next: None });
        }
        self.directory.segment(slot).prefetch_bytes(SEGMENT_BYTES_MAX);
        let run = self.directory.run(slot);
        if from == SampleFrom::All && run.end < self.directory.slots() {
            self.directory.segment(run.end).prefetch_bytes(SEGMENT_BYTES_MAX);
        }
        let next = u32::try_from(self.directory.positions(slot).end).ok();
        Some(Sample { from, slot, next })
    }

    /// Visits the entries of a sample with the numbers of their slots, and returns how many there were: 0 is possible.
    /// O(records of a segment).
    pub fn visit_sample(&mut self, sample: Sample, mut visit: impl FnMut(usize, Entry<'_, V>)) -> usize {
        let mut visited = 0;
        for (index, record) in self.directory.segment(sample.slot).records() {
            if sample.from == SampleFrom::All || record.expire_at_ms().is_some() {
                visit(index, record);
                visited += 1;
            }
        }
        let stale = self.expiry.as_mut().filter(|_| visited == 0 && sample.from != SampleFrom::All);
        if let Some(expiry) = stale {
            expiry.minima[sample.slot] = NEVER;
        }
        visited
    }

    /// An entry of a sample by the number of its slot.
    pub fn sampled(&self, sample: Sample, index: usize) -> Option<Entry<'_, V>> {
        self.directory.segment(sample.slot).record(index)
    }

    /// Removes the entries of a sample whose slots are in a set. Not while a snapshot is taken. O(records of a segment).
    pub fn remove_sampled(&mut self, sample: Sample, gone: SlotSet, mut each: impl FnMut(Gone<'_, V>)) {
        assert!(self.capture.is_none(), "a snapshot wants to know what goes");
        let position = self.directory.positions(sample.slot).start as u32;
        let (mut long_key_bytes, mut expiring, mut sum_ms) = (0, 0, 0);
        self.directory.update(sample.slot, |records| {
            records.remove_several(gone, |record| {
                long_key_bytes += long_key_heap_bytes(record.key);
                expiring += usize::from(record.expire_at_ms.is_some());
                sum_ms += u128::from(record.expire_at_ms.unwrap_or(0));
                each(record);
            });
        });
        self.directory.count_bytes(-(long_key_bytes as isize));
        self.len -= gone.len();
        if let Some(expiry) = &mut self.expiry {
            expiry.len -= expiring;
            expiry.sum_ms -= sum_ms;
        }
        self.settle(position);
    }

    /// The first segment from a position on that may have entries that expire.
    fn expiring_segment(&self, position: u32) -> Option<usize> {
        let expiry = self.expiry.as_ref().filter(|expiry| expiry.len > 0)?;
        let first = self.directory.run(self.directory.slot(position)).start;
        Some(first + expiry.minima[first..].iter().position(|&ms| ms != NEVER)?)
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
