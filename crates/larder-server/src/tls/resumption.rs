//! Sessions that clients may resume, so that they need no full handshake when they come again.
//!
//! A session is what rustls makes of it: some hundred bytes, with the certificate that the client has shown. It goes when it is as old as
//! `tls-session-cache-timeout` says, and the oldest goes when there are more than `tls-session-cache-size`. Each setting of
//! `tls-auth-clients` has sessions of its own: who has come without a certificate does not get in by a session once one is asked for.

use parking_lot::Mutex;
use rustls::server::StoresServerSessions;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Keys that are gone may be in the order besides as many as there are sessions.
const ORDER_SLACK: usize = 64;

/// The sessions.
#[derive(Debug)]
pub struct SessionCache {
    kept: Mutex<Kept>,
    count_max: usize,
    age_max: Duration,
}

#[derive(Debug, Default)]
struct Kept {
    by_key: HashMap<Vec<u8>, (Instant, Vec<u8>)>,
    /// Keys in the order of their times; some may be gone from the map, or have come again later.
    order: VecDeque<(Instant, Vec<u8>)>,
}

impl SessionCache {
    /// At most `count_max` sessions, and each for `age_max`.
    pub fn new(count_max: usize, age_max: Duration) -> SessionCache {
        SessionCache { kept: Mutex::default(), count_max, age_max }
    }

    fn put_at(&self, key: Vec<u8>, value: Vec<u8>, now: Instant) -> bool {
        let mut kept = self.kept.lock();
        kept.order.push_back((now, key.clone()));
        kept.by_key.insert(key, (now, value));
        // Keys that are gone from the map may stand after one that stays: they must not pile up.
        if kept.order.len() > 2 * (kept.by_key.len() + ORDER_SLACK) {
            let Kept { by_key, order } = &mut *kept;
            order.retain(|(time, key)| by_key.get(key).is_some_and(|(current, _)| current == time));
        }
        // Those at the front go that have been taken or replaced, that are old, or that are too many.
        while let Some((time, key)) = kept.order.front() {
            let is_current = kept.by_key.get(key).is_some_and(|(current, _)| current == time);
            let is_old = now.duration_since(*time) >= self.age_max;
            if is_current && !is_old && kept.by_key.len() <= self.count_max {
                break;
            }
            let (_, key) = kept.order.pop_front().expect("it was there");
            if is_current {
                kept.by_key.remove(&key);
            }
        }
        true
    }

    fn get_at(&self, key: &[u8], now: Instant) -> Option<Vec<u8>> {
        let kept = self.kept.lock();
        let (time, value) = kept.by_key.get(key)?;
        (now.duration_since(*time) < self.age_max).then(|| value.clone())
    }
}

impl StoresServerSessions for SessionCache {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.put_at(key, value, Instant::now())
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.get_at(key, Instant::now())
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let value = self.get(key);
        self.kept.lock().by_key.remove(key);
        value
    }

    fn can_cache(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_taken_do_not_pile_up_after_one_that_stays() {
        let cache = SessionCache::new(1000, Duration::from_secs(10));
        cache.put(b"stays".to_vec(), vec![1]);
        for n in 0..10_000_u32 {
            cache.put(n.to_le_bytes().to_vec(), vec![2]);
            assert_eq!(cache.take(&n.to_le_bytes()), Some(vec![2]));
        }
        assert!(cache.kept.lock().order.len() <= 2 * (2 + ORDER_SLACK) + 1);
        assert_eq!(cache.get(b"stays"), Some(vec![1]));
    }

    #[test]
    fn sessions_go_by_age_and_by_number() {
        let cache = SessionCache::new(3, Duration::from_secs(10));
        let start = Instant::now();
        let at = |s: u64| start + Duration::from_secs(s);
        for s in 0..5 {
            cache.put_at(vec![s as u8], vec![s as u8; 2], at(s));
        }
        assert_eq!(cache.kept.lock().by_key.len(), 3);
        assert_eq!((cache.get_at(&[1], at(5)), cache.get_at(&[4], at(5))), (None, Some(vec![4, 4])));
        assert_eq!((cache.get_at(&[2], at(11)), cache.get_at(&[2], at(12))), (Some(vec![2, 2]), None));
        // The same key again is younger, and takes one place.
        cache.put_at(vec![2], vec![9], at(11));
        assert_eq!(cache.get_at(&[2], at(20)), Some(vec![9]));
        cache.put_at(vec![7], vec![7], at(40));
        let kept = cache.kept.lock();
        assert_eq!((kept.by_key.len(), kept.order.len()), (1, 1));
    }
}
