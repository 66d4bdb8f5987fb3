//! Which keys threads ask for: each as likely as any other, few of them often and most of them seldom, or all the same one.

use fastrand::Rng;

/// Bytes of a key.
pub const KEY_BYTES: usize = 12;
/// The exponent of Zipf's law that key-value stores are usually measured with.
const EXPONENT: f64 = 0.99;
/// A prime above every number of keys: the frequent keys are scattered by it.
const SCATTER: u64 = 2_654_435_761;

/// How likely keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Each as likely.
    Uniform,
    /// The key of rank r is as likely as 1 / r ^ 0.99.
    Zipf,
    /// One key is asked for always.
    One,
}

/// Draws keys below a number.
pub struct Keys {
    count: u64,
    /// For each rank the probability of it and of all before it; empty where each is as likely.
    sums: Vec<f64>,
}

impl Keys {
    /// Takes O(count) memory and time for Zipf's law.
    pub fn new(distribution: Distribution, count: u64) -> Self {
        assert!(count > 0 && count < SCATTER, "{count} keys");
        let count = if distribution == Distribution::One { 1 } else { count };
        let mut sums = Vec::new();
        if distribution == Distribution::Zipf {
            let mut sum = 0.0;
            sums.extend((1..=count).map(|rank| {
                sum += (rank as f64).powf(-EXPONENT);
                sum
            }));
            sums.iter_mut().for_each(|part| *part /= sum);
        }
        Keys { count, sums }
    }

    /// How many keys may be drawn.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of a key.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        if self.sums.is_empty() {
            // One key is a uniform draw from one.
            return rng.u64(..self.count);
        }
        let at = rng.f64();
        let rank = self.sums.partition_point(|sum| *sum <= at) as u64;
        // Frequent keys are not neighbours.
        rank.min(self.count - 1) * SCATTER % self.count
    }

    /// This many keys.
    pub fn draw_many(&self, count: u64, seed: u64) -> Vec<[u8; KEY_BYTES]> {
        let mut rng = Rng::with_seed(seed);
        (0..count).map(|_| key(self.draw(&mut rng))).collect()
    }
}

/// The key of a number below 10^8.
pub fn key(number: u64) -> [u8; KEY_BYTES] {
    let mut key = *b"key:00000000";
    let mut rest = number;
    for digit in key[4..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn counts(distribution: Distribution, keys: u64, draws: u64) -> Vec<u64> {
        let keys = Keys::new(distribution, keys);
        let mut counts: HashMap<[u8; KEY_BYTES], u64> = HashMap::new();
        keys.draw_many(draws, 7).into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
        let mut counts: Vec<u64> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn uniform_keys_are_all_as_likely() {
        let counts = counts(Distribution::Uniform, 100, 100_000);
        assert_eq!(counts.len(), 100);
        assert!(counts[0] < 1200 && counts[99] > 800, "{counts:?}");
    }

    /// With an exponent of 0.99 and 1,000 keys the first takes about 13 % of all draws, the second half of that.
    #[test]
    fn few_keys_are_frequent_by_zipf() {
        let counts = counts(Distribution::Zipf, 1000, 100_000);
        assert!((12_000..14_500).contains(&counts[0]), "{}", counts[0]);
        let ratio = counts[0] as f64 / counts[1] as f64;
        assert!((1.8..2.2).contains(&ratio), "{ratio}");
        assert!(counts.len() > 900, "{}", counts.len());
    }

    #[test]
    fn one_key_is_always_the_same() {
        assert_eq!(counts(Distribution::One, 1000, 10), [10]);
    }

    #[test]
    fn ranks_have_keys_of_their_own() {
        for count in [1, 10, 1000, 4096] {
            let keys: std::collections::HashSet<u64> =
                (0..count).map(|rank| rank * SCATTER % count).collect();
            assert_eq!(keys.len() as u64, count);
        }
        assert_eq!(&key(1_234_567), b"key:01234567");
    }
}
