//! A histogram of durations with bounded relative error, for latency percentiles.
//!
//! Buckets are powers of two, each cut into 16 equal parts, so a value is known to within 1/16. Recording is a few
//! instructions; 4 KB each, allocated on first use.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const PARTS_LOG2: u32 = 4;
const PARTS: u64 = 1 << PARTS_LOG2;
/// Values up to 2^36 ns (about 69 s) are told apart; larger ones fall into the last bucket.
const VALUE_BITS: u32 = 36;
/// The last row of LATENCY HISTOGRAM has 2 to this power ns.
const LAST_ROW_LOG2: u32 = 30;
const BUCKETS: usize = ((VALUE_BITS - PARTS_LOG2 + 1) as usize) << PARTS_LOG2;

/// Counts values by size. One thread records, any may read.
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: [const { AtomicU64::new(0) }; BUCKETS] }
    }
}

impl Histogram {
    /// Counts a value of `nanos`.
    #[inline]
    pub fn record(&self, nanos: u64) {
        let bucket = &self.buckets[bucket_of(nanos)];
        bucket.store(bucket.load(Relaxed) + 1, Relaxed);
    }

    /// Forgets everything.
    pub fn reset(&self) {
        self.buckets.iter().for_each(|b| b.store(0, Relaxed));
    }
}

/// The sum of several histograms.
#[derive(Clone)]
pub struct Summary {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Summary {
    fn default() -> Self {
        Summary { counts: vec![0; BUCKETS], total: 0 }
    }
}

impl Summary {
    /// Adds a histogram.
    pub fn add(&mut self, histogram: &Histogram) {
        for (sum, bucket) in self.counts.iter_mut().zip(&histogram.buckets) {
            let count = bucket.load(Relaxed);
            *sum += count;
            self.total += count;
        }
    }

    /// Number of values.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The value that `percent` of the values do not exceed, in nanoseconds; 0 when there are none.
    pub fn percentile(&self, percent: f64) -> u64 {
        let wanted = ((percent / 100.0 * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper_bound(bucket);
            }
        }
        0
    }

    /// How many values are at most `nanos`, when each counts as the end of its bucket.
    pub fn up_to(&self, nanos: u64) -> u64 {
        self.counts
            .iter()
            .enumerate()
            .filter(|(bucket, _)| upper_bound(*bucket) <= nanos)
            .map(|(_, n)| n)
            .sum()
    }

    /// Returns the rows of LATENCY HISTOGRAM: limits in microseconds with the number of values up to each, without those at
    /// which the number does not grow.
    ///
    /// The limits are those of Valkey's histogram, which counts in steps of 1/128: 1,024 ns and each double of it, with the step
    /// that begins there. Valkey counts nothing above a second: the last row, 2^30 ns, has all that is longer.
    pub fn cumulative_us(&self) -> Vec<(u64, u64)> {
        let mut steps = Vec::new();
        let mut before = 0;
        for power in 10..=LAST_ROW_LOG2 {
            let (start_ns, step_ns) = (1_u64 << power, 1_u64 << (power - 7));
            let (limit_ns, upto) = match power {
                LAST_ROW_LOG2 => (start_ns, self.total()),
                _ => (start_ns + step_ns - 1, self.up_to(start_ns + step_ns - 1)),
            };
            if upto > before {
                steps.push((limit_ns / 1000, upto));
                before = upto;
            }
        }
        steps
    }
}

#[inline]
fn bucket_of(value: u64) -> usize {
    if value < PARTS {
        return value as usize;
    }
    let log2 = value.ilog2().min(VALUE_BITS - 1);
    let value = value.min((1 << VALUE_BITS) - 1);
    let part = (value >> (log2 - PARTS_LOG2)) & (PARTS - 1);
    (((log2 - PARTS_LOG2 + 1) as usize) << PARTS_LOG2) + part as usize
}

/// Largest value of a bucket.
fn upper_bound(bucket: usize) -> u64 {
    if bucket < PARTS as usize {
        return bucket as u64;
    }
    let shift = (bucket >> PARTS_LOG2) - 1;
    let part = (bucket as u64) & (PARTS - 1);
    ((PARTS + part + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_all_values_in_order() {
        for value in (0..100_000).chain([1 << 20, (1 << 36) - 1, 1 << 36, u64::MAX]) {
            let bucket = bucket_of(value);
            assert!(bucket < BUCKETS);
            if value < 1 << VALUE_BITS {
                assert!(upper_bound(bucket) >= value, "{value}");
                assert!(bucket == 0 || upper_bound(bucket - 1) < value, "{value}");
            }
        }
    }

    #[test]
    fn percentiles_are_within_a_sixteenth() {
        let histogram = Histogram::default();
        (1..=1000).for_each(|us| histogram.record(us * 1000));
        let mut summary = Summary::default();
        summary.add(&histogram);
        for (percent, want) in [(50.0, 500_000.0), (99.0, 990_000.0), (100.0, 1_000_000.0)] {
            let got = summary.percentile(percent) as f64;
            assert!(got >= want && got <= want * 17.0 / 16.0, "{percent}: {got}");
        }
        assert_eq!(summary.cumulative_us().last().map(|s| s.1), Some(1000));
    }
}
