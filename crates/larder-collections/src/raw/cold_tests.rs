//! Tests of cold values, and of a table that keeps them.

use super::*;
use crate::cold::{add, sweep};
use crate::hash::{Hash, HashLimits};
use crate::key_table::{Found, KeyHash, KeyTable, NewValue, ValueRef};
use crate::list::{Fill, List, ListOptions};
use crate::set::{Set, SetLimits};
use crate::sorted_set::{self, SortedSet};
use crate::stream::Stream;
use larder_packed::bytes::SharedBytes;
use larder_packed::segment::IntoRaw;

struct Hashed;

impl KeyHash for Hashed {
    fn hash(key: &[u8]) -> u64 {
        crate::member_hash(key)
    }
}

fn text(rng: &mut fastrand::Rng) -> String {
    let word = |rng: &mut fastrand::Rng| ["alpha", "beta", "gamma", "delta", "epsilon"][rng.usize(..5)];
    (0..rng.usize(2..6)).map(|_| format!("{}-{};", word(rng), rng.u8(..))).collect()
}

/// A value of any type with an image.
fn value(rng: &mut fastrand::Rng) -> Value {
    // Records hold some, one segment or leaf holds others, and the rest are trees.
    let count = if rng.u32(..4) == 0 { rng.usize(1..600) } else { rng.usize(1..20) };
    match rng.u32(..6) {
        0 => Value::String(SharedBytes::new((0..30).map(|_| text(rng)).collect::<String>().as_bytes())),
        1 => {
            let mut hash = Hash::default();
            for at in 0..count {
                let (name, mut value) = (format!("field:{at}"), text(rng));
                if rng.u32(..9) == 0 {
                    value = value.repeat(9);
                }
                hash.set_new(name.as_bytes(), value.as_bytes(), HashLimits::default(), 0);
            }
            hash.settle();
            Value::Hash(hash)
        }
        2 => {
            // In one block, in several, and in one that no record could hold.
            let count = if rng.u32(..8) == 0 { 300 } else { count };
            let fill = Fill::new(*rng.choice(&[-2, 5, 1000]).expect("there are some"));
            let (mut list, options) = (List::new(), ListOptions { fill, ..ListOptions::default() });
            (0..count).for_each(|_| list.push_back(text(rng).as_bytes(), &options));
            (0..rng.usize(..count)).for_each(|_| drop(list.pop_front(&options)));
            Value::List(list)
        }
        3 => {
            let mut set = SortedSet::new();
            for _ in 0..count {
                let score = [-0.0, 0.0, f64::from(rng.u16(..)), rng.f64()][rng.usize(..4)];
                set.add(text(rng).as_bytes(), score, &sorted_set::Limits::default());
            }
            Value::SortedSet(set)
        }
        4 => {
            let mut set = Set::new();
            for _ in 0..count {
                set.insert(text(rng).as_bytes(), &SetLimits::default());
            }
            Value::Set(set)
        }
        _ => {
            let mut set = Set::new();
            for at in 0..100 {
                set.insert((at * 1000 + rng.u32(..9)).to_string().as_bytes(), &SetLimits::default());
            }
            Value::Set(set)
        }
    }
}

/// All that a reader sees of a value.
fn seen(value: &Value) -> (std::mem::Discriminant<Value>, Vec<Vec<u8>>) {
    let mut all = Vec::new();
    match value {
        Value::String(bytes) => all.push(bytes.to_vec()),
        Value::Hash(hash) => {
            hash.iter(0).for_each(|field| all.push([field.name, b" ", field.value].concat()));
            all.push(format!("{:?}", hash.encoding()).into_bytes());
            hash.check_invariants();
            if hash.len() > 128 || hash.memory_bytes() > 4000 {
                // The entries of a tree have no order.
                all.sort();
            }
        }
        Value::List(list) => {
            (0..list.len()).for_each(|at| all.push(format!("{:?}", list.get(at)).into_bytes()));
        }
        Value::SortedSet(set) => {
            set.for_each(|score, member| all.extend([score.to_string().into_bytes(), member.to_vec()]));
            all.push(format!("{:?}", set.encoding()).into_bytes());
            set.check_invariants();
        }
        Value::Set(set) => {
            set.iter().for_each(|member| all.push(format!("{member:?}").into_bytes()));
            all.push(format!("{:?}", set.encoding()).into_bytes());
            set.check_invariants();
            if set.len() > 128 || set.memory_bytes(0) > 4000 {
                all.sort();
            }
        }
        Value::Stream(_) | Value::Cold(_) => unreachable!("there is none"),
    }
    (std::mem::discriminant(value), all)
}

