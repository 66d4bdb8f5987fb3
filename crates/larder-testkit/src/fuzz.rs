//! How fuzz tests count: seed after seed, for a number of cases or for a time.

use crate::{given_seed, seed};
use std::time::{Duration, Instant};

/// How long a fuzz test is to run: `FUZZ_SECONDS` from the environment.
pub fn time() -> Option<Duration> {
    let seconds = std::env::var("FUZZ_SECONDS").ok()?.parse();
    Some(Duration::from_secs(seconds.expect("FUZZ_SECONDS is a number")))
}

/// Calls `case` with `count` seeds that begin with `own`; `SEED=` runs that one alone, and `FUZZ_SECONDS=` goes on for that
/// long with ever new ones. The seed of a case that panics is printed.
pub fn for_seeds(own: u64, count: u64, mut case: impl FnMut(u64)) {
    let deadline = time().map(|time| Instant::now() + time);
    let first = seed(own);
    let count = if given_seed().is_some() { 1 } else { count };
    let mut at = first;
    while at < first + count || deadline.is_some_and(|deadline| Instant::now() < deadline) {
        let told = Told(at);
        case(at);
        std::mem::forget(told);
        at += 1;
    }
}

/// Says its seed when it is dropped, which only a panic does.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        eprintln!("SEED={} replays this", self.0);
    }
}
