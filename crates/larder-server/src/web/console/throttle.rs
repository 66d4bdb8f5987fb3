//! How long a login has to wait after others of the same user from the same address have failed: twice as long after each failure.
//!
//! Users are throttled one by one. Behind a proxy all have one address: neither does an attacker's failure lock others out there,
//! nor does a login of another user give the attacker new tries. Names of users that do not exist are remembered apart, so
//! that inventing names makes no failure of a user forgotten.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// After the first failure.
const WAIT: Duration = Duration::from_millis(250);
/// After many.
const WAIT_MAX: Duration = Duration::from_secs(8);
/// A failure is forgotten after this time without another.
const MEMORY: Duration = Duration::from_secs(600);
/// Pairs of a user and an address that are remembered; when there are more, those that failed longest ago are forgotten.
const PAIRS_MAX: usize = 1024;

/// Who tries to log in.
#[derive(Clone, Copy, Debug)]
pub struct Try<'t> {
    /// The name of the user, which need not exist.
    pub user: &'t [u8],
    /// Whether there is such a user.
    pub exists: bool,
    /// Where the connection comes from.
    pub address: IpAddr,
}

/// The failures of users that exist, and of others. By keyed hash: names may be long.
#[derive(Debug, Default)]
pub struct Throttle {
    hasher: RandomState,
    failures: [HashMap<u64, Failures>; 2],
}

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
    /// How long a login has to wait until it may be tried again; `None`: it may.
    pub fn wait_of(&self, login: Try<'_>, now: Instant) -> Option<Duration> {
        let failures = self.failures[usize::from(login.exists)].get(&self.pair(login))?;
        let left = failures.wait().saturating_sub(now.duration_since(failures.last));
        (left > Duration::ZERO).then_some(left)
    }

    /// A login has failed. O(pairs remembered).
    pub fn failed(&mut self, login: Try<'_>, now: Instant) {
        let pair = self.pair(login);
        let failures = &mut self.failures[usize::from(login.exists)];
        failures.retain(|_, failures| now.duration_since(failures.last) < MEMORY);
        if failures.len() >= PAIRS_MAX
            && !failures.contains_key(&pair)
            && let Some((&oldest, _)) = failures.iter().min_by_key(|(_, failures)| failures.last)
        {
            failures.remove(&oldest);
        }
        let known = failures.entry(pair).or_insert(Failures { count: 0, last: now });
        *known = Failures { count: known.count.saturating_add(1), last: now };
    }

    /// A user has logged in from an address.
    pub fn succeeded(&mut self, login: Try<'_>) {
        let pair = self.pair(login);
        self.failures[usize::from(login.exists)].remove(&pair);
    }

    fn pair(&self, login: Try<'_>) -> u64 {
        self.hasher.hash_one((login.user, network(login.address)))
    }
}

/// The address, or the network of an address of version 6: whoever has one address of it has 2^64.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(user: &str, address: IpAddr) -> Try<'_> {
        Try { user: user.as_bytes(), exists: true, address }
    }

    #[test]
    fn each_failure_doubles_the_wait() {
        let mut throttle = Throttle::default();
        let proxy = [10, 0, 0, 1].into();
        let (me, same_address) = (login("ann", proxy), login("bob", proxy));
        let other_address = login("ann", [10, 0, 0, 2].into());
        let mut now = larder_engine::instant();
        for seconds in [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0] {
            throttle.failed(me, now);
            assert_eq!(throttle.wait_of(me, now), Some(Duration::from_secs_f64(seconds)));
            assert_eq!(throttle.wait_of(same_address, now), None);
            assert_eq!(throttle.wait_of(other_address, now), None);
            throttle.succeeded(same_address);
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
    fn invented_names_make_no_failure_forgotten() {
        let mut throttle = Throttle::default();
        let (begun, address) = (larder_engine::instant(), [10, 0, 0, 1].into());
        throttle.failed(login("ann", address), begun);
        for n in 0..5000 {
            let name = n.to_string();
            let invented = Try { user: name.as_bytes(), exists: false, address };
            throttle.failed(invented, begun + Duration::from_micros(n));
            assert!(throttle.wait_of(invented, begun + Duration::from_micros(n)).is_some());
            assert!(throttle.failures[0].len() <= PAIRS_MAX);
        }
        assert!(throttle.wait_of(login("ann", address), begun).is_some());
        for n in 0..5000_u32 {
            throttle
                .failed(login("ann", n.to_be_bytes().into()), begun + Duration::from_millis(u64::from(n)));
            assert!(throttle.failures[1].len() <= PAIRS_MAX);
        }
    }

    #[test]
    fn a_network_of_version_6_is_one_address() {
        let mut throttle = Throttle::default();
        let now = larder_engine::instant();
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        throttle.failed(login("ann", address("2001:db8::1")), now);
        assert!(throttle.wait_of(login("ann", address("2001:db8::ffff:1")), now).is_some());
        assert!(throttle.wait_of(login("ann", address("2001:db8:0:1::1")), now).is_none());
    }
}