fn dictionary(rng: &mut fastrand::Rng) -> DictionaryRef {
    let samples: Vec<Vec<u8>> =
        std::iter::repeat_with(|| value(rng).with_image(|image| image.map(|image| image.bytes.to_vec())))
            .flatten()
            .take(1500)
            .collect();
    let sizes: Vec<usize> = samples.iter().map(Vec::len).collect();
    let trained = larder_packed::dictionary::Dictionary::train(&samples.concat(), &sizes, 4096);
    add(trained.expect("they are enough")).expect("there is a number")
}

#[test]
fn values_come_back() {
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(51));
    let dictionary = dictionary(&mut rng);
    let mut compressor = dictionary.compressor().expect("there is memory");
    let (mut shrunk, mut raw, mut packed) = (0, 0, 0);
    for _ in 0..1500 {
        let value = value(&mut rng);
        let Ok(cold) = Cold::of(&value, &dictionary, &mut compressor) else { continue };
        assert_eq!(Some(cold.raw_bytes()), value.with_image(|image| image.map(|image| image.bytes.len())));
        assert_eq!(cold.elements(), value.elements());
        assert_eq!(seen(&cold.thaw()), seen(&value));
        assert_eq!(seen(&cold.clone().thaw()), seen(&value));
        (shrunk, raw, packed) = (shrunk + 1, raw + cold.raw_bytes(), packed + cold.packed_bytes());
    }
    assert!(shrunk > 1000 && packed * 2 < raw, "{shrunk} values, {packed} of {raw} bytes");
}

#[test]
fn long_strings_come_back() {
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(55));
    let dictionary = dictionary(&mut rng);
    let mut compressor = dictionary.compressor().expect("there is memory");
    for len in [65_535, 65_536, 65_537, 65_800, 300_000, STRING_MAX - 1, STRING_MAX] {
        let mut text = text(&mut rng).into_bytes().repeat(len / 10);
        text.truncate(len);
        (0..len).step_by(99).for_each(|at| text[at] = rng.u8(..));
        let value = Value::String(SharedBytes::new(&text));
        let cold = Cold::of(&value, &dictionary, &mut compressor).expect("it shrinks");
        assert!(cold.packed_bytes() * 2 < len && cold.heap_bytes() < len, "{len}");
        assert_eq!(cold.raw_bytes(), len);
        let (kind, pointer) = Value::Cold(cold).into_raw();
        // SAFETY: taken back once.
        let Value::Cold(cold) = (unsafe { Value::from_raw(kind, pointer) }) else { panic!("it is cold") };
        assert_eq!(seen(&cold.clone().thaw()), seen(&value));
        assert_eq!(seen(&cold.thaw()), seen(&value));
    }
    // Noise shrinks by nothing, however long it is.
    let noise: Vec<u8> = (0..200_000).map(|_| rng.u8(..)).collect();
    let value = Value::String(SharedBytes::new(&noise));
    assert_eq!(Cold::of(&value, &dictionary, &mut compressor).err(), Some(Unfit::Incompressible));
}

#[test]
fn what_has_no_image_or_does_not_shrink_stays() {
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(52));
    let dictionary = dictionary(&mut rng);
    let mut compressor = dictionary.compressor().expect("there is memory");
    let noise: Vec<u8> = (0..300).map(|_| rng.u8(..)).collect();
    let short = "alpha-1;".repeat(7);
    let long = b"alpha-1;".repeat(STRING_MAX / 8 + 1);
    for (value, reason) in [
        (Value::Stream(Stream::new()), Unfit::NoImage),
        (Value::String(SharedBytes::new(&noise)), Unfit::Incompressible),
        (Value::String(SharedBytes::new(short.as_bytes())), Unfit::NoImage),
        (Value::String(SharedBytes::new(&long[..=STRING_MAX])), Unfit::NoImage),
    ] {
        assert_eq!(Cold::of(&value, &dictionary, &mut compressor).err(), Some(reason));
    }
}

