//! Hashes against a model with a clock.

use super::{FieldExpiry, Hash, HashEncoding, HashLimits};
use crate::relocation::tests::move_some;
use std::collections::HashMap;

const LIMITS: HashLimits = HashLimits { count_max: 512, bytes_max: 64 };

type Known = HashMap<Vec<u8>, (Vec<u8>, Option<u64>)>;

fn name(n: u64) -> Vec<u8> {
    let mut name = format!("field:{n}").into_bytes();
    if n % 50 == 7 {
        name.resize(200, b'x');
    }
    name
}

fn check(hash: &Hash, known: &Known, now: u64) {
    hash.check_invariants();
    assert_eq!(hash.live(now), known.len());
    let mut seen = 0;
    for field in hash.iter(now) {
        let (value, expire) = &known[field.name];
        assert_eq!((field.value, field.expire_at_ms), (&value[..], *expire));
        seen += 1;
    }
    assert_eq!(seen, known.len());
}

fn step(hash: &mut Hash, known: &mut Known, rng: &mut fastrand::Rng, now: u64, universe: u64) {
    move_some(|mover| hash.move_blocks(mover));
    let name = name(rng.u64(..universe));
    let value = vec![b'v'; if rng.u32(..10) == 0 { rng.usize(..400) } else { rng.usize(..20) }];
    match rng.u32(..14) {
        0..4 => {
            let expiry = match rng.u32(..4) {
                0 => FieldExpiry::Keep,
                1 => FieldExpiry::At(now + rng.u64(1..400)),
                _ => FieldExpiry::Clear,
            };
            let old = known.get(&name).and_then(|(_, expire)| *expire);
            let expire = match expiry {
                FieldExpiry::Clear => None,
                FieldExpiry::Keep => old,
                FieldExpiry::At(at) => Some(at),
            };
            let is_new = hash.set(&name, &value, expiry, LIMITS, now);
            assert_eq!(is_new, known.insert(name, (value, expire)).is_none());
        }
        4 => {
            assert_eq!(hash.set_new(&name, &value, LIMITS, now), !known.contains_key(&name));
            known.entry(name).or_insert((value, None));
        }
        5 => {
            let taken = hash.take(&name, now, |field| field.value().to_vec());
            assert_eq!(taken, known.remove(&name).map(|(value, _)| value));
        }
        6..8 => {
            let at = rng.bool().then(|| now + rng.u64(1..2_000));
            assert_eq!(hash.set_expiry(&name, at, now), known.contains_key(&name));
            if let Some((_, expire)) = known.get_mut(&name) {
                *expire = at;
            }
        }
        12..14 => {
            let (old, fails) = (known.get(&name).cloned(), rng.u32(..7) == 0);
            let new = String::from_utf8(value.clone()).unwrap();
            let changed = hash.change(&name, LIMITS, now, |found| {
                assert_eq!(found, old.as_ref().map(|(value, _)| &value[..]));
                if fails { Err(()) } else { Ok(new.clone()) }
            });
            assert_eq!(changed, if fails { Err(()) } else { Ok(new) });
            if changed.is_ok() {
                known.insert(name, (value, old.and_then(|(_, expire)| expire)));
            }
        }
        8 => {
            hash.clean(now, |_| ());
        }
        9 => {
            assert!(hash.take_due(now, usize::MAX, |_| ()) < usize::MAX);
            assert_eq!((hash.len(), hash.soonest() > now), (known.len(), true));
        }
        10 => match hash.random(now, rng) {
            Some(field) => assert!(known.contains_key(field.name)),
            None => assert!(known.is_empty()),
        },
        _ => {
            assert_eq!(hash.get(&name, now), known.get(&name).map(|(value, _)| &value[..]));
            let names: Vec<Vec<u8>> = (0..rng.usize(..40)).map(|_| self::name(rng.u64(..universe))).collect();
            hash.prefetch_all(&names.iter().map(|name| crate::member_hash(name)).collect::<Vec<_>>());
            let mut expected = names.iter().map(|name| known.get(name).map(|(value, _)| &value[..]));
            hash.get_each(names.iter().map(Vec::as_slice), now, |value| {
                assert_eq!(Some(value), expected.next());
            });
            assert_eq!(expected.next(), None);
            let mut drawn = std::collections::HashSet::new();
            let count = rng.usize(..known.len() * 2 + 2);
            let number = hash.random_distinct(count, now, rng, |field| {
                assert!(known.contains_key(field.name) && drawn.insert(field.name.to_vec()));
            });
            assert_eq!((number, drawn.len()), (count.min(known.len()), number));
        }
    }
}

