//! How long an address has to wait after a login from it has failed: twice as long after each failure.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// After the first failure.
const WAIT: Duration = Duration::from_millis(250);
/// After many.
const WAIT_MAX: Duration = Duration::from_secs(8);
/// A failure is forgotten after this time without another.
const MEMORY: Duration = Duration::from_secs(600);
/// Addresses that are remembered; when there are more, those that failed longest ago are forgotten.
const ADDRESSES_MAX: usize = 1024;

/// The failures of each address.
#[derive(Debug, Default)]
pub struct Throttle(HashMap<IpAddr, Failures>);

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Failures {
    fn wait(self) -> Duration {
        WAIT.saturating_mul(1 << (self.count - 1).min(16)).min(WAIT_MAX)
    }
}

impl Throttle {
    /// How long an address has to wait until it may try again; `None`: it may.
    pub fn wait_of(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let failures = self.0.get(&address)?;
        let left = failures.wait().saturating_sub(now.duration_since(failures.last));
        (left > Duration::ZERO).then_some(left)
    }

    /// An address has failed.
    pub fn failed(&mut self, address: IpAddr, now: Instant) {
        self.0.retain(|_, failures| now.duration_since(failures.last) < MEMORY);
        if self.0.len() >= ADDRESSES_MAX
            && let Some((&oldest, _)) = self.0.iter().min_by_key(|(_, failures)| failures.last)
        {
            self.0.remove(&oldest);
        }
        let failures = self.0.entry(address).or_insert(Failures { count: 0, last: now });
        *failures = Failures { count: failures.count.saturating_add(1), last: now };
    }

    /// An address has logged in.
    pub fn succeeded(&mut self, address: IpAddr) {
        self.0.remove(&address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_wait() {
        let mut throttle = Throttle::default();
        let (me, other) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut now = larder_engine::instant();
        for seconds in [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0] {
            throttle.failed(me, now);
            assert_eq!(throttle.wait_of(me, now), Some(Duration::from_secs_f64(seconds)));
            assert_eq!(throttle.wait_of(other, now), None);
            now += Duration::from_secs_f64(seconds);
            assert_eq!(throttle.wait_of(me, now), None);
        }
        throttle.failed(me, now);
        throttle.succeeded(me);
        assert_eq!(throttle.wait_of(me, now), None);
        throttle.failed(me, now);
        now += MEMORY;
        throttle.failed(me, now);
        assert_eq!(throttle.wait_of(me, now), Some(WAIT));
    }

    #[test]
    fn few_addresses_are_remembered() {
        let mut throttle = Throttle::default();
        let begun = larder_engine::instant();
        for n in 0..5000_u32 {
            throttle.failed(n.to_be_bytes().into(), begun + Duration::from_millis(u64::from(n)));
            assert!(throttle.0.len() <= ADDRESSES_MAX);
        }
    }
}
