//! The estimated footprint of keys matches the memory that a table of them takes.

use larder_collections::footprint::Footprint;
use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
use larder_collections::key_table::{ExpireChange, KeyHash, KeyTable, NewValue, ValueRef};
use larder_collections::list::{List, ListOptions};
use larder_collections::sorted_set::{Limits, SortedSet};
use larder_collections::value::Value;

struct Fold;

impl KeyHash for Fold {
    fn hash(bytes: &[u8]) -> u64 {
        use std::hash::BuildHasher;
        foldhash::fast::FixedState::with_seed(5).hash_one(bytes)
    }
}

const KEYS: usize = 50_000;

fn value(kind: &str, at: usize, rng: &mut fastrand::Rng) -> Value {
    let text = |rng: &mut fastrand::Rng, len: usize| -> Vec<u8> { (0..len).map(|_| rng.u8(..)).collect() };
    match kind {
        "objects" => {
            let mut hash = Hash::new();
            for field in 0..5 {
                let name = format!("schema {} field {field}", at % 7);
                hash.set(name.as_bytes(), &text(rng, 10), FieldExpiry::Clear, HashLimits::default(), 0);
            }
            Value::Hash(hash)
        }
        "lists" => {
            let mut list = List::new();
            for _ in 0..rng.usize(1..40) {
                list.push_back(&text(rng, 20), &ListOptions::default());
            }
            Value::List(list)
        }
        _ => {
            let mut set = SortedSet::new();
            for _ in 0..rng.usize(1..150) {
                set.add(&text(rng, 12), f64::from(rng.u32(..1_000_000)), &Limits::default());
            }
            Value::SortedSet(set)
        }
    }
}

#[test]
fn the_footprint_of_keys_is_what_their_table_takes() {
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(22));
    for kind in ["strings", "objects", "lists", "sorted sets"] {
        let mut table: KeyTable<Value, Fold> = KeyTable::default();
        let mut said = 0;
        for at in 0..KEYS {
            let (key, expires) = (format!("{kind}:{at}"), at % 4 == 0);
            let expire = if expires { ExpireChange::At(2_000_000_000_000) } else { ExpireChange::Clear };
            let hash = Fold::hash(key.as_bytes());
            if kind == "strings" {
                let text = vec![b'x'; rng.usize(0..100)];
                said += Footprint::of_string(&text).with_key(key.as_bytes(), expires);
                table.put(hash, key.as_bytes(), NewValue::Inline { kind: 0, bytes: &text }, expire, 1);
            } else {
                let value = value(kind, at, &mut rng);
                said += Footprint::of(&value).with_key(key.as_bytes(), expires);
                table.put(hash, key.as_bytes(), NewValue::Out(value), expire, 1);
            }
        }
        let outside: u64 = table
            .iter()
            .filter(|entry| !entry.is_inline())
            .map(|entry| match entry.value() {
                ValueRef::Out(value) => value.memory_bytes(0),
                ValueRef::Inline { .. } => 0,
            })
            .sum();
        let taken = table.memory_bytes() as u64 + outside;
        let ratio = said as f64 / taken as f64;
        assert!((0.93..1.07).contains(&ratio), "{kind}: {said} bytes are said, {taken} taken: {ratio:.3}");
    }
}