#[test]
fn hashes_behave_like_a_map_with_a_clock() {
    let seed = larder_testkit::seed(1);
    for (round, universe) in [20, 150, 600, 2_000].into_iter().enumerate() {
        let mut rng = fastrand::Rng::with_seed(seed + round as u64);
        let (mut hash, mut known) = (Hash::new(), Known::new());
        let mut now = 1_000;
        for at in 0..12_000 {
            now += rng.u64(..3) / 2;
            known.retain(|_, (_, expire)| expire.is_none_or(|at| at > now));
            step(&mut hash, &mut known, &mut rng, now, universe);
            if at % 500 == 0 {
                let clone = hash.clone();
                check(&clone, &known, now);
                assert_eq!(clone.encoding(), hash.encoding());
            }
        }
    }
}

/// A small hash shows its fields in the order in which they came, whether it has names of its own or those of a shape, and
/// however often it gets and loses one.
#[test]
fn small_hashes_keep_their_order_whatever_their_form() {
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(3));
    type Fields = Vec<(Vec<u8>, Vec<u8>)>;
    let mut hashes: Vec<(Hash, Fields)> = (0..40).map(|_| Default::default()).collect();
    let (mut shaped, mut own) = (0, 0);
    for _ in 0..60_000 {
        let at = rng.usize(..hashes.len());
        let (hash, known) = &mut hashes[at];
        // Most hashes get their names in the same order.
        let number = if rng.u32(..8) > 0 { known.len() % 8 } else { rng.usize(..8) };
        let name = format!("name {number}").into_bytes();
        let value =
            vec![b'a' + rng.u8(..26); if rng.u32(..30) == 0 { rng.usize(..300) } else { rng.usize(3..6) }];
        let place = known.iter().position(|(other, _)| *other == name);
        match rng.u32(..14) {
            0..5 => {
                assert_eq!(hash.set(&name, &value, FieldExpiry::Clear, LIMITS, 0), place.is_none());
                match place {
                    Some(place) => known[place].1 = value,
                    None => known.push((name, value)),
                }
            }
            5 => {
                assert_eq!(hash.set_new(&name, &value, LIMITS, 0), place.is_none());
                if place.is_none() {
                    known.push((name, value));
                }
            }
            6 => {
                let taken = hash.take(&name, 0, |field| field.value().to_vec());
                assert_eq!(taken, place.map(|place| known.remove(place).1));
            }
            7 => {
                let text = String::from_utf8(value.clone()).unwrap();
                let result = hash.change(&name, LIMITS, 0, |_| Ok::<_, ()>(text));
                assert!(result.is_ok());
                match place {
                    Some(place) => known[place].1 = value,
                    None => known.push((name, value)),
                }
            }
            8..12 => hash.settle(),
            12 => move_some(|mover| hash.move_blocks(mover)),
            _ => {
                // All forms of a list of names come together, so that shapes are found.
                let copy = rng.usize(..hashes.len());
                hashes[copy] = hashes[at].clone();
            }
        }
        let (hash, known) = &hashes[at];
        let fields = hash.iter(0).map(|field| (field.name.to_vec(), field.value.to_vec()));
        assert!(fields.eq(known.iter().cloned()), "{known:?}");
        assert_eq!(hash.len(), known.len());
        hash.check_invariants();
        *if hash.is_shaped() { &mut shaped } else { &mut own } += 1;
    }
    assert!(shaped > 5_000 && own > 5_000, "{shaped} with a shape, {own} without");
}

#[test]
fn the_encoding_is_that_of_redis_and_does_not_go_back() {
    let mut hash = Hash::new();
    for n in 0..512_u64 {
        hash.set(&n.to_le_bytes(), b"value", FieldExpiry::Clear, LIMITS, 0);
        assert_eq!(hash.encoding(), HashEncoding::Listpack);
    }
    hash.set(b"one more", b"", FieldExpiry::Clear, LIMITS, 0);
    for n in 0..512_u64 {
        assert_eq!(hash.encoding(), HashEncoding::Hashtable);
        hash.remove(&n.to_le_bytes(), 0);
    }
    assert_eq!((hash.len(), hash.encoding()), (1, HashEncoding::Hashtable));
    let mut long = Hash::new();
    long.set(b"f", &[0; 64], FieldExpiry::Clear, LIMITS, 0);
    assert_eq!(long.encoding(), HashEncoding::Listpack);
    long.set(b"f", &[0; 65], FieldExpiry::Clear, LIMITS, 0);
    assert_eq!(long.encoding(), HashEncoding::Hashtable);
}

#[test]
fn a_mass_of_due_fields_goes_in_steps() {
    let mut hash = Hash::new();
    for n in 0..20_000 {
        let at = if n % 2 == 0 { 1_000 + n / 100 } else { 50_000 };
        hash.set(&name(n * 100), b"v", FieldExpiry::At(at), LIMITS, 0);
    }
    assert_eq!((hash.live(999), hash.live(1_000), hash.live(1_200)), (20_000, 19_950, 10_000));
    let mut steps = 0;
    while hash.soonest() <= 1_200 {
        assert!(hash.take_due(1_200, 100, |_| ()) <= 100);
        steps += 1;
    }
    assert!((100..=101).contains(&steps), "{steps}");
    assert_eq!((hash.len(), hash.expiring()), (10_000, 10_000));
    hash.check_invariants();
}
