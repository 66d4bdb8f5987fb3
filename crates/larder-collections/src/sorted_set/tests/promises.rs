//! Single promises of the sorted set: bytes, encodings, walks that see changes, size of large sets.

use std::cell::Cell;
use std::collections::HashSet;

use crate::key_table::KeyHash;
use crate::member_hash::MemberHash;
use crate::sorted_set::{Limits, Order, SortedSet, SortedSetEncoding};

type Set = SortedSet<MemberHash>;

fn filled(n: u32, score: impl Fn(u32) -> f64) -> Set {
    let mut set = Set::new();
    for i in 0..n {
        set.add(format!("m{i:015}").as_bytes(), score(i), &Limits::default());
    }
    set
}

#[test]
fn encoding_is_sticky() {
    let mut set = filled(128, f64::from);
    assert_eq!(set.encoding(), SortedSetEncoding::Listpack);
    set.add(b"one more", 1.0, &Limits::default());
    assert_eq!(set.encoding(), SortedSetEncoding::Skiplist);
    while set.len() > 1 {
        set.remove_ranks(0, 1, |_, _| {});
    }
    assert_eq!(set.encoding(), SortedSetEncoding::Skiplist);
    let mut set = Set::new();
    set.add(&[b'x'; 65], 1.0, &Limits::default());
    assert_eq!(set.encoding(), SortedSetEncoding::Skiplist);
}

#[test]
fn a_large_set_is_packed_and_whole() {
    let mut rng = fastrand::Rng::with_seed(5);
    let scores: Vec<f64> = (0..100_000).map(|_| rng.f64() * 1e6).collect();
    let mut set = filled(100_000, |i| scores[i as usize]);
    set.check_invariants();
    let each = set.memory_bytes(0) as f64 / 100_000.0;
    assert!(each < 26.0, "{each} bytes a member");
    assert!((set.memory_bytes(50) as f64 / set.memory_bytes(0) as f64 - 1.0).abs() < 0.2);
    for i in (0..100_000).step_by(997) {
        assert_eq!(set.score(format!("m{i:015}").as_bytes()), Some(scores[i]));
    }
    for i in 0..99_000 {
        assert!(set.remove(format!("m{i:015}").as_bytes()).is_some());
    }
    set.check_invariants();
    let each = set.memory_bytes(0) as f64 / 1000.0;
    assert!(each < 60.0, "{each} bytes a member after most have gone");
}

#[test]
fn sequential_and_equal_scores_are_packed_too() {
    let bytes = |score: fn(u32) -> f64| {
        let set = filled(50_000, score);
        set.check_invariants();
        set.memory_bytes(0) as f64 / 50_000.0
    };
    assert!(bytes(f64::from) < 14.0, "{}", bytes(f64::from));
    assert!(bytes(|i| -f64::from(i)) < 14.0, "{}", bytes(|i| -f64::from(i)));
    assert!(bytes(|_| 7.0) < 14.0, "{}", bytes(|_| 7.0));
}

#[test]
fn a_walk_sees_all_that_stay() {
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let n = [200, 600, 6000][seed as usize % 3];
        let mut set = filled(n, f64::from);
        let (mut cursor, mut seen) = (0, HashSet::new());
        let mut calls = 0;
        loop {
            cursor = set.scan(cursor, 10, |_, member| assert!(seen.insert(member.to_vec()), "seen twice"));
            calls += 1;
            if cursor == 0 {
                break;
            }
            // Half of the members stay; the others come and go, and scores change.
            for _ in 0..20 {
                let i = rng.u32(..n);
                let member = format!("m{i:015}");
                if i.is_multiple_of(2) || rng.bool() {
                    set.add(member.as_bytes(), rng.f64(), &Limits::default());
                } else {
                    set.remove(member.as_bytes());
                }
                set.add(format!("new {}", rng.u32(..)).as_bytes(), rng.f64(), &Limits::default());
            }
        }
        assert!(calls as u32 >= n / 40, "{calls} calls");
        for i in (0..n).step_by(2) {
            assert!(seen.contains(format!("m{i:015}").as_bytes()));
        }
    }
}

