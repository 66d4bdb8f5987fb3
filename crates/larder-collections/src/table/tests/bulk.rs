//! Tables of entries that are all known, beside tables into which they were put.

use super::{Chosen, FieldValueNew, Fields, Good, field, key};
use crate::key_table::KeyHash;
use larder_testkit::seed;

type Pairs = Vec<(Vec<u8>, Vec<u8>, Option<u64>)>;

/// The table of these entries, made at once.
fn bulk<'a, H: KeyHash>(entries: &[FieldValueNew<'a>]) -> Option<Fields<H>> {
    Fields::<H>::of_entries((0..).zip(entries.iter().copied()), |at| entries[at as usize])
}

/// Makes a table in both ways, and looks for every difference.
fn compare<H: KeyHash>(pairs: &Pairs) -> (Fields<H>, Fields<H>) {
    let entries: Vec<_> = pairs.iter().map(|(name, value, at)| field(name, value, *at)).collect();
    let bulk = bulk::<H>(&entries).expect("no key is there twice");
    let mut single = Fields::<H>::new();
    entries.iter().for_each(|&entry| assert!(single.insert(entry)));
    bulk.check_invariants();
    assert_eq!((bulk.len(), bulk.is_in_order()), (single.len(), single.is_in_order()));
    assert_eq!((bulk.expiring(), bulk.soonest()), (single.expiring(), single.soonest()));
    for (name, value, at) in pairs {
        let row = bulk.get(name).expect("it is there");
        assert_eq!((row.value(), row.expire_at_ms()), (&value[..], *at));
    }
    assert!(!bulk.contains(b"another"));
    (bulk, single)
}

#[test]
fn tables_of_every_size_are_those_of_single_inserts() {
    let mut rng = fastrand::Rng::with_seed(seed(41));
    for count in [0, 1, 2, 90, 127, 128, 129, 200, 800, 3000, 30_000] {
        for longest in [8, 30, 300, 3000] {
            let longest = if count > 3000 { longest.min(30) } else { longest };
            let value = |rng: &mut fastrand::Rng| (0..rng.usize(..=longest)).map(|_| rng.u8(..)).collect();
            for expire in [0, 1, 3] {
                let expiry = |rng: &mut fastrand::Rng| (rng.u8(..3) < expire).then(|| rng.u64(..1 << 48));
                let pairs: Pairs = (0..count).map(|n| (key(n), value(&mut rng), expiry(&mut rng))).collect();
                let (mut bulk, single) = compare::<Good>(&pairs);
                // Exact room and no halves that were just split: never more memory, but for what rounding up to size classes does.
                assert!(bulk.memory_bytes() <= single.memory_bytes() * 21 / 20 + 64, "{count} {longest}");
                for (name, ..) in &pairs {
                    assert!(bulk.remove(name));
                }
                bulk.check_invariants();
                assert!(bulk.is_empty());
            }
        }
    }
}

#[test]
fn hashes_that_agree_in_their_upper_bits_only_make_the_table_slower() {
    let mut rng = fastrand::Rng::with_seed(seed(42));
    for top_bits in [0, 3, 20, 40, 64] {
        let name = |n: u64, rng: &mut fastrand::Rng| {
            let hash = rng.u64(..).checked_shr(top_bits).unwrap_or(0);
            [&hash.to_be_bytes()[..], &n.to_le_bytes()[..3]].concat()
        };
        let pairs: Pairs = (0..1500).map(|n| (name(n, &mut rng), vec![b'v'; 20], None)).collect();
        compare::<Chosen>(&pairs);
    }
}

#[test]
fn a_key_that_is_there_twice_is_found() {
    for count in [2, 100, 128, 129, 5000] {
        let names: Vec<Vec<u8>> = (0..count).map(key).collect();
        let mut entries: Vec<_> = names.iter().map(|name| field(name, b"", None)).collect();
        assert!(bulk::<Good>(&entries).is_some());
        entries[count as usize - 1] = entries[0];
        assert!(bulk::<Good>(&entries).is_none(), "{count}");
    }
}
