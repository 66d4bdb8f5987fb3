//! Collections of every type in a table of keys, around the sizes at which they move into their record and out of it, with
//! snapshots in the middle: against a model.

use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
use larder_collections::key_table::{
    ExpireChange, IntoRaw, KeyHash, KeyTable, NewValue, Old, OwnedValue, ValueRef, WriteBack, limit_embedded,
};
use larder_collections::list::{List, ListOptions};
use larder_collections::set::{Set, SetLimits};
use larder_collections::sorted_set::{self, SortedSet};
use larder_collections::value::Value;
use larder_packed::heap::Mover;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

struct Fold;

impl KeyHash for Fold {
    fn hash(bytes: &[u8]) -> u64 {
        use std::hash::BuildHasher;
        foldhash::fast::FixedState::with_seed(5).hash_one(bytes)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Model {
    Text(Vec<u8>),
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    List(VecDeque<Vec<u8>>),
    Set(BTreeSet<Vec<u8>>),
    Sorted(BTreeMap<Vec<u8>, i64>),
}

impl Model {
    fn is_empty(&self) -> bool {
        match self {
            Model::Text(_) => false,
            Model::Hash(fields) => fields.is_empty(),
            Model::List(elements) => elements.is_empty(),
            Model::Set(members) => members.is_empty(),
            Model::Sorted(members) => members.is_empty(),
        }
    }
}

fn model_of(value: &ValueRef<'_, Value>) -> Model {
    match value {
        ValueRef::Inline { bytes, .. } => Model::Text(bytes.to_vec()),
        ValueRef::Out(value) => model_of_value(value),
    }
}

fn model_of_value(value: &Value) -> Model {
    match value {
        Value::Hash(hash) => {
            hash.check_invariants();
            let fields: Vec<_> =
                hash.iter(0).map(|field| (field.name.to_vec(), field.value.to_vec())).collect();
            for (name, value) in &fields {
                assert_eq!(hash.get(name, 0), Some(&value[..]));
            }
            assert_eq!(hash.len(), fields.len());
            Model::Hash(fields)
        }
        Value::List(list) => {
            list.check_invariants();
            let mut elements = VecDeque::new();
            for at in 0..list.len() {
                elements.push_back(list.get(at).expect("there is one").into_vec());
            }
            Model::List(elements)
        }
        Value::Set(set) => {
            set.check_invariants();
            let mut members = BTreeSet::new();
            set.iter().for_each(|member| {
                member.with_bytes(|bytes| assert!(set.contains(bytes) && members.insert(bytes.to_vec())));
            });
            assert_eq!(set.len(), members.len() as u64);
            Model::Set(members)
        }
        Value::SortedSet(set) => {
            set.check_invariants();
            let mut members = BTreeMap::new();
            set.for_each(|score, member| {
                assert_eq!(set.score(member), Some(score));
                members.insert(member.to_vec(), score as i64);
            });
            assert_eq!(set.len(), members.len() as u64);
            Model::Sorted(members)
        }
        Value::String(bytes) => Model::Text(bytes.to_vec()),
        Value::Stream(_) | Value::Cold(_) => panic!("there are none"),
    }
}

fn element(rng: &mut fastrand::Rng) -> Vec<u8> {
    match rng.u32(..6) {
        0 => rng.i64(..).to_string().into_bytes(),
        1 | 2 => rng.u32(..100).to_string().into_bytes(),
        3 => vec![b'x'; rng.usize(..140)],
        _ => format!("member {:03}", rng.u32(..60)).into_bytes(),
    }
}

/// Adds or removes a few elements of a value and of its model.
fn change(value: &mut Value, model: &mut Model, rng: &mut fastrand::Rng) {
    let adds = rng.u32(..5) < 3;
    for _ in 0..rng.u32(1..4) {
        let element = element(rng);
        match (&mut *value, &mut *model) {
            (Value::Hash(hash), Model::Hash(fields)) => {
                let name = format!("field {}", rng.u32(..14)).into_bytes();
                let place = fields.iter().position(|(other, _)| *other == name);
                if adds {
                    hash.set(&name, &element, FieldExpiry::Clear, HashLimits::default(), 0);
                    match place {
                        Some(place) => fields[place].1 = element,
                        None => fields.push((name, element)),
                    }
                } else {
                    assert_eq!(hash.remove(&name, 0), place.map(|place| fields.remove(place)).is_some());
                }
            }
            (Value::List(list), Model::List(elements)) => match (adds, rng.bool()) {
                (true, true) => {
                    list.push_back(&element, &ListOptions::default());
                    elements.push_back(element);
                }
                (true, false) => {
                    list.push_front(&element, &ListOptions::default());
                    elements.push_front(element);
                }
                (false, is_back) => {
                    let options = ListOptions::default();
                    let popped = if is_back { list.pop_back(&options) } else { list.pop_front(&options) };
                    let expected = if is_back { elements.pop_back() } else { elements.pop_front() };
                    assert_eq!(popped.map(|popped| popped.into_vec()), expected);
                }
            },
            (Value::Set(set), Model::Set(members)) => {
                if adds {
                    assert_eq!(set.insert(&element, &SetLimits::default()), members.insert(element));
                } else if let Some(member) = members.iter().nth(rng.usize(..members.len().max(1))).cloned() {
                    assert!(set.remove(&member) && members.remove(&member));
                }
            }
            (Value::SortedSet(set), Model::Sorted(members)) => {
                if adds {
                    let score = rng.i64(-5_000..1_000_000);
                    set.add(&element, score as f64, &sorted_set::Limits::default());
                    members.insert(element, score);
                } else if let Some(member) = members.keys().nth(rng.usize(..members.len().max(1))).cloned() {
                    assert!(set.remove(&member).is_some() && members.remove(&member).is_some());
                }
            }
            (_, model) => panic!("the value is no {model:?}"),
        }
    }
}

fn new_value(rng: &mut fastrand::Rng) -> (Value, Model) {
    let (mut value, mut model) = match rng.u32(..4) {
        0 => (Value::Hash(Hash::new()), Model::Hash(Vec::new())),
        1 => (Value::List(List::new()), Model::List(VecDeque::new())),
        2 => (Value::Set(Set::new()), Model::Set(BTreeSet::new())),
        _ => (Value::SortedSet(SortedSet::new()), Model::Sorted(BTreeMap::new())),
    };
    while model.is_empty() {
        (0..rng.u32(1..8)).for_each(|_| change(&mut value, &mut model, rng));
    }
    (value, model)
}

type Models = HashMap<Vec<u8>, Model>;

struct World {
    table: KeyTable<Value, Fold>,
    /// Moves blocks of all slabs between the steps, and where it does so next.
    mover: Mover,
    move_from: u32,
    known: HashMap<Vec<u8>, (Model, Option<u64>)>,
    /// What a snapshot must show, and what it has shown.
    snapshot: Option<(Models, Models)>,
    /// Clones of values, which nothing may change.
    clones: Vec<(Value, Model)>,
    embedded: usize,
    outside: usize,
}

impl World {
    fn new() -> World {
        World {
            table: KeyTable::new(),
            mover: Mover::of_all(),
            move_from: 0,
            known: HashMap::new(),
            snapshot: None,
            clones: Vec::new(),
            embedded: 0,
            outside: 0,
        }
    }

    fn step(&mut self, rng: &mut fastrand::Rng) {
        self.mover.allow(rng.usize(1..5_000));
        self.move_from = self.table.move_blocks(self.move_from, &mut self.mover).unwrap_or(0);
        let key = format!("key:{}", rng.u32(..300)).into_bytes();
        let hash = Fold::hash(&key);
        match rng.u32(..20) {
            0..3 => self.put(&key, rng),
            3 => {
                let old = self.table.remove(hash, &key).map(|removed| match removed.value {
                    OwnedValue::Inline { bytes, .. } => Model::Text(bytes.to_vec()),
                    OwnedValue::Out(value) => model_of_value(&value),
                });
                assert_eq!(old, self.known.remove(&key).map(|(model, _)| model));
            }
            4 => {
                let at = rng.bool().then(|| rng.u64(1_000..2_000));
                assert_eq!(self.table.set_expire(hash, &key, at), self.known.contains_key(&key));
                if let Some((_, expire)) = self.known.get_mut(&key) {
                    *expire = at;
                }
            }
            5 => self.clone_one(&key),
            6 => self.snapshot_step(rng),
            _ => self.modify(&key, rng),
        }
        self.check(&key);
    }

    fn put(&mut self, key: &[u8], rng: &mut fastrand::Rng) {
        let hash = Fold::hash(key);
        let was_known = self.known.contains_key(key);
        let old = if rng.u32(..5) == 0 {
            let text = element(rng);
            let text = &text[..text.len().min(100)];
            self.known.insert(key.to_vec(), (Model::Text(text.to_vec()), None));
            self.table.put(hash, key, NewValue::Inline { kind: 0, bytes: text }, ExpireChange::Clear, 1)
        } else {
            let (value, model) = new_value(rng);
            self.known.insert(key.to_vec(), (model, None));
            self.table.put(hash, key, NewValue::Out(value), ExpireChange::Clear, 1)
        };
        assert_eq!(old.is_some(), was_known);
        if let Some(Old::Out(value)) = old {
            model_of_value(&value);
        }
    }

    fn modify(&mut self, key: &[u8], rng: &mut fastrand::Rng) {
        let Some((model, _)) = self.known.get_mut(key).filter(|(model, _)| !matches!(model, Model::Text(_)))
        else {
            return;
        };
        let result = self.table.modify(
            Fold::hash(key),
            key,
            |entry| {
                entry.set_access(9);
                Ok::<(), ()>(())
            },
            |value| {
                let parts = value.parts();
                change(value, model, rng);
                (
                    model.is_empty(),
                    if model.is_empty() { WriteBack::No } else { WriteBack::after(value, parts) },
                )
            },
        );
        if result == Ok(true) {
            assert!(self.table.remove(Fold::hash(key), key).is_some());
            self.known.remove(key);
        }
    }

    fn clone_one(&mut self, key: &[u8]) {
        let Some(entry) = self.table.get(Fold::hash(key), key) else { return };
        if let ValueRef::Out(value) = entry.value() {
            self.clones.push((Value::clone(&value), self.known[key].0.clone()));
        }
        if self.clones.len() > 20 {
            for (value, model) in self.clones.drain(..) {
                assert_eq!(model_of_value(&value), model);
            }
        }
    }

    fn snapshot_step(&mut self, rng: &mut fastrand::Rng) {
        let Some((expected, mut seen)) = self.snapshot.take() else {
            self.table.begin_capture(0);
            let expected = self.known.iter().map(|(key, (model, _))| (key.clone(), model.clone())).collect();
            self.snapshot = Some((expected, HashMap::new()));
            return;
        };
        for _ in 0..rng.u32(1..4) {
            let more = self.table.capture_next(|entry| {
                assert!(seen.insert(entry.key().to_vec(), model_of(&entry.value())).is_none());
            });
            if !more {
                for entry in self.table.end_capture().iter() {
                    assert!(seen.insert(entry.key().to_vec(), model_of(&entry.value())).is_none());
                }
                assert_eq!(seen, expected);
                return;
            }
        }
        self.snapshot = Some((expected, seen));
    }

    fn check_all(&self) {
        self.table.check_invariants();
        let all = self.table.iter().map(|entry| (entry.key().to_vec(), model_of(&entry.value())));
        let known = self.known.iter().map(|(key, (model, _))| (key.clone(), model.clone()));
        assert_eq!(all.collect::<HashMap<_, _>>(), known.collect());
    }

    fn check(&mut self, key: &[u8]) {
        let entry = self.table.get(Fold::hash(key), key);
        let found = entry.map(|entry| (model_of(&entry.value()), entry.expire_at_ms()));
        assert_eq!(found.as_ref(), self.known.get(key));
        if let Some(entry) = entry.filter(|entry| matches!(entry.value(), ValueRef::Out(_))) {
            *if entry.is_inline() { &mut self.embedded } else { &mut self.outside } += 1;
        }
    }
}

#[test]
fn collections_move_into_their_records_and_out() {
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(21));
    // With few bytes nearly every change crosses the limit.
    for limit in [usize::MAX, 64, 24] {
        limit_embedded(limit);
        let mut world = World::new();
        for step in 0..30_000 {
            world.step(&mut rng);
            if step % 2_000 == 0 {
                world.check_all();
            }
        }
        let (embedded, outside) = (world.embedded, world.outside);
        assert!(embedded > 500 && outside > 500, "{limit}: {embedded} and {outside}");
        let moved = world.mover.moved();
        assert!(moved.blocks > 10_000 && moved.keys > 5_000, "{limit}: {moved:?}");
    }
    larder_collections::shapes::sweep();
}