#[test]
fn tables_keep_them_and_their_readers_do_not_notice() {
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(53));
    let mut table: KeyTable<Value, Hashed> = KeyTable::new();
    let mut known: std::collections::BTreeMap<Vec<u8>, _> = std::collections::BTreeMap::new();
    let dictionary = dictionary(&mut rng);
    let (mut compressor, mut changed) = (dictionary.compressor().expect("there is memory"), 0);
    for _ in 0..20_000 {
        let key = format!("key:{}", rng.u32(..300)).into_bytes();
        let hash = Hashed::hash(&key);
        match rng.u32(..10) {
            0 => {
                let bytes = "text;".repeat(rng.usize(1..25)).into_bytes();
                let value = NewValue::Inline { kind: 0, bytes: &bytes };
                table.put(hash, &key, value, crate::key_table::ExpireChange::Keep, 0);
                known.insert(key.clone(), seen(&Value::String(SharedBytes::new(&bytes))));
            }
            1..4 => {
                let value = value(&mut rng);
                known.insert(key.clone(), seen(&value));
                table.put(hash, &key, NewValue::Out(value), crate::key_table::ExpireChange::Keep, 0);
            }
            4 => drop((table.remove(hash, &key), known.remove(&key))),
            5 => table.thaw(hash, &key),
            _ => {
                let found = table.get(hash, &key).and_then(|entry| Found::of(hash, entry));
                let Some(found) = found.filter(|found| !matches!(found.value, Value::Cold(_))) else {
                    continue;
                };
                let Ok(cold) = Cold::of(&found.value, &dictionary, &mut compressor) else { continue };
                if rng.bool() {
                    assert!(table.change_form(&found, Value::Cold(cold)));
                    assert!(table.get(hash, &key).is_some_and(|entry| entry.is_cold()));
                    changed += 1;
                    continue;
                }
                // Somebody has changed it meanwhile.
                let value = value(&mut rng);
                let is_other = seen(&value) != seen(&found.value);
                known.insert(key.clone(), seen(&value));
                table.put(hash, &key, NewValue::Out(value), crate::key_table::ExpireChange::Keep, 0);
                assert!(!table.change_form(&found, Value::Cold(cold)) || !is_other);
            }
        }
        if let Some(entry) = table.get(hash, &key) {
            let seen = match entry.value() {
                ValueRef::Out(value) => seen(&value),
                ValueRef::Inline { bytes, .. } => seen(&Value::String(SharedBytes::new(bytes))),
            };
            assert_eq!(Some(&seen), known.get(&key));
        }
    }
    table.check_invariants();
    assert!(changed > 1500, "{changed}");
    assert_eq!(table.len(), known.len());
    drop((table, compressor));
}

#[test]
fn a_dictionary_goes_with_its_last_value() {
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(54));
    let dictionary = dictionary(&mut rng);
    let number = u16::from(dictionary.number_byte());
    let is_there = || crate::numbered::look::<Dictionary, _>(number, |_, _| ()).is_some();
    let mut compressor = dictionary.compressor().expect("there is memory");
    let colds = std::iter::repeat_with(|| Cold::of(&value(&mut rng), &dictionary, &mut compressor));
    let colds: Vec<Cold> = colds.flatten().take(100).collect();
    let mut table: KeyTable<Value, Hashed> = KeyTable::new();
    for (at, cold) in colds.iter().enumerate() {
        let key = at.to_string().into_bytes();
        table.put(
            Hashed::hash(&key),
            &key,
            NewValue::Out(Value::Cold(cold.clone())),
            crate::key_table::ExpireChange::Keep,
            0,
        );
    }
    drop((dictionary, compressor));
    sweep();
    assert!(is_there());
    drop(colds);
    sweep();
    assert!(is_there(), "values in records count it");
    drop(table);
    sweep();
    assert!(!is_there());
}
