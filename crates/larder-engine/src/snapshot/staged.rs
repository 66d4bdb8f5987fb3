//! Keys that wait to be put into the keyspace, shard by shard.
//!
//! A file has its keys in an order that says nothing about where they belong, so each put would take a lock and wait for the memory of
//! another segment. Some thousand keys are gathered instead, and sorted by their shards: a shard is locked once for its share, and what the
//! puts of up to [`AHEAD`] keys read is loaded ahead together. Keys of one shard stay in order, so the last of two with one name counts.
//!
//! Cost: a key costs a copy of its name and, of a short string, its value, and 56 bytes meanwhile. Loading 5M strings of 16 + 20 bytes took half
//! the processor time that putting them one by one took.
//!
//! Tested by all tests that load files.

use crate::context::inline;
use crate::engine::Engine;
use crate::keyspace::cold_classes::Classes;
use crate::keyspace::field_expiry::{NEVER, earliest_field_expiry};
use crate::keyspace::key::{Key, SHARDS};
use crate::keyspace::locks::MayWait;
use crate::keyspace::shard::{ShardData, Table};
use larder_collections::key_table::{ExpireChange, INLINE_MAX, IntoRaw, NewValue, Old};
use larder_collections::list::ListOptions;
use larder_collections::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_rdb::read::Content;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Keys that are gathered, at most.
const KEYS_MAX: usize = 8192;
/// Bytes of their names and short values, at most, but for the last key.
const BYTES_MAX: usize = 1 << 20;
/// Keys that are loaded ahead at once.
const AHEAD: usize = 32;

const _: () = assert!(KEYS_MAX <= 1 << u16::BITS);

/// A key to be put.
struct StagedKey {
    hash: u64,
    db: u32,
    access: u32,
    expire: ExpireChange,
    /// Where its name begins among the bytes.
    name_at: u32,
    name_len: u32,
    value: StagedValue,
}

enum StagedValue {
    /// A string of this length, which follows the name.
    Inline(u8),
    Out(Value),
}

const _: () = assert!(INLINE_MAX <= u8::MAX as usize);

impl StagedKey {
    fn name(&self) -> Range<usize> {
        self.name_at as usize..(self.name_at + self.name_len) as usize
    }

    fn shard(&self) -> usize {
        Key { bytes: b"", hash: self.hash }.shard()
    }
}

/// The keys that wait.
#[derive(Default)]
pub(super) struct Staged {
    keys: Vec<StagedKey>,
    bytes: Vec<u8>,
    /// The numbers of the keys in the order in which they are put.
    order: Vec<u16>,
    /// What values are compressed with, by database.
    classes: Vec<Classes>,
}

