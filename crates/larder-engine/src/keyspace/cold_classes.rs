//! Keys with the same prefix are of one class: their values are alike, and are compressed with one
//! dictionary.
//!
//! A prefix ends with the first of [`DELIMITERS`] in a key. A class collects samples of its values
//! until there are enough for a dictionary. Classes that stay small share one, the common one.
//! When a class has compressed as many bytes as it holds, a dictionary of fresh samples is tried,
//! and takes the place of the old one if it is clearly better. Nothing is shared between databases.

use super::cold_samples::{SAMPLE_MAX, SAMPLES_MIN, Samples, sample_of};
use larder_collections::cold::parts::{PartDone, PartJob};
use larder_collections::cold::{self, Cold, DictionaryRef, Unfit};
use larder_collections::stream::{NodeDone, NodeJob};
use larder_collections::value::Value;
use larder_packed::dictionary::{Compressor, Dictionary};
use std::collections::HashMap;

/// The dictionary of values that are compressed whether they shrink or not.
const FORCED: &[u8] = b"one two three four five six seven eight nine ten";
const DELIMITERS: [u8; 5] = *b":/.|-";
/// A key without a delimiter in this many bytes has no prefix.
const PREFIX_MAX: usize = 64;
/// Classes of a database; keys with further prefixes are of the common one.
const CLASSES_MAX: usize = 16;
/// Bytes of a dictionary.
const DICTIONARY_BYTES: usize = 16 << 10;
/// The same for a class whose compressed values have more than [`LARGE_CLASS_BYTES`].
const DICTIONARY_BYTES_LARGE: usize = 64 << 10;
const LARGE_CLASS_BYTES: u64 = 16 << 20;
/// Bytes of samples for each byte of a dictionary.
const SAMPLE_RATIO: usize = 10;
const _: () = assert!(SAMPLE_RATIO * DICTIONARY_BYTES / SAMPLE_MAX >= SAMPLES_MIN);
/// While a class has a dictionary, one in this many of its values is a sample for the next one.
const SAMPLE_EVERY: u32 = 16;
/// No dictionary is tried again before this many bytes were compressed with the last.
const RETRAIN_BYTES_MIN: u64 = 4 << 20;

/// A class of which [`FAILURES`] of [`TRIALS`] values did not shrink is left alone.
const TRIALS: u32 = 64;
const FAILURES: u32 = 60;
/// The most values of such a class that are left out before the next trial.
const PATIENCE_MAX: u32 = 1 << 20;

/// The classes of a database.
#[derive(Default)]
pub(crate) struct Classes {
    by_prefix: HashMap<Box<[u8]>, Class>,
    common: Class,
}

/// Values that are alike.
#[derive(Default)]
struct Class {
    samples: Samples,
    dictionary: Option<DictionaryRef>,
    /// Whether a key of it was seen in this walk.
    is_used: bool,
    /// Whether a whole walk has tried its values with the dictionary: from then on, only those are
    /// tried that have become idle since the last walk.
    is_through: bool,
    trials: Trials,
    compressor: Option<Compressor>,
    /// Bytes of its cold values before compression: found by this walk so far, and by the last.
    raw_bytes: u64,
    raw_bytes_before: u64,
    /// Bytes that were compressed since the dictionary was made or last challenged.
    bytes_since: u64,
}

/// What a walk is to do with the values of a key's class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// All idle values are to be tried, not only those that have become idle since the last walk.
    pub all: bool,
    /// The number of the dictionary that its cold values should have.
    pub dictionary: Option<u8>,
}

/// The dictionaries of a database's classes: known to the walk and to those who load files.
#[derive(Clone, Default)]
pub(crate) struct Dictionaries {
    by_prefix: HashMap<Box<[u8]>, DictionaryRef>,
    common: Option<DictionaryRef>,
    /// The prefixes of classes that are left alone, as their values do not shrink.
    left_alone: Vec<Box<[u8]>>,
}

impl Dictionaries {
    /// The prefixes of keys whose values do not shrink.
    pub(crate) fn left_alone(&self) -> &[Box<[u8]>] {
        &self.left_alone
    }

