//! Samples of values, of which dictionaries are made.

use larder_collections::cold::Cold;
use larder_collections::value::Value;
use larder_packed::dictionary::{Compressor, Dictionary};

/// One in this many samples is held back to try the dictionary.
const HELD_BACK: usize = 10;
/// Of a larger value, the first bytes are the sample.
pub(crate) const SAMPLE_MAX: usize = 2 << 10;
/// Fewer samples make no dictionary.
pub(crate) const SAMPLES_MIN: usize = 64;
const DICTIONARY_BYTES_MIN: usize = 1 << 10;

/// Values to make a dictionary of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    all: Vec<Box<[u8]>>,
    bytes: usize,
    /// Values that are passed by until the next sample.
    skipped: u32,
}

impl Samples {
    /// Takes the sample of one in `one_in` values, until there are `wanted` bytes.
    pub(crate) fn offer(&mut self, sample: impl FnOnce() -> Option<Box<[u8]>>, wanted: usize, one_in: u32) {
        self.skipped += 1;
        if self.bytes >= wanted || self.skipped < one_in {
            return;
        }
        self.skipped = 0;
        if let Some(sample) = sample() {
            self.push(sample);
        }
    }

    /// Takes a sample.
    pub(crate) fn push(&mut self, sample: Box<[u8]>) {
        self.bytes += sample.len();
        self.all.push(sample);
    }

    /// Takes samples of others, until there are `wanted` bytes.
    pub(crate) fn merge(&mut self, other: &Samples, wanted: usize) {
        for sample in &other.all {
            if self.bytes < wanted {
                self.push(sample.clone());
            }
        }
    }

    /// Bytes of all samples.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// A dictionary with which samples that are held back shrink by a tenth, and the bytes of those,
    /// plain and as they are kept with it.
    pub(crate) fn train_if_useful(&self, len: usize) -> Option<(Dictionary, (usize, usize))> {
        let trained = self.train(len)?;
        let (plain, packed) = self.sizes_with(&trained);
        (packed * 10 <= plain * 9).then_some((trained, (plain, packed)))
    }

    /// The samples that are held back, or the others.
    fn those(&self, are_held_back: bool) -> impl Iterator<Item = &[u8]> {
        let numbered = self.all.iter().enumerate();
        numbered.filter(move |(at, _)| (at % HELD_BACK == 0) == are_held_back).map(|(_, sample)| &**sample)
    }

    /// A dictionary of at most `len` bytes, made of the samples that are not held back.
    pub(crate) fn train(&self, len: usize) -> Option<Dictionary> {
        let parts: Vec<&[u8]> = self.those(false).collect();
        let sizes: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let parts = parts.concat();
        let len = len.min(parts.len() / 8).max(DICTIONARY_BYTES_MIN);
        Dictionary::train(&parts, &sizes, len)
    }

    /// Bytes of those that are held back, plain and as they are kept with a dictionary.
    pub(crate) fn sizes_with(&self, dictionary: &Dictionary) -> (usize, usize) {
        let Some(mut compressor) = Compressor::new(dictionary) else { return (0, usize::MAX / 100) };
        let (mut plain, mut packed, mut frame) = (0, 0, Vec::new());
        for sample in self.those(true) {
            frame.clear();
            let shrinks = compressor.compress(sample, &mut frame, sample.len());
            plain += sample.len();
            packed += if shrinks { frame.len() } else { sample.len() };
        }
        (plain, packed)
    }
}

/// A value's image, or the beginning of it; `None` if the value is not compressed.
pub(crate) fn sample_of(value: &Value) -> Option<Box<[u8]>> {
    Cold::sample_of(value, SAMPLE_MAX)
}
