//! Large hashes whose values are compressed and made plain between any two changes, beside a model, with clones that must not notice.

use crate::cold::testing::Tools;
use crate::cold::{stats, sweep};
use crate::hash::{FieldExpiry, Hash, HashLimits};
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const TEXT: &str =
    "{\"name\":\"alpha beta\",\"mail\":\"alpha.beta@example.com\",\"roles\":[\"member\",\"editor\"]}";

fn value(rng: &mut fastrand::Rng) -> Vec<u8> {
    match rng.u32(..8) {
        0 => (0..rng.usize(..400)).map(|_| rng.u8(..)).collect(),
        1 => b"short".to_vec(),
        _ => format!("{TEXT}{}{}", rng.u32(..), &TEXT[..rng.usize(..TEXT.len())]).into_bytes(),
    }
}

/// A value that lies in its entry.
fn short(rng: &mut fastrand::Rng) -> Vec<u8> {
    format!("{}{}", &TEXT[..rng.usize(10..TEXT.len())], rng.u32(..)).into_bytes()
}

/// The number of cold parts.
fn cold(hash: &Hash) -> u64 {
    hash.part_sums(0).cold.count
}

fn check(hash: &Hash, model: &Model) {
    hash.check_invariants();
    assert_eq!(hash.len(), model.len());
    let seen: Model = hash.peeks(0).map(|field| (field.name().to_vec(), field.value().to_vec())).collect();
    assert!(seen == *model, "the fields differ");
    assert!(hash.peeks(0).all(|field| field.value_len() == model[field.name()].len()));
}

#[test]
fn changes_and_walks_agree_with_a_model() {
    let first = larder_testkit::seed(61);
    let mut tools = Tools::of(TEXT);
    for seed in first..first + 8 {
        let mut rng = fastrand::Rng::with_seed(seed);
        // Half of the hashes have nothing but short values, so that segments are compressed.
        let value = if seed % 2 == 0 { value } else { short };
        let mut all = vec![(Hash::new(), Model::new())];
        for step in 0..6000 {
            let at = rng.usize(..all.len());
            let clones = all.len();
            let (hash, model) = &mut all[at];
            let name = format!("field:{}", rng.u32(..3000)).into_bytes();
            match rng.u32(..44) {
                0 => drop(tools.walk(hash, rng.bool())),
                40 => {
                    hash.set_expiry(&name, rng.bool().then_some(1 << 40), 0);
                }
                41 => {
                    let mut seen = Model::new();
                    hash.for_each(0, |field| drop(seen.insert(field.name.to_vec(), field.value.to_vec())));
                    assert!(seen == *model);
                }
                42 => {
                    let (mut cursor, mut seen) = (0, 0);
                    loop {
                        cursor = hash.scan(cursor, 50, 0, |field| {
                            seen += 1;
                            assert_eq!(&field.value()[..], model[field.name()]);
                        });
                        if cursor == 0 {
                            break;
                        }
                    }
                    assert_eq!(seen, model.len());
                }
                43 => {
                    let field = hash.random(0, &mut rng);
                    assert_eq!(field.map(|field| field.value), field.map(|field| &model[field.name][..]));
                }
                1 if clones < 4 => {
                    let clone = (hash.clone(), model.clone());
                    all.push(clone);
                }
                1 => drop(all.swap_remove(at)),
                2..6 => {
                    assert_eq!(hash.remove(&name, 0), model.remove(&name).is_some());
                }
                6..12 => assert_eq!(hash.get(&name, 0), model.get(&name).map(|value| &value[..])),
                _ => {
                    let value = value(&mut rng);
                    let is_new = hash.set(&name, &value, FieldExpiry::Clear, HashLimits::default(), 0);
                    assert_eq!(is_new, model.insert(name, value).is_none());
                }
            }
            if step % 500 == 0 {
                all.iter().for_each(|(hash, model)| check(hash, model));
            }
        }
    }
}

#[test]
fn what_nobody_uses_shrinks_and_what_is_read_comes_back() {
    let mut tools = Tools::of(TEXT);
    let mut hash = Hash::new();
    let model: Model = (0..2000)
        .map(|at| (format!("id:{at}").into_bytes(), format!("{TEXT}{at}{TEXT}").into_bytes()))
        .collect();
    for (name, value) in &model {
        hash.set(name, value, FieldExpiry::Clear, HashLimits::default(), 0);
    }
    assert!(hash.has_cold_parts());
    let before = hash.memory_bytes();
    let name = b"id:77";
    for _ in 0..4 {
        assert_eq!(tools.walk(&mut hash, false), 0);
        assert_eq!(hash.get(name, 0), Some(&model[&name[..]][..]));
    }
    // All but the one that was read.
    assert_eq!(tools.walk(&mut hash, false), 1999);
    assert!(hash.memory_bytes() * 2 < before, "{} of {before}", hash.memory_bytes());
    check(&hash, &model);
    // Whoever copies the hash leaves it as it is.
    let packed = hash.memory_bytes();
    assert_eq!(cold(&hash), 1999);
    let clone = hash.clone();
    assert_eq!(clone.get(b"id:78", 0), Some(&model[&b"id:78"[..]][..]));
    drop(clone);
    assert_eq!(hash.memory_bytes(), packed);
    // A value that is read in two periods comes back, the others do not.
    let name = b"id:99";
    let mut changed = 0;
    for _ in 0..3 {
        assert_eq!(hash.get(name, 0), Some(&model[&name[..]][..]));
        changed += tools.walk(&mut hash, false);
    }
    assert!((1..=2).contains(&changed), "id:99, and id:77 has been compressed meanwhile: {changed}");
    // A change makes one value plain.
    let plain = 2000 - cold(&hash);
    hash.set(b"id:5", TEXT.repeat(3).as_bytes(), FieldExpiry::Clear, HashLimits::default(), 0);
    assert_eq!(2000 - cold(&hash), plain + 1);
    // Values that nobody holds give up their dictionary.
    let users = stats().users;
    drop((hash, tools));
    sweep();
    assert!(stats().users + 1900 < users, "{users}");
}