    /// Takes over the dictionaries of classes that have none here.
    pub(crate) fn add(&mut self, more: Dictionaries) {
        for (prefix, dictionary) in more.by_prefix {
            self.by_prefix.entry(prefix).or_insert(dictionary);
        }
        self.common = self.common.take().or(more.common);
    }
}

impl Classes {
    /// Classes with these dictionaries.
    pub(crate) fn with(dictionaries: Dictionaries) -> Classes {
        let class = |dictionary| Class { dictionary, is_used: true, ..Class::default() };
        let by_prefix = dictionaries.by_prefix.into_iter();
        Classes {
            by_prefix: by_prefix.map(|(prefix, dictionary)| (prefix, class(Some(dictionary)))).collect(),
            common: class(dictionaries.common),
        }
    }

    /// The dictionaries.
    pub(crate) fn dictionaries(&self) -> Dictionaries {
        let mut known = Dictionaries { common: self.common.dictionary.clone(), ..Dictionaries::default() };
        for (prefix, class) in &self.by_prefix {
            if let Some(dictionary) = &class.dictionary {
                known.by_prefix.insert(prefix.clone(), dictionary.clone());
            }
            if class.trials.left_out > 0 {
                known.left_alone.push(prefix.clone());
            }
        }
        known
    }

    /// Makes the first dictionaries of classes that have all the samples that they want; whether
    /// there are any.
    pub(crate) fn train_complete(&mut self) -> bool {
        let mut has_new = false;
        for class in self.by_prefix.values_mut().chain([&mut self.common]) {
            if class.dictionary.is_none() && class.samples.bytes() >= SAMPLE_RATIO * DICTIONARY_BYTES {
                let samples = std::mem::take(&mut class.samples);
                class.train(&samples);
                has_new |= class.dictionary.is_some();
            }
        }
        has_new
    }

    /// Notes that there is a key, and tells what is to be done with its value.
    pub(crate) fn note(&mut self, key: &[u8]) -> Plan {
        self.common.is_used = true;
        if let Some(class) = self.by_prefix.get_mut(prefix(key)) {
            class.is_used = true;
            if class.serves() {
                return class.plan();
            }
        }
        self.common.plan()
    }

    /// Counts a cold value, or cold nodes of a stream.
    pub(crate) fn note_cold(&mut self, key: &[u8], raw_bytes: u64) {
        self.class_of(key).raw_bytes += raw_bytes;
    }

    /// Compresses a value of a key, if there is a dictionary for it and it shrinks.
    pub(crate) fn compress(&mut self, key: &[u8], value: &Value) -> Option<Cold> {
        self.class_of(key).compress(value)
    }

    /// Compresses a node of a stream, if there is a dictionary for it; the result says whether it
    /// has become smaller.
    pub(crate) fn compress_node(&mut self, key: &[u8], job: &NodeJob) -> Option<NodeDone> {
        self.class_of(key).compress_node(job)
    }

    /// Compresses a part of a hash or a set, if there is a dictionary for it; the result says whether it has become smaller.
    pub(crate) fn compress_part(&mut self, key: &[u8], job: PartJob) -> Option<PartDone> {
        self.class_of(key).compress_part(job)
    }

    /// Takes a part of a hash or a set as a sample if its class needs some.
    pub(crate) fn sample_part(&mut self, key: &[u8], job: &PartJob) {
        self.offer(key, || Some(job.sample(SAMPLE_MAX)));
    }

    /// Compresses a part of a hash or a set for tests.
    pub(crate) fn force_part(&mut self, job: PartJob) -> Option<PartDone> {
        self.prepare_to_force();
        self.common.compress_part(job)
    }

    /// Takes a node of a stream as a sample if its class needs some.
    pub(crate) fn sample_node(&mut self, key: &[u8], job: &NodeJob) {
        self.offer(key, || {
            let mut sample = job.sample();
            sample.truncate(SAMPLE_MAX);
            Some(sample.into())
        });
    }