impl Staged {
    /// Adds a key. Returns whether it is time to put what is there.
    pub fn add(
        &mut self,
        db: usize,
        key: &Key<'_>,
        value: Content<'_>,
        expire: ExpireChange,
        access: u32,
    ) -> bool {
        let name_at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key.bytes);
        let value = match value {
            Content::String(bytes) if bytes.len() <= INLINE_MAX => {
                self.bytes.extend_from_slice(bytes);
                StagedValue::Inline(bytes.len() as u8)
            }
            Content::String(bytes) => StagedValue::Out(Value::String(SharedBytes::new(bytes))),
            Content::Value(value) => StagedValue::Out(value),
        };
        let name_len = key.bytes.len() as u32;
        self.keys.push(StagedKey { hash: key.hash, db: db as u32, access, expire, name_at, name_len, value });
        self.keys.len() >= KEYS_MAX || self.bytes.len() >= BYTES_MAX
    }

    /// Puts all keys. Lists that want to be compressed are reported to the background.
    pub fn put(&mut self, engine: &Engine, list: &ListOptions, may_wait: &MayWait) {
        let hot = &engine.config.hot;
        if hot.compress_on_load.load(Relaxed) && hot.compress_idle_time_s.load(Relaxed) > 0 {
            self.compress(engine);
        }
        let ends = self.sort();
        let mut replaced = Vec::new();
        let mut start = 0;
        for (shard, end) in ends.into_iter().enumerate() {
            let order = &self.order[std::mem::replace(&mut start, end)..end];
            if order.is_empty() {
                continue;
            }
            let mut data = engine.shards.lock_one(shard, may_wait);
            for numbers in order.chunks(AHEAD) {
                prefetch(&data, &self.keys, numbers);
                for &number in numbers {
                    let key = &mut self.keys[usize::from(number)];
                    replaced.extend(put_one(engine, list, &mut data, key, &self.bytes));
                }
            }
            drop(data);
            replaced.clear();
        }
        self.keys.clear();
        self.bytes.clear();
    }

    /// Compresses the values for which there are dictionaries, and makes dictionaries of the others.
    fn compress(&mut self, engine: &Engine) {
        let forgotten = engine.cold.forgotten();
        for key in &mut self.keys {
            let (name, db) = (key.name(), key.db as usize);
            if self.classes.len() <= db {
                let more = self.classes.len()..=db;
                self.classes.extend(more.map(|db| Classes::with(engine.cold.dictionaries(db))));
            }
            let short;
            let value = match &key.value {
                StagedValue::Out(value) => value,
                StagedValue::Inline(len) => {
                    let bytes = &self.bytes[name.end..name.end + usize::from(*len)];
                    short = Value::of_inline(inline::STRING, bytes);
                    let Some(value) = &short else { continue };
                    value
                }
            };
            let (classes, name) = (&mut self.classes[db], &self.bytes[name]);
            match classes.compress(name, value) {
                Some(cold) => key.value = StagedValue::Out(Value::Cold(cold)),
                None => classes.sample(name, value),
            }
        }
        for (db, classes) in self.classes.iter_mut().enumerate() {
            if classes.train_complete() {
                let made = classes.dictionaries();
                engine.cold.change_dictionaries(db, forgotten, |known| known.add(made));
            }
        }
    }

    /// Brings the keys of each shard together, in their order. Returns where each shard's end.
    fn sort(&mut self) -> [usize; SHARDS] {
        let mut next = [0; SHARDS];
        self.keys.iter().for_each(|key| next[key.shard()] += 1);
        let mut sum = 0;
        next.iter_mut().for_each(|place| sum += std::mem::replace(place, sum));
        self.order.resize(self.keys.len(), 0);
        for (number, key) in (0..).zip(&self.keys) {
            let place = &mut next[key.shard()];
            self.order[*place] = number;
            *place += 1;
        }
        next
    }
}

/// First the segments, all at once; when they have arrived, the places in them.
fn prefetch(data: &ShardData, keys: &[StagedKey], numbers: &[u16]) {
    for step in [Table::prefetch, Table::prefetch_put] {
        for &number in numbers {
            let key = &keys[usize::from(number)];
            if let Some(table) = data.table(key.db as usize) {
                step(table, key.hash);
            }
        }
    }
}

fn put_one(
    engine: &Engine,
    list: &ListOptions,
    data: &mut ShardData,
    key: &mut StagedKey,
    bytes: &[u8],
) -> Option<Old<Value>> {
    let (name_at, db) = (key.name(), key.db as usize);
    let name = &bytes[name_at.clone()];
    let mut soonest = NEVER;
    let mut compress = false;
    let value = match std::mem::replace(&mut key.value, StagedValue::Inline(0)) {
        StagedValue::Inline(len) => {
            let bytes = &bytes[name_at.end..name_at.end + usize::from(len)];
            NewValue::Inline { kind: inline::STRING, bytes }
        }
        StagedValue::Out(value) => {
            soonest = earliest_field_expiry(&value);
            compress = matches!(&value, Value::List(elements) if elements.wants_compression(list));
            NewValue::Out(value)
        }
    };
    let old = data.table_mut(db).put(key.hash, name, value, key.expire, key.access);
    if compress {
        engine.background.compress(db, &engine.key(name));
    }
    data.field_expiry.note(db, name, NEVER, soonest);
    old
}
