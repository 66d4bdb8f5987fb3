//! The promise of scans: what stays is seen, whatever else happens meanwhile.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::list::{End, Fill, InvalidCursor, List, ListOptions, Popped};
use larder_testkit::seeds;

/// Changes the list anywhere, but leaves the elements of `stay` where they are relative to each other.
fn disturb(
    list: &mut List,
    rng: &mut fastrand::Rng,
    options: &ListOptions,
    stay: &HashSet<Vec<u8>>,
    next: &mut u32,
) {
    let mut fresh = || {
        *next += 1;
        format!("new {next}").into_bytes()
    };
    let n = list.len();
    match rng.usize(..8) {
        0 => (0..rng.usize(..30)).for_each(|_| list.push_front(&fresh(), options)),
        1 => (0..rng.usize(..30)).for_each(|_| list.push_back(&fresh(), options)),
        2 | 3 => {
            let end = if rng.bool() { End::Front } else { End::Back };
            while rng.usize(..8) > 0 && list.peek(end).is_some_and(|e| !stay.contains(&e.to_vec())) {
                list.pop_with(end, options, |_| ());
            }
        }
        4 => list.insert(rng.u64(..=n), &fresh(), options),
        5 if n > 0 => {
            let at = rng.u64(..n);
            let value = list.get(at).map(Popped::into_vec).unwrap();
            if !stay.contains(&value) {
                list.remove_range(at, 1, options);
            }
        }
        6 => {
            let (at, count) = (rng.u64(..=n), rng.u64(..20));
            let mut goes = true;
            let _ = list.for_each_range(at, count, |e| {
                goes &= !stay.contains(&e.to_vec());
                ControlFlow::<()>::Continue(())
            });
            if goes {
                list.remove_range(at, count, options);
            }
        }
        _ if n > 0 => {
            let value = list.get(rng.u64(..n)).map(Popped::into_vec).unwrap();
            if !stay.contains(&value) {
                list.remove_matching(&value, 0, rng.bool(), options);
            }
        }
        _ => {}
    }
}

#[test]
fn what_stays_is_returned() {
    for seed in seeds(300, 100_000) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let options = ListOptions { fill: Fill::new([3, 8, -1][rng.usize(..3)]), ..ListOptions::default() };
        let (mut list, mut next) = (List::new(), 0);
        let total = rng.usize(1..400);
        let share = rng.f64();
        let mut stay = HashSet::new();
        for i in 0..total {
            let value = format!("element {i}").into_bytes();
            if rng.f64() < share {
                stay.insert(value.clone());
            }
            list.push(if i % 3 == 0 { End::Front } else { End::Back }, &value, &options);
        }
        let (mut cursor, mut seen, mut calls) = (0, HashSet::new(), 0);
        loop {
            let count = rng.usize(1..30);
            cursor = list
                .scan(cursor, count, |e| {
                    seen.insert(e.to_vec());
                })
                .unwrap();
            calls += 1;
            if cursor == 0 {
                break;
            }
            assert!(cursor < 1 << 53 && calls < 100_000);
            for _ in 0..rng.usize(..4) {
                disturb(&mut list, &mut rng, &options, &stay, &mut next);
            }
        }
        let missed: Vec<_> = stay.difference(&seen).map(|v| String::from_utf8_lossy(v)).collect();
        assert!(missed.is_empty(), "missed {missed:?}");
    }
}

#[test]
fn impossible_cursors_are_refused() {
    let options = ListOptions { fill: Fill::new(4), ..ListOptions::default() };
    let mut list = List::new();
    list.push_back(b"one", &options);
    assert_eq!(list.scan(7, 10, |_| ()), Err(InvalidCursor));
    (0..100).for_each(|i| list.push_back(format!("{i}").as_bytes(), &options));
    let cursor = list.scan(0, 10, |_| ()).unwrap();
    assert!(cursor != 0 && list.scan(cursor, 10, |_| ()).is_ok());
    let accepted = (1..10_000).filter(|i| list.scan(cursor + i * 17 + 1, 1, |_| ()).is_ok()).count();
    assert!(accepted < 20, "{accepted} of 10,000 guesses were accepted");
    assert_eq!(list.scan(u64::MAX, 1, |_| ()), Err(InvalidCursor));
}

#[test]
fn a_quiet_scan_returns_everything_once_in_order() {
    let options = ListOptions { fill: Fill::new(7), ..ListOptions::default() };
    let mut list = List::new();
    (0..1000).for_each(|i| list.push_back(format!("e{i}").as_bytes(), &options));
    let (mut cursor, mut seen) = (0, Vec::new());
    loop {
        cursor = list.scan(cursor, 33, |e| seen.push(e.to_vec())).unwrap();
        if cursor == 0 {
            break;
        }
    }
    assert!(seen.into_iter().eq((0..1000).map(|i| format!("e{i}").into_bytes())));
}
