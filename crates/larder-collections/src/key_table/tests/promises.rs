//! What the table promises beyond being a map: scans, fair sampling, limits, guards, and the bytes.

use super::{Chosen, Counted, ExpireChange, Good, KeyHash, NewValue, Table, key, put};
use crate::key_table::{CURSOR_BITS, DEPTH_SLACK, SEGMENT_BYTES_MAX, SEGMENT_SLOTS_MAX, ValueRef};
use larder_testkit::seed;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

fn filled(n: u64) -> Table {
    let mut table = Table::<Good>::new();
    for i in 0..n {
        put(&mut table, &key(i), b"a value of 20 bytes.", ExpireChange::Keep);
    }
    table
}

fn remove(table: &mut Table, n: u64) {
    table.remove(Good::hash(&key(n)), &key(n)).expect("the key is there");
}

/// A whole scan; `between` is called after each step. Counts the visits of each key.
fn scan(table: &mut Table, count: usize, mut between: impl FnMut(&mut Table)) -> HashMap<Vec<u8>, usize> {
    let (mut visits, mut cursor) = (HashMap::new(), 0);
    loop {
        cursor = table.scan(cursor, count, |entry| *visits.entry(entry.key().to_vec()).or_default() += 1);
        if cursor == 0 {
            return visits;
        }
        between(table);
    }
}

#[test]
fn scan_visits_every_key_once() {
    for n in [1, 2, 100, 129, 5_000] {
        for count in [1, 10, 100, 1_000_000] {
            let mut steps = 0;
            let visits = scan(&mut filled(n), count, |_| steps += 1);
            assert_eq!(visits.len() as u64, n);
            assert!(visits.values().all(|&count| count == 1));
            assert!(steps <= n as usize / count, "each step but the last visits {count} keys");
        }
    }
}

