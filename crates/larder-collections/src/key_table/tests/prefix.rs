//! Keys by the beginning of their hashes, beside a model.

use super::{Chosen, Counted, KeyTable};
use crate::key_table::{ExpireChange, HashPrefix, KeyHash, NewValue};
use std::collections::BTreeSet;

/// The key is its hash; its top six bits say what belongs together.
struct Grouped;

impl KeyHash for Grouped {
    fn hash(key: &[u8]) -> u64 {
        Chosen::hash(key)
    }

    fn prefix_bits() -> u32 {
        6
    }
}

fn check(table: &KeyTable<Counted, Grouped>, model: &BTreeSet<u64>) {
    table.check_invariants();
    for prefix in 0..64 {
        let of = HashPrefix::new(prefix, 6);
        let expected: Vec<u64> = model.iter().copied().filter(|hash| hash >> 58 == prefix).collect();
        assert_eq!(table.count_prefix(of), expected.len(), "{prefix}");
        let mut walked = Vec::new();
        table.walk_prefix(of, |entry| {
            walked.push(Chosen::hash(entry.key()));
            true
        });
        walked.sort_unstable();
        assert_eq!(walked, expected, "{prefix}");
        for count in [1, 7, 1000] {
            let (mut cursor, mut scanned) = (0, Vec::new());
            loop {
                cursor =
                    table.scan_prefix(of, cursor, count, |entry| scanned.push(Chosen::hash(entry.key())));
                if cursor == 0 {
                    break;
                }
            }
            scanned.sort_unstable();
            assert_eq!(scanned, expected, "{prefix}, {count} at a time");
        }
        let mut visits = 0;
        table.walk_prefix(of, |_| {
            visits += 1;
            visits < 3
        });
        assert_eq!(visits, expected.len().min(3));
        for count in [1, 50, 1000] {
            let (mut from, mut pieces) = (of.positions().start, Vec::new());
            while from < of.positions().end {
                let end = table.piece_end(from, count);
                assert!(from < end && end <= 1 << 32);
                table.walk_piece(of, from..end, |entry| pieces.push(Chosen::hash(entry.key())));
                from = end;
            }
            pieces.sort_unstable();
            assert_eq!(pieces, expected, "{prefix}, in pieces of {count}");
        }
    }
    let few = HashPrefix::new(10, 6).joined(HashPrefix::new(11, 6)).expect("they are neighbours");
    assert_eq!(few.joined(HashPrefix::new(13, 6)), None);
    let of_few = model.iter().filter(|&&hash| hash >> 58 == 10 || hash >> 58 == 11);
    assert_eq!(table.count_prefix(few), of_few.count());
    assert_eq!(HashPrefix::new(63, 6).joined(HashPrefix::new(0, 6)), None);
    let is_used = |prefix: &u64| model.iter().any(|hash| hash >> 58 == *prefix);
    let (used, unused): (Vec<u64>, Vec<u64>) = (0..64).partition(is_used);
    let of = |prefixes: &[u64]| -> Vec<HashPrefix> {
        prefixes.iter().map(|&prefix| HashPrefix::new(prefix, 6)).collect()
    };
    assert_eq!(table.find_prefix_in_use(&of(&unused)), None);
    for &prefix in &used {
        let mut asked = unused.clone();
        asked.push(prefix);
        asked.sort_unstable();
        let found = table.find_prefix_in_use(&of(&asked));
        assert_eq!(found.map(|at| asked[at]), Some(prefix));
    }
}

#[test]
fn keys_of_a_prefix_are_those_of_the_model() {
    for seed in larder_testkit::seeds(4, 100) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut table, mut model) = (KeyTable::<Counted, Grouped>::new(), BTreeSet::new());
        // All in one, in two neighbours, and everywhere; at the ends of the ranges, too.
        let wide = [1_u64, 2, 64][rng.usize(..3)];
        let first = rng.u64(..=64 - wide);
        for step in 0..3000 {
            let prefix = first + rng.u64(..wide);
            let low = if rng.u8(..4) == 0 { [0, u64::MAX >> 6][rng.usize(..2)] } else { rng.u64(..) >> 6 };
            let hash = prefix << 58 | low;
            if rng.u8(..4) > 0 {
                let value = NewValue::Inline { kind: 0, bytes: b"v" };
                table.put(hash, &hash.to_be_bytes(), value, ExpireChange::Clear, 0);
                model.insert(hash);
            } else if let Some(&hash) = model.range(hash..).next() {
                assert!(table.remove(hash, &hash.to_be_bytes()).is_some());
                model.remove(&hash);
            }
            if step % 500 == 0 {
                check(&table, &model);
            }
        }
        check(&table, &model);
        let mut seen = 0;
        let mut cursor = 0;
        loop {
            cursor = table.scan(cursor, 50, |_| seen += 1);
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(seen, model.len());
        let random = table.random(&mut rng).map(|entry| Chosen::hash(entry.key()));
        assert!(random.is_some_and(|hash| model.contains(&hash)));
    }
}

/// All keys under one prefix: segments are as full as elsewhere, and not longer and longer.
#[test]
fn a_prefix_that_has_all_keys_has_full_segments_and_no_larger_ones() {
    let mut rng = fastrand::Rng::with_seed(9);
    let mut table = KeyTable::<Counted, Grouped>::new();
    for prefix in [0_u64, 31, 63] {
        table.clear();
        for _ in 0..20_000 {
            let hash = prefix << 58 | rng.u64(..) >> 6;
            let value = NewValue::Inline { kind: 0, bytes: b"0123456789" };
            table.put(hash, &hash.to_be_bytes(), value, ExpireChange::Clear, 0);
        }
        let stats = table.stats();
        assert!(stats.segments >= 20_000 / 128 && stats.segments <= 20_000 / 30, "{stats}");
    }
}