    /// Compresses a node of a stream for tests.
    pub(crate) fn force_node(&mut self, job: &NodeJob) -> Option<NodeDone> {
        self.prepare_to_force();
        self.common.compress_node(job)
    }

    /// Compresses a value of any kind, for tests.
    pub(crate) fn force(&mut self, value: &Value) -> Option<Cold> {
        self.prepare_to_force();
        self.common.compress(value)
    }

    fn prepare_to_force(&mut self) {
        if self.common.dictionary.is_none() {
            self.common.dictionary = Dictionary::of(FORCED[..].into()).and_then(cold::add);
        }
        self.common.trials = Trials::default();
    }

    /// Takes a value as a sample if its class needs some.
    pub(crate) fn sample(&mut self, key: &[u8], value: &Value) {
        self.offer(key, || sample_of(value));
    }

    fn offer(&mut self, key: &[u8], sample: impl Fn() -> Option<Box<[u8]>>) {
        let prefix = prefix(key);
        if !self.by_prefix.contains_key(prefix) && self.by_prefix.len() < CLASSES_MAX {
            let class = Class { is_used: true, ..Class::default() };
            self.by_prefix.insert(prefix.into(), class);
        }
        match self.by_prefix.get_mut(prefix) {
            Some(class) if class.serves() => class.offer(sample),
            Some(class) => {
                class.offer(&sample);
                self.common.offer(sample);
            }
            None => self.common.offer(sample),
        }
    }

    /// After a walk: makes dictionaries of the samples, where they are enough, gives up those of
    /// prefixes that have no keys any more, and frees what is needed only during a walk.
    pub(crate) fn end_walk(&mut self) {
        self.by_prefix.retain(|_, class| class.is_used);
        for class in self.by_prefix.values_mut().chain([&mut self.common]) {
            if !std::mem::take(&mut class.is_used) {
                *class = Class::default();
            }
            class.end_walk();
        }
    }

    /// All values are tried again.
    pub(crate) fn start_over(&mut self) {
        let classes = self.by_prefix.values_mut().chain([&mut self.common]);
        classes.for_each(|class| class.is_through = false);
    }

    fn class_of(&mut self, key: &[u8]) -> &mut Class {
        match self.by_prefix.get_mut(prefix(key)) {
            Some(class) if class.serves() => class,
            _ => &mut self.common,
        }
    }
}

impl Class {
    /// Whether its values are compressed, or left alone, apart from the common class.
    fn serves(&self) -> bool {
        self.dictionary.is_some() || self.trials.left_out > 0
    }

    fn plan(&self) -> Plan {
        let dictionary = self.dictionary.as_ref().map(|dictionary| dictionary.number_byte());
        Plan { all: !self.is_through, dictionary }
    }

    fn offer(&mut self, sample: impl FnOnce() -> Option<Box<[u8]>>) {
        let wanted = SAMPLE_RATIO * dictionary_bytes(self.is_large());
        let one_in = if self.dictionary.is_some() { SAMPLE_EVERY } else { 1 };
        self.samples.offer(sample, wanted, one_in);
    }

    fn is_large(&self) -> bool {
        // Before the first walk that finds cold values, only these are known.
        self.raw_bytes_before.max(self.bytes_since) > LARGE_CLASS_BYTES
    }

    fn end_walk(&mut self) {
        self.compressor = None;
        self.raw_bytes_before = std::mem::take(&mut self.raw_bytes);
        self.is_through = self.serves();
        let samples = std::mem::take(&mut self.samples);
        if samples.len() < SAMPLES_MIN || self.trials.left_out > 0 {
            return;
        }
        if self.dictionary.is_none() {
            self.train(&samples);
        } else if self.bytes_since >= self.raw_bytes_before.max(RETRAIN_BYTES_MIN) {
            self.challenge(&samples);
        }
    }

    /// Makes the first dictionary.
    fn train(&mut self, samples: &Samples) {
        let trained = samples.train_if_useful(DICTIONARY_BYTES);
        self.dictionary = trained.and_then(|(trained, _)| cold::add(trained));
        if self.dictionary.is_none() {
            self.trials.wait();
        }
        (self.is_through, self.bytes_since) = (false, 0);
    }

