//! Expiry under a simulated clock.

use super::{ExpireChange, Good, KeyHash, Table, key, put};
use crate::key_table::Entry;
use larder_testkit::seed;
use std::collections::BTreeMap;

/// Times from now, as a server sees them.
const NOW_MS: u64 = 1_800_000_000_000;

fn set_expire(table: &mut Table, n: u64, at: Option<u64>) {
    assert!(table.set_expire(Good::hash(&key(n)), &key(n), at));
}

#[test]
fn every_key_goes_in_its_tick_and_none_before() {
    let mut rng = fastrand::Rng::with_seed(seed(21));
    let mut table = Table::<Good>::new();
    let mut due: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for n in 0..8_000 {
        put(&mut table, &key(n), b"value", ExpireChange::Keep);
        if n % 4 != 0 {
            let at = NOW_MS + rng.u64(..10_000);
            set_expire(&mut table, n, Some(at));
            due.insert(key(n), at);
        }
    }
    table.check_invariants();
    for now in (NOW_MS..=NOW_MS + 10_000).step_by(100) {
        let expected = due.values().filter(|&&at| at <= now).count();
        // In portions, as a server does it.
        let mut taken = 0;
        while let got @ 1.. = table.take_expired(now, 25, |key, _| {
            assert!(due.remove(key).is_some_and(|at| at <= now), "{key:?} at {now}");
        }) {
            taken += got;
        }
        assert_eq!(taken, expected, "at {now}");
        assert_eq!(table.expires_len(), due.len());
        assert!(table.next_expiry_ms().is_none_or(|soonest| due.values().all(|&at| at >= soonest)));
    }
    assert_eq!((table.len(), table.expires_len(), table.next_expiry_ms()), (2_000, 0, None));
    table.check_invariants();
}

#[test]
fn expiries_that_change_or_go_are_noticed() {
    let mut table = Table::<Good>::new();
    for n in 0..3_000 {
        put(&mut table, &key(n), b"value", ExpireChange::At(NOW_MS));
    }
    for n in 0..1_000 {
        set_expire(&mut table, n, None);
        set_expire(&mut table, n + 1_000, Some(NOW_MS + 500));
    }
    assert_eq!(table.next_expiry_ms(), Some(NOW_MS));
    assert_eq!(table.take_expired(NOW_MS, usize::MAX, |_, _| {}), 1_000);
    assert_eq!(table.next_expiry_ms(), Some(NOW_MS + 500));
    assert_eq!(table.take_expired(NOW_MS + 499, usize::MAX, |_, _| {}), 0);
    // An overwrite keeps or clears.
    for n in 1_000..2_000 {
        put(&mut table, &key(n), b"other", if n < 1_500 { ExpireChange::Keep } else { ExpireChange::Clear });
    }
    assert_eq!(table.expires_len(), 500);
    assert_eq!(table.take_expired(NOW_MS + 500, usize::MAX, |_, _| {}), 500);
    assert_eq!((table.len(), table.expires_len()), (1_500, 0));
    table.check_invariants();
}

#[test]
fn the_last_key_may_expire() {
    let mut table = Table::<Good>::new();
    for n in 0..700 {
        put(&mut table, &key(n), b"value", ExpireChange::At(n));
    }
    assert_eq!(table.take_expired(u64::MAX, usize::MAX, |_, _| {}), 700);
    assert_eq!((table.len(), table.memory_bytes()), (0, 0));
    table.check_invariants();
}

#[test]
fn times_at_the_ends() {
    let mut table = Table::<Good>::new();
    for (n, at) in [0, 1, (1 << 48) - 1, 1 << 48, u64::MAX].into_iter().enumerate() {
        put(&mut table, &key(n as u64), b"value", ExpireChange::At(at));
        let stored = table.get(Good::hash(&key(n as u64)), &key(n as u64)).and_then(Entry::expire_at_ms);
        assert_eq!(stored, Some(at.min((1 << 48) - 1)));
    }
    table.check_invariants();
    assert_eq!(table.take_expired(0, 9, |_, _| {}), 1);
    assert_eq!(table.take_expired((1 << 48) - 2, 9, |_, _| {}), 1);
    assert_eq!(table.take_expired(1 << 48, 9, |_, _| {}), 3);
}

#[test]
fn a_sweep_does_not_look_where_nothing_is_due() {
    let mut table = Table::<Good>::new();
    for n in 0..20_000 {
        put(&mut table, &key(n), b"value", ExpireChange::At(NOW_MS + 1_000_000 + n));
    }
    set_expire(&mut table, 7, Some(NOW_MS));
    assert_eq!(table.take_expired(NOW_MS, usize::MAX, |key_taken, _| assert_eq!(key_taken, key(7))), 1);
    assert_eq!(table.next_expiry_ms(), Some(NOW_MS + 1_000_000));
}
