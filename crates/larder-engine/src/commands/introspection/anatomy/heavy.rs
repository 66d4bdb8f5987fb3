//! The words that hold much of the memory, found while names arrive.
//!
//! A place in a pattern with many different words shows only some of them. The words that hold a large
//! share of all bytes must be among those, but counting every word takes memory by the number of keys.
//! [`Heavy`] counts candidates with the batched form of the Misra-Gries summary: at most
//! [`COUNTERS_MAX`] counters, and when they are full the median is subtracted from all of them. Each
//! subtraction of `v` from half of the counters is paid for by at least `v * COUNTERS_MAX / 2` counted
//! bytes, so no counter is ever more than `2 / COUNTERS_MAX` of all bytes too low.
//!
//! Cost: O(1) amortised for each count; 16 bytes for each counter.

use larder_collections::keyed_hash::KeyedState;
use std::collections::HashMap;
use std::hash::BuildHasher;

/// Counters at once.
const COUNTERS_MAX: usize = 2048;
/// A word is heavy while names arrive if it holds one byte in this many.
const HEAVY_PART: u64 = 128;

/// Byte counts of words that have no node of their own.
#[derive(Default)]
pub(super) struct Heavy {
    hasher: KeyedState,
    counters: HashMap<u64, u64>,
    /// Bytes of all keys so far.
    total: u64,
}

impl Heavy {
    /// Returns the identity of a word below the place with the identity `place`.
    pub(super) fn identity(&self, place: u64, word: &[u8]) -> u64 {
        self.hasher.hash_one((place, word))
    }

    /// Counts the bytes of a key among those of all keys.
    pub(super) fn count_key(&mut self, bytes: u64) {
        self.total += bytes;
    }

    /// Returns whether this many bytes make a word heavy.
    pub(super) fn is_heavy(&self, bytes: u64) -> bool {
        bytes > 0 && bytes.saturating_mul(HEAVY_PART) >= self.total
    }

    /// Counts bytes of a word without a node. If the word is heavy, forgets it and returns what was
    /// counted of it, these bytes included.
    pub(super) fn count(&mut self, word: u64, bytes: u64) -> Option<u64> {
        let counter = self.counters.entry(word).or_default();
        *counter += bytes;
        let counted = *counter;
        if self.is_heavy(counted) {
            self.counters.remove(&word);
            return Some(counted);
        }
        if self.counters.len() > COUNTERS_MAX {
            self.shrink();
        }
        None
    }

    /// Subtracts the median from all counters, and drops those that reach 0.
    fn shrink(&mut self) {
        let mut counts: Vec<u64> = self.counters.values().copied().collect();
        let middle = counts.len() / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        let median = *median;
        self.counters.retain(|_, count| {
            *count = count.saturating_sub(median);
            *count > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the order, a word with 1 % of the bytes is found.
    #[test]
    fn heavy_words_are_found_among_many_light_ones() {
        for seed in larder_testkit::seeds(10, 200) {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut keys: Vec<(u64, u64)> = (0..50_000).map(|word| (word, rng.u64(50..150))).collect();
            let total: u64 = keys.iter().map(|(_, bytes)| bytes).sum();
            for word in 0..10 {
                keys.extend((0..600).map(|_| (1_000_000 + word, total / 40_000)));
            }
            if rng.bool() {
                rng.shuffle(&mut keys);
            }
            let (mut heavy, mut found) = (Heavy::default(), Vec::new());
            for (word, bytes) in keys {
                heavy.count_key(bytes);
                let id = heavy.identity(7, &word.to_le_bytes());
                if !found.contains(&word) && heavy.count(id, bytes).is_some() {
                    found.push(word);
                }
                assert!(heavy.counters.len() <= COUNTERS_MAX + 1);
            }
            assert!((0..10).all(|word| found.contains(&(1_000_000 + word))), "{seed}: {found:?}");
        }
    }
}
