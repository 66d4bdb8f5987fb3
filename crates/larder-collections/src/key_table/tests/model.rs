//! Random operations on the table and on a `HashMap`, for several shapes of keys, hashes and values.

use super::{Chosen, Counted, ExpireChange, Good, KeyHash, NewValue, Table};
use crate::key_table::{Attempt, Entry, Old, OwnedValue, Removed, ValueRef};
use crate::relocation::tests::move_some;
use larder_testkit::seed;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Inline(u8, Vec<u8>),
    Out(u8, u64),
}

#[derive(Clone, Debug, PartialEq)]
struct Known {
    value: Value,
    expire_at_ms: Option<u64>,
    access: u32,
}

/// What keys look like.
#[derive(Clone, Copy)]
enum Keys {
    Sequential,
    /// 0 to 600 bytes.
    AnyLength,
    /// Eight bytes of hash with this many random bits at the top, and a number.
    Hash {
        top_bits: u32,
    },
}

struct Driver<H: KeyHash> {
    table: Table<H>,
    model: HashMap<Vec<u8>, Known>,
    rng: fastrand::Rng,
    live: Arc<AtomicIsize>,
    keys: Keys,
    universe: u64,
    /// Where the next blocks are moved.
    move_from: u32,
}

impl<H: KeyHash> Driver<H> {
    fn new(seed: u64, keys: Keys, universe: u64) -> Self {
        let (table, model, live) = (Table::new(), HashMap::new(), Arc::default());
        let rng = fastrand::Rng::with_seed(seed);
        Driver { table, model, rng, live, keys, universe, move_from: 0 }
    }

    /// `inserts` of 100 operations add, the others remove; both change and read as well.
    fn run(&mut self, steps: usize, inserts: u32) {
        for step in 0..steps {
            let key = self.key();
            if step % 4 == 0 {
                self.move_from =
                    move_some(|mover| self.table.move_blocks(self.move_from, mover)).unwrap_or(0);
            }
            match self.rng.u32(..100) {
                0..50 if self.rng.u32(..100) < inserts => self.put(&key),
                0..50 if self.rng.bool() => self.remove_if(&key),
                0..50 => self.remove(&key),
                50..60 => self.set_expire(&key),
                60..70 => self.edit(&key),
                70..72 => self.take_expired(),
                _ => self.look(&key),
            }
            if step % 512 == 0 {
                self.check();
            }
        }
        self.check();
    }

    fn key(&mut self) -> Vec<u8> {
        let n = self.rng.u64(..self.universe);
        match self.keys {
            Keys::Sequential => super::key(n),
            Keys::AnyLength => {
                let mut rng = fastrand::Rng::with_seed(n);
                let len = if rng.bool() { rng.usize(..40) } else { rng.usize(200..600) };
                (0..len).map(|_| rng.u8(..)).collect()
            }
            Keys::Hash { top_bits } => {
                let mut rng = fastrand::Rng::with_seed(n);
                let hash = rng.u64(..) & !(u64::MAX.checked_shr(top_bits).unwrap_or(0));
                [&hash.to_be_bytes()[..], &n.to_le_bytes()[..3]].concat()
            }
        }
    }

    fn new_value(&mut self) -> Value {
        let len = match self.rng.u32(..4) {
            0 => self.rng.usize(..=128),
            1 => 8,
            _ => 20,
        };
        match self.rng.u32(..4) {
            0 => Value::Out(self.rng.u8(..32), self.rng.u64(..)),
            _ => Value::Inline(self.rng.u8(..4), (0..len).map(|_| self.rng.u8(..)).collect()),
        }
    }

    fn time(&mut self) -> u64 {
        self.rng.u64(1_000..100_000)
    }

    fn put(&mut self, key: &[u8]) {
        let value = self.new_value();
        let expire = match self.rng.u32(..4) {
            0 => ExpireChange::At(self.time()),
            1 => ExpireChange::Clear,
            _ => ExpireChange::Keep,
        };
        let access = self.rng.u32(..1 << 24);
        let new = match &value {
            Value::Inline(kind, bytes) => NewValue::Inline { kind: *kind, bytes },
            Value::Out(kind, number) => NewValue::Out(Counted::new(*kind, *number, &self.live)),
        };
        let old = self.table.put(H::hash(key), key, new, expire, access);
        let before = self.model.get(key).and_then(|known| known.expire_at_ms);
        let expire_at_ms = expire.apply(before);
        let known = self.model.insert(key.to_vec(), Known { value, expire_at_ms, access });
        match (old, known.map(|known| known.value)) {
            (None, None) | (Some(Old::Inline), Some(Value::Inline(..))) => {}
            (Some(Old::Out(old)), Some(known)) => assert_eq!(Value::Out(old.kind(), old.number()), known),
            (old, known) => panic!("put replaced {old:?}, the model {known:?}"),
        }
    }

    fn remove(&mut self, key: &[u8]) {
        let removed = self.table.remove(H::hash(key), key);
        assert_eq!(removed.map(known_of_removed), self.model.remove(key));
    }

    fn remove_if(&mut self, key: &[u8]) {
        let (hash, late) = (H::hash(key), self.time());
        let may_go = |expire_at_ms: Option<u64>| expire_at_ms.is_none_or(|at| at <= late);
        match self.table.remove_if(hash, key, |entry| entry.key() == key && may_go(entry.expire_at_ms())) {
            Attempt::Missing => assert!(!self.model.contains_key(key)),
            Attempt::Refused => assert!(!may_go(self.model[key].expire_at_ms)),
            Attempt::Removed(old) => {
                let known = self.model.remove(key).expect("the model has it too");
                assert!(may_go(known.expire_at_ms));
                match (old, known.value) {
                    (Old::Inline, Value::Inline(..)) => {}
                    (Old::Out(old), known) => assert_eq!(Value::Out(old.kind(), old.number()), known),
                    (old, known) => panic!("{old:?} was removed, the model had {known:?}"),
                }
            }
        }
    }

