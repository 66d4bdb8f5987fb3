//! What users of the table rely on beyond its content: order, scans, chances, clones, sizes.

use super::{Chosen, Fields, Good, Members, field, key};
use crate::segment_scan::CURSOR_BITS;
use crate::table::SEGMENT_SLOTS_MAX;
use larder_testkit::seed;
use std::collections::HashMap;

fn filled(count: u64) -> Members {
    let mut table = Members::<Good>::new();
    for n in 0..count {
        assert!(table.insert(&key(n)));
    }
    table
}

#[test]
fn a_small_table_keeps_the_order_of_insertion() {
    let mut table = Fields::<Good>::new();
    let mut order: Vec<Vec<u8>> = Vec::new();
    let mut rng = fastrand::Rng::with_seed(seed(1));
    for n in 0..600 {
        if order.len() >= SEGMENT_SLOTS_MAX - 30 || n % 3 == 2 {
            let gone = order.remove(rng.usize(..order.len()));
            assert!(table.remove(&gone));
        } else {
            order.push(key(n)[10..].to_vec());
            table.put(field(&order[order.len() - 1], b"v", None));
        }
        let value = vec![b'w'; rng.usize(..12)];
        table.put(field(rng.choice(&order).expect("some are there"), &value, None));
        assert!(table.is_in_order());
        assert!(table.iter().map(|row| row.key()).eq(order.iter().map(|key| &key[..])));
    }
}

#[test]
fn a_small_table_is_one_allocation_of_its_content() {
    let table = filled(10);
    // A count, a length and 20 bytes for each member, and ten bytes of the buffer.
    assert_eq!((table.node_count(), table.memory_bytes()), (1, 224));
    assert!(size_of::<Members>() <= 32);
    let tree = filled(100_000);
    assert!(!tree.is_in_order());
    let per_entry = tree.memory_bytes() as f64 / 100_000.0;
    assert!((21.0..28.0).contains(&per_entry), "{per_entry}");
    assert!(tree.node_count() < 100_000 / 60, "{}", tree.node_count());
}

#[test]
fn the_mark_stays() {
    let mut table = filled(3);
    table.set_mark();
    for n in 3..1_000 {
        table.insert(&key(n));
    }
    for n in 0..1_000 {
        assert!(table.mark());
        table.remove(&key(n));
    }
    assert!(table.mark() && !filled(3).mark());
}

#[test]
fn a_scan_visits_what_stays_exactly_once() {
    for round in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed(7) + round);
        let (stay, come_and_go) = (rng.u64(1..4_000), rng.u64(1..8_000));
        let mut table = filled(stay);
        let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut cursor = 0;
        loop {
            cursor = table
                .scan(cursor, rng.usize(1..300), |row| *seen.entry(row.key().to_vec()).or_default() += 1);
            if cursor == 0 {
                break;
            }
            let grows = rng.bool();
            for _ in 0..rng.usize(..600) {
                let other = key(stay + rng.u64(..come_and_go));
                if grows {
                    table.insert(&other)
                } else {
                    table.remove(&other)
                };
            }
        }
        assert!((0..stay).all(|n| seen.get(&key(n)) == Some(&1)));
    }
}

#[test]
fn any_cursor_is_valid() {
    let table = filled(5_000);
    let mut rng = fastrand::Rng::with_seed(seed(8));
    for _ in 0..2_000 {
        let cursor = rng.u64(..) >> rng.u32(..64);
        let (mut visited, count) = (0, rng.usize(1..300));
        let next = table.scan(cursor, count, |_| visited += 1);
        assert!(visited <= count + SEGMENT_SLOTS_MAX);
        // The position grows from cursor to cursor, and at one position the tag.
        let order = |cursor: u64| (cursor & 0xFFFF_FFFF, cursor >> 32 & 0xFF);
        assert!(next == 0 || order(next) > order(cursor));
    }
    assert_eq!(table.scan(1 << CURSOR_BITS, 10, |_| panic!("beyond the end")), 0);
}

#[test]
fn samples_are_uniform() {
    let mut rng = fastrand::Rng::with_seed(seed(9));
    for count in [3, 100, 129, 300, 2_000, 5_000] {
        let mut table = filled(count + 700);
        for n in count..count + 700 {
            table.remove(&key(n));
        }
        let mut hits: HashMap<Vec<u8>, f64> = HashMap::new();
        let expected = 60.0;
        for _ in 0..count * expected as u64 {
            let row = table.sample(&mut rng).expect("the table is not empty");
            *hits.entry(row.key().to_vec()).or_default() += 1.0;
        }
        let chi: f64 =
            (0..count).map(|n| (hits.get(&key(n)).unwrap_or(&0.0) - expected).powi(2) / expected).sum();
        let freedom = (count - 1) as f64;
        let far = (chi - freedom) / (2.0 * freedom).sqrt();
        assert!(far.abs() < 5.0, "{count}: chi-square {chi} of {freedom}");
    }
}

#[test]
fn a_clone_costs_nothing_and_a_write_to_it_one_path() {
    let table = filled(200_000);
    let mut clone = table.clone();
    clone.insert(b"one more");
    assert_eq!((table.len(), clone.len()), (200_000, 200_001));
    assert!(!table.contains(b"one more") && clone.contains(b"one more"));
    let shared = |a: &Members, b: &Members| {
        a.segments().zip(b.segments()).filter(|(a, b)| std::ptr::eq(a.page(), b.page())).count()
    };
    assert!(shared(&table, &clone) + 2 >= table.segments().count());
    for n in 0..200_000 {
        clone.remove(&key(n));
    }
    table.check_invariants();
    clone.check_invariants();
    assert_eq!((table.len(), clone.len()), (200_000, 1));
}

#[test]
fn equal_hashes_do_not_blow_up_the_directory() {
    let mut table = Members::<Chosen>::new();
    for n in 0..20_000_u64 {
        table.insert(&[&[7; 8][..], &n.to_le_bytes()].concat());
    }
    assert!(table.node_count() < 40, "{}", table.node_count());
    table.check_invariants();
}
