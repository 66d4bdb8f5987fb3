//! Latencies in a few numbers.

/// Nanoseconds of a millisecond.
const NANOS_PER_MS: f64 = 1e6;

/// How latencies are spread, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Latencies there are.
    pub count: usize,
    /// Half of them are at most this.
    pub p50: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1,000.
    pub p999: f64,
    /// All of them.
    pub longest: f64,
}

impl Spread {
    /// Of latencies in nanoseconds; `None` when there are none. A percentile is the smallest latency that at least this share of all does
    /// not exceed.
    pub fn of(mut nanos: Vec<u64>) -> Option<Self> {
        nanos.sort_unstable();
        let longest = *nanos.last()?;
        let at = |permille: usize| nanos[(nanos.len() * permille).div_ceil(1000) - 1] as f64 / NANOS_PER_MS;
        let longest = longest as f64 / NANOS_PER_MS;
        Some(Spread { count: nanos.len(), p50: at(500), p99: at(990), p999: at(999), longest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_latencies_that_were_measured() {
        let spread = Spread::of((1..=2000).rev().map(|ms| ms * 1_000_000).collect()).expect("there are some");
        let expected = Spread { count: 2000, p50: 1000.0, p99: 1980.0, p999: 1998.0, longest: 2000.0 };
        assert_eq!(spread, expected);
        let one = Spread::of(vec![3_000_000]).expect("there is one");
        assert_eq!((one.p50, one.p999, one.longest), (3.0, 3.0, 3.0));
        assert_eq!(Spread::of(vec![]), None);
    }

    /// One request in a hundred that waits is seen, one in ten thousand is the longest only.
    #[test]
    fn few_that_wait_are_seen() {
        let with = |slow: usize| {
            let waits = |at: usize| if at < slow { 50_000_000 } else { 100_000 };
            Spread::of((0..10_000).map(waits).collect()).expect("there are some")
        };
        assert_eq!((with(100).p99, with(100).p999), (0.1, 50.0));
        assert_eq!((with(1).p999, with(1).longest), (0.1, 50.0));
    }
}