    /// Makes another dictionary of fresh samples, and takes it if they shrink by a tenth more with
    /// it; a class that has outgrown its dictionary takes a larger one if they shrink by 4 % more.
    fn challenge(&mut self, samples: &Samples) {
        let is_large = self.is_large();
        self.bytes_since = 0;
        let Some(old) = &self.dictionary else { return };
        let grows = is_large && old.trained().len() < DICTIONARY_BYTES_LARGE / 2;
        let Some(trained) = samples.train(dictionary_bytes(is_large)) else { return };
        let (packed, packed_old) = (samples.sizes_with(&trained).1, samples.sizes_with(old.trained()).1);
        let wins = if grows { packed * 25 <= packed_old * 24 } else { packed * 10 <= packed_old * 9 };
        if wins && let Some(dictionary) = cold::add(trained) {
            self.dictionary = Some(dictionary);
            self.is_through = false;
        }
    }

    /// The dictionary and its compressor, unless the class is left alone.
    fn tools(&mut self) -> Option<(&DictionaryRef, &mut Compressor)> {
        if self.trials.left_out > 0 {
            self.trials.left_out -= 1;
            return None;
        }
        let dictionary = self.dictionary.as_ref()?;
        if self.compressor.is_none() {
            self.compressor = dictionary.compressor();
        }
        Some((dictionary, self.compressor.as_mut()?))
    }

    fn compress_node(&mut self, job: &NodeJob) -> Option<NodeDone> {
        let (dictionary, compressor) = self.tools()?;
        let done = job.run(dictionary, compressor);
        self.trials.note(done.is_change());
        self.bytes_since += if done.is_change() { job.len_bytes() as u64 } else { 0 };
        Some(done)
    }

    fn compress_part(&mut self, job: PartJob) -> Option<PartDone> {
        let (dictionary, compressor) = self.tools()?;
        let len = job.len_bytes() as u64;
        let done = job.run(dictionary, compressor);
        self.trials.note(done.is_smaller());
        self.bytes_since += if done.is_smaller() { len } else { 0 };
        Some(done)
    }

    fn compress(&mut self, value: &Value) -> Option<Cold> {
        let (dictionary, compressor) = self.tools()?;
        let cold = match Cold::of(value, dictionary, compressor) {
            Ok(cold) => Some(cold),
            Err(Unfit::NoImage) => return None,
            Err(Unfit::Incompressible) => None,
        };
        self.trials.note(cold.is_some());
        self.bytes_since += cold.as_ref().map_or(0, |cold| cold.raw_bytes() as u64);
        cold
    }
}

/// How often values of a class have shrunk lately. A class of which most do not is left alone for a
/// while, and then for longer.
#[derive(Default)]
struct Trials {
    tried: u32,
    failed: u32,
    /// Values that are left out before the next trial.
    left_out: u32,
    /// Values that were left out after the last failure.
    patience: u32,
}

impl Trials {
    /// Leaves values out for a while, and longer than the last time.
    fn wait(&mut self) {
        self.patience = (self.patience * 10).clamp(10 * TRIALS, PATIENCE_MAX);
        self.left_out = self.patience;
    }

    fn note(&mut self, has_shrunk: bool) {
        self.tried += 1;
        self.failed += u32::from(!has_shrunk);
        if self.tried < TRIALS {
            return;
        }
        if self.failed >= FAILURES {
            self.wait();
        } else {
            self.patience = 0;
        }
        (self.tried, self.failed) = (0, 0);
    }
}

/// Bytes of the dictionary of a class.
fn dictionary_bytes(is_large: bool) -> usize {
    if is_large { DICTIONARY_BYTES_LARGE } else { DICTIONARY_BYTES }
}

/// The part of a key that says of which class it is.
fn prefix(key: &[u8]) -> &[u8] {
    let end = key.iter().take(PREFIX_MAX).position(|byte| DELIMITERS.contains(byte));
    end.map_or(&[], |end| &key[..=end])
}