thread_local! {
    static HASHED: Cell<usize> = const { Cell::new(0) };
}

/// Counts what is hashed.
struct Counted;

impl KeyHash for Counted {
    fn hash(key: &[u8]) -> u64 {
        HASHED.set(HASHED.get() + 1);
        MemberHash::hash(key)
    }
}

/// A step of a walk looks at a few members more than it returns, whatever the size of the set.
#[test]
fn a_step_of_a_walk_costs_what_it_returns() {
    for n in [150, 400, 1000, 20_000, 200_000] {
        let mut set = SortedSet::<Counted>::new();
        for i in 0..n {
            set.add(format!("member {i}").as_bytes(), f64::from(i % 1000), &Limits::default());
        }
        for count in [10, 100] {
            HASHED.set(0);
            let (mut cursor, mut steps, mut seen) = (0, 0, 0);
            loop {
                cursor = set.scan(cursor, count, |_, _| seen += 1);
                steps += 1;
                if cursor == 0 {
                    break;
                }
            }
            assert_eq!(seen, n);
            let (per_step, each) = (HASHED.get() / steps, seen as usize / steps);
            assert!(per_step < 2 * each + 25, "{per_step} hashed for {each} of {n}");
        }
    }
}

#[test]
fn a_clone_shares_all_but_what_is_written() {
    let mut set = filled(20_000, f64::from);
    let clone = set.clone();
    set.add(b"m000000000000777", 1e9, &Limits::default());
    assert_eq!(clone.score(b"m000000000000777"), Some(777.0));
    assert_eq!(set.rank(b"m000000000000777"), Some((19_999, 1e9)));
    set.check_invariants();
    clone.check_invariants();
}

#[test]
fn members_may_be_huge() {
    let mut set = Set::new();
    let huge = vec![b'h'; 3 << 20];
    for i in 0..50 {
        set.add(format!("small {i}").as_bytes(), 1.0, &Limits::default());
    }
    set.add(&huge, 1.0, &Limits::default());
    set.add(&huge[1..], 1.0, &Limits::default());
    set.check_invariants();
    assert_eq!(set.rank(&huge), Some((1, 1.0)));
    let mut lens = Vec::new();
    let _ = set.visit(0..3, Order::Descending, |_, member| {
        lens.push(member.len());
        std::ops::ControlFlow::<()>::Continue(())
    });
    assert_eq!(lens, [7, huge.len(), huge.len() - 1]);
    assert_eq!(set.remove(&huge), Some(1.0));
    set.check_invariants();
}

#[test]
fn a_set_built_at_once_is_the_set_built_step_by_step() {
    let mut rng = fastrand::Rng::with_seed(3);
    for round in 0..300 {
        let (count, len) = ([0, 1, 5, 100, 300, 2000][round % 6], [3, 20, 500][round % 3]);
        let names: Vec<String> = (0..count).map(|i| format!("{i}{}", "x".repeat(rng.usize(..len)))).collect();
        let entries: Vec<(f64, &[u8])> =
            names.iter().map(|name| (f64::from(rng.i8(..)), name.as_bytes())).collect();
        let limits = Limits { entries: 128, member_len: 64 };
        let built = SortedSet::<MemberHash>::of_entries(&entries, &limits).expect("no member is there twice");
        let mut slow = SortedSet::<MemberHash>::new();
        entries.iter().for_each(|(score, member)| assert!(slow.add(member, *score, &limits)));
        built.check_invariants();
        let contents = |set: &SortedSet<MemberHash>| {
            let mut all = Vec::new();
            set.for_each(|score, member| all.push((score.to_bits(), member.to_vec())));
            (all, set.encoding())
        };
        assert_eq!(contents(&built), contents(&slow));
        if let Some(&first) = entries.first() {
            let twice = [&entries[..], &[first]].concat();
            assert!(SortedSet::<MemberHash>::of_entries(&twice, &limits).is_none());
        }
    }
}