    fn set_expire(&mut self, key: &[u8]) {
        let at = self.rng.bool().then(|| self.time());
        let found = self.table.set_expire(H::hash(key), key, at);
        assert_eq!(found, self.model.contains_key(key));
        if let Some(known) = self.model.get_mut(key) {
            known.expire_at_ms = at;
        }
    }

    fn edit(&mut self, key: &[u8]) {
        let (kind, number) = (self.rng.u8(..32), self.rng.u64(..));
        let changed = self.table.modify_out(H::hash(key), key, |value| value.change(kind, number)).is_some();
        let inline = self.table.inline_mut(H::hash(key), key).map(|bytes| bytes.fill(7)).is_some();
        match self.model.get_mut(key).map(|known| &mut known.value) {
            Some(Value::Inline(_, bytes)) => {
                bytes.fill(7);
                assert!(inline && !changed);
            }
            Some(Value::Out(was_kind, was_number)) => {
                (*was_kind, *was_number) = (kind, number);
                assert!(changed && !inline);
            }
            None => assert!(!changed && !inline),
        }
    }

    fn take_expired(&mut self) {
        let now = self.time() / 4;
        let max = self.rng.usize(1..40);
        let model = &mut self.model;
        let taken = self.table.take_expired(now, max, |key, value| {
            let known = model.remove(key).expect("a key of the model");
            assert!(known.expire_at_ms.is_some_and(|at| at <= now));
            assert_eq!(known_value(value), known.value);
        });
        let due = self.model.values().filter(|known| known.expire_at_ms.is_some_and(|at| at <= now)).count();
        assert!(taken == max || due == 0, "{taken} of {max} taken, {due} left");
    }

    fn look(&mut self, key: &[u8]) {
        self.table.prefetch(H::hash(key));
        let may_be_there = self.table.prefetch_entry(H::hash(key));
        assert!(may_be_there || self.table.get(H::hash(key), key).is_none());
        assert_eq!(self.table.prefetch_removal(H::hash(key)), may_be_there);
        let known = self.model.get_mut(key);
        if self.rng.bool() {
            let access = self.rng.u32(..1 << 24);
            let found = self.table.get_touch(H::hash(key), key, access);
            assert_eq!(found.is_some(), known.is_some());
            if let Some(known) = known {
                known.access = access;
            }
        }
        let found = self.table.get(H::hash(key), key).map(known_of);
        assert_eq!(found.as_ref(), self.model.get(key));
    }

    fn check(&self) {
        self.table.check_invariants();
        assert_eq!(self.table.len(), self.model.len());
        for entry in self.table.iter() {
            assert_eq!(Some(&known_of(entry)), self.model.get(entry.key()));
        }
        let outs = self.model.values().filter(|known| matches!(known.value, Value::Out(..))).count();
        assert_eq!(self.live.load(Ordering::Relaxed), outs as isize, "values live beside the table's");
    }

    /// Fills, churns, empties; and drops what a last filling has left.
    fn life(mut self, steps: usize) {
        self.run(steps, 90);
        self.run(steps, 50);
        self.run(steps, 10);
        let keys: Vec<Vec<u8>> = self.model.keys().cloned().collect();
        for key in keys {
            self.remove(&key);
        }
        self.check();
        assert_eq!(self.table.memory_bytes(), 0);
        self.run(steps / 2, 80);
        let live = self.live.clone();
        drop(self);
        assert_eq!(live.load(Ordering::Relaxed), 0);
    }
}

fn known_of(entry: Entry<'_, Counted>) -> Known {
    let value = match entry.value() {
        ValueRef::Inline { kind, bytes } => Value::Inline(kind, bytes.to_vec()),
        ValueRef::Out(value) => Value::Out(value.kind(), value.number()),
    };
    Known { value, expire_at_ms: entry.expire_at_ms(), access: entry.access() }
}

fn known_of_removed(removed: Removed<Counted>) -> Known {
    let Removed { value, expire_at_ms, access } = removed;
    Known { value: known_value(value), expire_at_ms, access }
}

fn known_value(value: OwnedValue<Counted>) -> Value {
    match value {
        OwnedValue::Inline { kind, bytes } => Value::Inline(kind, bytes.to_vec()),
        OwnedValue::Out(value) => Value::Out(value.kind(), value.number()),
    }
}

#[test]
fn model_of_sequential_keys() {
    Driver::<Good>::new(seed(1), Keys::Sequential, 3_000).life(20_000);
}

#[test]
fn model_of_few_keys() {
    for n in 0..8 {
        Driver::<Good>::new(seed(2) + n, Keys::Sequential, 5 + 40 * n).life(1_500);
    }
}

#[test]
fn model_of_keys_of_any_length() {
    Driver::<Good>::new(seed(3), Keys::AnyLength, 1_000).life(12_000);
}

#[test]
fn model_of_equal_hashes() {
    Driver::<Chosen>::new(seed(4), Keys::Hash { top_bits: 0 }, 2_500).life(12_000);
}

#[test]
fn model_of_hashes_equal_but_for_few_bits() {
    for top_bits in [1, 3, 9, 20] {
        Driver::<Chosen>::new(seed(5), Keys::Hash { top_bits }, 2_000).life(6_000);
    }
}