#[test]
fn a_scan_knows_the_shares_of_the_table() {
    for n in [1, 100, 5_000] {
        let mut table = filled(n);
        put(&mut table, &[b'x'; 1000], b"", ExpireChange::At(7));
        let (mut cursor, mut visited) = (0, 0);
        loop {
            cursor = table.scan_with_shares(cursor, 10, |entry, share| {
                visited += 1;
                assert_eq!(Some(share), table.share_bytes(Good::hash(entry.key()), entry.key()));
            });
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(visited, n + 1);
    }
}

#[test]
fn scan_visits_what_stays_once_while_the_table_grows_and_shrinks() {
    /// A scan of few keys a step, to which many come, would never end.
    const OTHERS_MAX: usize = 60_000;
    let stays = 2_000;
    // Grow ten times over, or shrink to a tenth, in the course of the scan; and both in turn.
    for (grow, shrink, at_first) in [(400, 0, 0), (0, 400, 40_000), (900, 800, 20_000), (300, 700, 30_000)] {
        let mut rng = fastrand::Rng::with_seed(seed(11));
        let mut table = filled(stays);
        let mut others: Vec<u64> = (stays..stays + at_first).collect();
        others.iter().for_each(|&n| put(&mut table, &key(n), b"another", ExpireChange::Keep));
        let mut next = stays + at_first;
        let visits = scan(&mut table, rng.usize(1..200), |table| {
            let grow = if others.len() < OTHERS_MAX { grow } else { 0 };
            for _ in 0..rng.usize(..=grow) {
                put(table, &key(next), b"another", ExpireChange::Keep);
                others.push(next);
                next += 1;
            }
            for _ in 0..rng.usize(..=shrink).min(others.len()) {
                remove(table, others.swap_remove(rng.usize(..others.len())));
            }
        });
        table.check_invariants();
        for n in 0..stays {
            assert_eq!(visits.get(&key(n)), Some(&1), "key {n}, {grow} in and {shrink} out a step");
        }
    }
}

/// What grows from cursor to cursor: the position, and at one position the tag.
fn order(cursor: u64) -> (u64, u64) {
    (cursor & 0xFFFF_FFFF, cursor >> 32 & 0xFF)
}

#[test]
fn any_number_is_a_cursor() {
    let table = filled(3_000);
    let mut rng = fastrand::Rng::with_seed(seed(12));
    for bits in (0..64).cycle().take(2_000) {
        let cursor = rng.u64(..) >> bits;
        let (mut visited, count) = (0, rng.usize(1..300));
        let next = table.scan(cursor, count, |_| visited += 1);
        assert!(next == 0 || order(next) > order(cursor) && next >> CURSOR_BITS == 0);
        assert!(visited <= count + SEGMENT_SLOTS_MAX);
    }
}

#[test]
fn random_is_uniform() {
    // Sizes where depths differ, and a table that has shrunk unevenly.
    let mut uneven = filled(6_000);
    (0..6_000).filter(|n| n % 16 != 0 && *n < 5_900).for_each(|n| remove(&mut uneven, n));
    for (name, table) in [("small", filled(7)), ("some", filled(900)), ("uneven", uneven)] {
        let mut rng = fastrand::Rng::with_seed(seed(13));
        let per_key = 400;
        let mut hits: HashMap<Vec<u8>, u64> = HashMap::new();
        for _ in 0..table.len() as u64 * per_key {
            *hits.entry(table.random(&mut rng).expect("there are keys").key().to_vec()).or_default() += 1;
        }
        let expected = per_key as f64;
        let chi2: f64 = table
            .iter()
            .map(|e| hits.get(e.key()).copied().unwrap_or(0) as f64 - expected)
            .map(|d| d * d / expected)
            .sum();
        let freedom = table.len() as f64 - 1.0;
        // Five standard deviations.
        assert!((chi2 - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{name}: chi2 {chi2} of {freedom}");
    }
}

#[test]
fn equal_hashes_neither_blow_up_the_directory_nor_get_lost() {
    let mut table = Table::<Chosen>::new();
    let key = |n: u64| [&0xABCD_EF01_2345_6789_u64.to_be_bytes()[..], &n.to_le_bytes()].concat();
    for n in 0..5_000 {
        put(&mut table, &key(n), &n.to_le_bytes(), ExpireChange::Keep);
    }
    table.check_invariants();
    let stats = table.stats();
    assert!(stats.directory_slots <= stats.segments << DEPTH_SLACK, "{stats}");
    assert!(stats.memory_bytes < 5_000 * 40, "{stats}");
    for n in 0..5_000 {
        let entry = table.get(Chosen::hash(&key(n)), &key(n)).expect("the key is there");
        assert!(matches!(entry.value(), ValueRef::Inline { bytes, .. } if bytes == n.to_le_bytes()));
    }
    let mut visited = 0;
    let mut cursor = 0;
    while let next @ 1.. = table.scan(cursor, 10, |_| visited += 1) {
        cursor = next;
    }
    assert_eq!(visited, 5_000);
    for n in (0..5_000).rev() {
        table.remove(Chosen::hash(&key(n)), &key(n)).expect("the key is there");
    }
    assert_eq!(table.memory_bytes(), 0);
}

#[test]
fn segments_keep_their_limits() {
    let mut rng = fastrand::Rng::with_seed(seed(14));
    for value_bytes in [0, 20, 128] {
        let mut table = Table::<Good>::new();
        for n in 0..20_000 {
            put(&mut table, &key(n), &vec![1; rng.usize(..=value_bytes)], ExpireChange::Keep);
        }
        let stats = table.stats();
        let largest = table.directory.iter().map(|(_, s)| s.page().content_bytes()).max();
        assert!(largest <= Some(SEGMENT_BYTES_MAX), "{largest:?}");
        assert!(stats.directory_slots <= stats.segments * 8, "{stats}");
        for n in (0..20_000).filter(|n| n % 20 != 0) {
            remove(&mut table, n);
        }
        let stats = table.stats();
        assert!(stats.directory_slots <= stats.segments * 8, "{stats}");
        assert!(stats.segment_bytes * 65 <= stats.content_bytes * 110 + stats.segments * 64 * 65, "{stats}");
        table.check_invariants();
    }
}

#[test]
fn a_million_lookups_cost_no_memory_and_one_key_little() {
    let mut table = filled(1);
    assert!(table.memory_bytes() <= 128, "{}", table.memory_bytes());
    remove(&mut table, 0);
    assert_eq!(table.memory_bytes(), 0);
}

#[test]
fn long_keys_and_the_longest_records() {
    let mut table = Table::<Good>::new();
    let lengths = [0, 1, 100, 126, 127, 254, 255, 256, 257, 70_000];
    for expire in [ExpireChange::Clear, ExpireChange::At(5)] {
        for len in lengths {
            for value in [0, 1, 127, 128] {
                put(&mut table, &vec![b'k'; len], &vec![b'v'; value], expire);
                table.check_invariants();
                let entry = table.get(Good::hash(&vec![b'k'; len]), &vec![b'k'; len]).expect("just put");
                assert_eq!(entry.key().len(), len);
                assert!(matches!(entry.value(), ValueRef::Inline { bytes, .. } if bytes.len() == value));
            }
        }
    }
    assert!(table.memory_bytes() > 70_000);
    for len in lengths {
        let key = vec![b'k'; len];
        assert!(table.remove(Good::hash(&key), &key).is_some_and(|removed| removed.expire_at_ms == Some(5)));
        table.check_invariants();
    }
    assert_eq!(table.memory_bytes(), 0);
}

#[test]
fn a_guard_writes_back_even_when_its_user_panics() {
    let live = Arc::new(AtomicIsize::new(0));
    let mut table = Table::<Good>::new();
    let (name, hash) = (b"name", Good::hash(b"name"));
    table.put(hash, name, NewValue::Out(Counted::new(3, 10, &live)), ExpireChange::Keep, 0);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        table.modify_out(hash, name, |value| {
            value.change(9, 11);
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err());
    let entry = table.get(hash, name).expect("the key is there");
    assert!(matches!(entry.value(), ValueRef::Out(v) if (v.kind(), v.number()) == (9, 11)));
    // A leaked guard leaks its value; the table stays whole.
    std::mem::forget(table.get_mut(hash, name));
    assert!(table.get_mut(hash, name).is_none());
    table.check_invariants();
    drop(table);
    assert_eq!(live.load(Ordering::Relaxed), 1);
}

#[test]
fn clear_and_take_free_everything() {
    let live = Arc::new(AtomicIsize::new(0));
    let mut table = Table::<Good>::new();
    for n in 0..1_000 {
        table.put(
            Good::hash(&key(n)),
            &key(n),
            NewValue::Out(Counted::new(1, n, &live)),
            ExpireChange::At(n),
            0,
        );
    }
    let taken = std::mem::take(&mut table);
    assert_eq!((table.len(), table.memory_bytes(), taken.len()), (0, 0, 1_000));
    std::thread::spawn(move || drop(taken)).join().expect("a table may be dropped by another thread");
    assert_eq!(live.load(Ordering::Relaxed), 0);
    let mut table = filled(1_000);
    table.clear();
    assert_eq!(table.memory_bytes(), 0);
    table.check_invariants();
}
