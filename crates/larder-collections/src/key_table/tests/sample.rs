//! Samples for eviction.

use super::{ExpireChange, Good, KeyHash, Table, key, put, seed};
use crate::key_table::SampleFrom;
use std::collections::HashMap;

fn sample(table: &mut Table, from: SampleFrom, rng: &mut fastrand::Rng) -> Vec<(Vec<u8>, Option<u64>)> {
    let mut seen = Vec::new();
    let visited = table.sample(from, rng, |entry| seen.push((entry.key().to_vec(), entry.expire_at_ms())));
    assert_eq!(visited, seen.len());
    seen
}

#[test]
fn an_empty_table_has_no_sample() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut table = Table::<Good>::new();
    for from in [SampleFrom::All, SampleFrom::Expiring, SampleFrom::Soonest] {
        assert!(sample(&mut table, from, &mut rng).is_empty());
    }
    put(&mut table, b"k", b"v", ExpireChange::Keep);
    assert_eq!(sample(&mut table, SampleFrom::All, &mut rng).len(), 1);
    assert!(sample(&mut table, SampleFrom::Expiring, &mut rng).is_empty());
    assert!(sample(&mut table, SampleFrom::Soonest, &mut rng).is_empty());
}

#[test]
fn every_key_has_about_the_same_chance() {
    let mut rng = fastrand::Rng::with_seed(seed(31));
    let mut table = Table::<Good>::new();
    for n in 0..5_000 {
        put(&mut table, &key(n), b"a value", ExpireChange::Keep);
    }
    let mut counts: HashMap<Vec<u8>, u32> = HashMap::new();
    for _ in 0..20_000 {
        for (name, _) in sample(&mut table, SampleFrom::All, &mut rng) {
            *counts.entry(name).or_default() += 1;
        }
    }
    assert_eq!(counts.len(), 5_000, "each is seen");
    let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
    assert!(*most < least * 2, "{least} to {most}");
}

#[test]
fn few_keys_that_expire_are_found_among_many() {
    let mut rng = fastrand::Rng::with_seed(seed(32));
    let mut table = Table::<Good>::new();
    for n in 0..20_000 {
        put(&mut table, &key(n), b"a value", ExpireChange::Keep);
    }
    let expiring = [77, 5_000, 19_999];
    for n in expiring {
        table.set_expire(Good::hash(&key(n)), &key(n), Some(1_000_000 + n));
    }
    let mut seen = std::collections::HashSet::new();
    for _ in 0..200 {
        let found = sample(&mut table, SampleFrom::Expiring, &mut rng);
        assert!(!found.is_empty() && found.iter().all(|(_, at)| at.is_some()));
        seen.extend(found.into_iter().map(|(name, _)| name));
    }
    assert_eq!(seen.len(), 3);
    table.check_invariants();
}

#[test]
fn the_soonest_is_in_its_sample_whatever_has_changed() {
    let mut rng = fastrand::Rng::with_seed(seed(33));
    let mut table = Table::<Good>::new();
    for n in 0..10_000 {
        put(&mut table, &key(n), b"a value", ExpireChange::At(1_000_000 + n));
    }
    for soonest in 0..300 {
        let found = sample(&mut table, SampleFrom::Soonest, &mut rng);
        let first = found.iter().filter_map(|(_, at)| *at).min();
        assert_eq!(first, Some(1_000_000 + soonest), "minima are made exact as they are looked at");
        // Removed, made permanent, or put off: its segment's minimum is too early now.
        let name = key(soonest);
        match soonest % 3 {
            0 => drop(table.remove(Good::hash(&name), &name)),
            1 => drop(table.set_expire(Good::hash(&name), &name, None)),
            _ => drop(table.set_expire(Good::hash(&name), &name, Some(9_000_000))),
        }
    }
    table.check_invariants();
}
