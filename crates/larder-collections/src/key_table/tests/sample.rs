//! Samples for eviction.

use super::{Counted, ExpireChange, Good, KeyHash, Table, key, put};
use crate::key_table::{NewValue, SampleFrom, SlotSet};
use larder_testkit::seed;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

type Seen = Vec<(Vec<u8>, Option<u64>)>;

/// The sample from a position on, and where the next is looked for.
fn sample(table: &mut Table, from: SampleFrom, position: u32) -> Option<(Seen, Option<u32>)> {
    let sample = table.sample(from, position)?;
    let mut seen = Vec::new();
    let visited = table.visit_sample(sample, |index, entry| {
        seen.push((index, entry.key().to_vec(), entry.expire_at_ms()));
    });
    assert_eq!(visited, seen.len());
    for (index, name, _) in &seen {
        assert_eq!(table.sampled(sample, *index).expect("an entry").key(), name);
    }
    Some((seen.into_iter().map(|(_, name, at)| (name, at)).collect(), sample.next))
}

/// All samples of a round.
fn round(table: &mut Table, from: SampleFrom) -> Vec<Seen> {
    let (mut samples, mut at) = (Vec::new(), Some(0));
    while let Some((seen, next)) = at.and_then(|position| sample(table, from, position)) {
        samples.push(seen);
        at = next;
    }
    samples
}

#[test]
fn an_empty_table_has_no_sample() {
    let mut table = Table::<Good>::new();
    for from in [SampleFrom::All, SampleFrom::Expiring, SampleFrom::Soonest] {
        assert!(table.sample(from, 0).is_none());
    }
    put(&mut table, b"k", b"v", ExpireChange::Keep);
    assert_eq!(sample(&mut table, SampleFrom::All, u32::MAX), Some((vec![(b"k".to_vec(), None)], None)));
    assert!(table.sample(SampleFrom::Expiring, 0).is_none());
    assert!(table.sample(SampleFrom::Soonest, 0).is_none());
}

#[test]
fn a_round_sees_every_key_once() {
    let mut table = Table::<Good>::new();
    for n in 0..5_000 {
        put(&mut table, &key(n), b"a value", ExpireChange::Keep);
    }
    let samples = round(&mut table, SampleFrom::All);
    assert!(samples.len() > 30 && samples.iter().all(|seen| seen.len() <= 128));
    let seen: HashSet<Vec<u8>> = samples.iter().flatten().map(|(name, _)| name.clone()).collect();
    assert_eq!((seen.len(), samples.iter().map(Vec::len).sum::<usize>()), (5_000, 5_000));
}

#[test]
fn few_keys_that_expire_are_found_among_many() {
    let mut table = Table::<Good>::new();
    for n in 0..20_000 {
        put(&mut table, &key(n), b"a value", ExpireChange::Keep);
    }
    for n in [77, 123, 5_000, 19_999] {
        table.set_expire(Good::hash(&key(n)), &key(n), Some(1_000_000 + n));
    }
    table.set_expire(Good::hash(&key(123)), &key(123), None);
    let seen = |round: &[Seen]| round.iter().flatten().filter(|(_, at)| at.is_some()).count();
    let first = round(&mut table, SampleFrom::Expiring);
    assert_eq!((first.len(), seen(&first)), (4, 3), "a segment only seems to have one");
    let second = round(&mut table, SampleFrom::Expiring);
    assert_eq!((second.len(), seen(&second)), (3, 3), "and is known not to afterwards");
    table.check_invariants();
}

#[test]
fn the_soonest_is_in_its_sample_whatever_has_changed() {
    let mut table = Table::<Good>::new();
    for n in 0..10_000 {
        put(&mut table, &key(n), b"a value", ExpireChange::At(1_000_000 + n));
    }
    for soonest in 0..300 {
        let (found, _) = sample(&mut table, SampleFrom::Soonest, 0).expect("keys expire");
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

/// Rounds that take a part of each sample, until nothing is left: values of their own, long keys, expiries.
#[test]
fn several_of_a_sample_go_at_once() {
    let mut rng = fastrand::Rng::with_seed(seed(34));
    let live = Arc::new(AtomicIsize::new(0));
    let mut table = Table::<Good>::new();
    let mut model = HashSet::new();
    for n in 0..4_000 {
        let mut name = key(n);
        if n % 50 == 0 {
            name.resize(300, b'k');
        }
        let value = match n % 3 {
            0 => NewValue::Out(Counted::new(1, n, &live)),
            _ => NewValue::Inline { kind: 0, bytes: b"a value" },
        };
        let expire = if n % 4 == 0 { ExpireChange::At(1_000_000 + n) } else { ExpireChange::Keep };
        table.put(Good::hash(&name), &name, value, expire, 0);
        model.insert(name);
    }
    let mut at = None;
    while !table.is_empty() {
        let from = if rng.bool() { SampleFrom::All } else { SampleFrom::Expiring };
        let found = table.sample(from, at.unwrap_or(0));
        at = found.and_then(|sample| sample.next);
        let Some(sample) = found else { continue };
        let mut gone = SlotSet::default();
        table.visit_sample(sample, |index, _| {
            if rng.u32(..3) == 0 {
                gone.add(index);
            }
        });
        let (mut count, before) = (0, table.len());
        table.remove_sampled(sample, gone, |record| {
            assert!(model.remove(record.key), "it was there");
            assert!(from == SampleFrom::All || record.expire_at_ms.is_some());
            count += 1;
        });
        assert_eq!((count, table.len()), (gone.len(), before - count));
        table.check_invariants();
    }
    assert!(model.is_empty());
    assert_eq!((live.load(Ordering::Relaxed), table.memory_bytes()), (0, 0));
}
