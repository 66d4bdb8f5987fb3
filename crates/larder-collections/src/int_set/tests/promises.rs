//! The promises of the module's comment: memory, and clones that cost nothing.

use crate::int_set::IntSet;

fn bytes_per_value(values: impl Iterator<Item = i64>) -> f64 {
    let mut set = IntSet::new();
    values.for_each(|value| {
        set.insert(value);
    });
    set.check_invariants();
    set.memory_bytes(0) as f64 / set.len() as f64
}

#[test]
fn large_sets_stay_packed() {
    let mut rng = fastrand::Rng::with_seed(5);
    let random = bytes_per_value(std::iter::repeat_with(|| rng.i64(0..150_000_000)).take(300_000));
    assert!(random < 3.4, "gaps of 500: {random}");
    let sequence = bytes_per_value(0..100_000);
    assert!(sequence < 1.5, "ascending: {sequence}");
    let backwards = bytes_per_value((0..100_000).rev());
    assert!(backwards < 1.5, "descending: {backwards}");
    let wide = bytes_per_value(std::iter::repeat_with(|| rng.i64(..)).take(100_000));
    assert!(wide < 12.5, "64 bits: {wide}");
}

#[test]
fn small_sets_are_one_block() {
    let set: IntSet = (0..100).map(|i| i * 1000).collect();
    assert!(matches!(set, IntSet::Packed(_)));
    assert_eq!(set.memory_bytes(5), 448);
    assert_eq!(IntSet::of_sorted(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).memory_bytes(0), 32);
}

#[test]
fn a_tree_becomes_a_block_again_unless_it_was_overgrown() {
    for overgrown in [false, true] {
        let mut set: IntSet = (0..5000).collect();
        if overgrown {
            set.set_overgrown();
        }
        (10..5000).for_each(|value| assert!(set.remove(value)));
        assert_eq!(matches!(set, IntSet::Packed(_)), !overgrown);
        assert_eq!(set.is_overgrown(), overgrown);
        (0..10).for_each(|value| assert!(set.remove(value)));
        assert!(set.is_empty() && set.iter().next().is_none() && set.select(0).is_none());
        assert!(set.insert(3) && set.contains(3) && set.len() == 1);
        set.check_invariants();
    }
}

#[test]
fn memory_follows_the_values() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut set: IntSet = std::iter::repeat_with(|| rng.i64(0..1 << 40)).take(50_000).collect();
    let (full, len) = (set.memory_bytes(0), set.len());
    while set.len() > len / 10 {
        let value = set.select(rng.u64(..set.len())).expect("a rank below the length");
        assert!(set.remove(value));
    }
    set.check_invariants();
    assert!(set.memory_bytes(0) < full / 4, "{} of {full}", set.memory_bytes(0));
}

#[test]
fn a_seeker_finds_what_contains_finds() {
    let mut rng = fastrand::Rng::with_seed(8);
    for range in [100, 10_000, 1 << 40] {
        let set: IntSet = (0..3000).map(|_| rng.i64(-range..range)).collect();
        let mut probes: Vec<i64> = (0..3000).map(|_| rng.i64(-range..range)).collect();
        probes.extend(set.iter().filter(|_| rng.bool()));
        probes.sort_unstable();
        let mut seeker = set.seeker();
        assert!(probes.iter().all(|&value| seeker.contains(value) == set.contains(value)));
    }
    assert!(!IntSet::new().seeker().contains(5));
}
