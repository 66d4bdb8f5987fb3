//! The walk through a database: [`KEYS_PER_HOLD`] keys while a shard is held, which are grouped when it is not.
//!
//! What a key takes is counted under the lock, since it is asked of the value; names are copied out, and so are some lists, whose blocks are
//! shared, for samples of what compression would save. The thread sleeps [`REST`] times as long as it has worked: it is one thread beside
//! those that serve clients, and takes no more than that part of a processor.
//!
//! Keys that are written meanwhile may or may not count, all others do, once. With a sample the walk looks at the same share of every
//! shard: keys are in the order of their hashes there, so it is a random one.

use super::largest::Largest;
use super::report::{Found, Report};
use super::tally::{Seen, Tally};
use super::tree::Tree;
use crate::commands::generic::encoding_name;
use crate::engine::Engine;
use crate::keyspace::access::AccessRules;
use crate::keyspace::cold_samples::{SAMPLES_MIN, sample_of};
use crate::keyspace::key::SHARDS;
use crate::keyspace::kind::{Kind, value_bytes};
use crate::keyspace::locks::MayWait;
use crate::panic_on_demand::panic_if_armed;
use crate::stats::walk_progress::Walking;
use crate::text::glob;
use larder_collections::cold;
use larder_collections::cold::parts::PartSums;
use larder_collections::key_table::{Entry, IntoRaw, ValueRef};
use larder_collections::list::List;
use larder_collections::value::Value;
use std::borrow::Cow;
use std::sync::Weak;
use std::thread;
use std::time::Duration;

/// Keys looked at while a shard is held: some 30 microseconds.
const KEYS_PER_HOLD: usize = 128;
/// The thread sleeps this many times as long as it has worked.
const REST: u32 = 4;
/// At most, at once.
const NAP_MAX: Duration = Duration::from_millis(20);
/// Blocks of a collection that are looked at for its bytes, as MEMORY USAGE does it.
const SAMPLES: u64 = 5;
/// Lists of a batch that are taken out for samples of their blocks, and blocks of each that are looked at.
const LISTS_PER_HOLD: usize = 8;
const BLOCKS_PER_LIST: usize = 4;
/// Samples of the parts of one collection.
const SAMPLES_OF_PARTS: usize = SAMPLES_MIN;
/// Values of a batch that are copied as samples of what compressing them whole would save, and the largest of them in bytes.
const COLD_SAMPLES_PER_HOLD: usize = 8;
const IMAGE_MAX: u64 = 16 << 10;

/// What is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub db: usize,
    /// Keys whose names match.
    pub pattern: Option<Vec<u8>>,
    /// Parts of a name that are kept.
    pub depth: usize,
    /// Keys that are looked at; all, if there are not more.
    pub sample: Option<u64>,
}

/// Walks through the database. `None`: the engine is gone, or `goes_on` says that nobody wants to know any more.
pub(super) fn walk(
    engine: &Weak<Engine>,
    request: &Request,
    walking: &Walking,
    may_wait: &MayWait,
    goes_on: impl Fn() -> bool,
) -> Option<Report> {
    let total = count_keys(&*engine.upgrade()?, request.db, may_wait);
    walking.begin(request.sample.map_or(total, |sample| sample.min(total)));
    let mut found = Found { tree: Tree::new(request.depth), largest: Largest::default() };
    let (mut looked, mut batch) = (0, Batch::default());
    for shard in 0..SHARDS {
        let quota = request.sample.map(|sample| share_of(sample, shard));
        let mut cursor = Some(0);
        while let Some(from) = cursor.filter(|_| quota.is_none_or(|quota| looked < quota)) {
            if !goes_on() {
                return None;
            }
            panic_if_armed();
            let begun = crate::clock::instant();
            let count = quota.map_or(KEYS_PER_HOLD as u64, |quota| quota - looked).min(KEYS_PER_HOLD as u64);
            cursor = batch.fill(&*engine.upgrade()?, request, (shard, from), count as usize, may_wait);
            looked += batch.looked;
            batch.group(&mut found);
            walking.reached(looked);
            thread::sleep((begun.elapsed() * REST).min(NAP_MAX));
        }
    }
    larder_packed::codec::release_contexts();
    Some(Report::new(request.db, total.max(looked), looked, found))
}

/// How many keys of a sample are looked at when the walk is through with a shard.
fn share_of(sample: u64, shard: usize) -> u64 {
    (u128::from(sample) * (shard as u128 + 1)).div_ceil(SHARDS as u128) as u64
}

fn count_keys(engine: &Engine, db: usize, may_wait: &MayWait) -> u64 {
    let of = |shard| engine.shards.lock_one(shard, may_wait).table(db).map_or(0, |table| table.len() as u64);
    (0..SHARDS).map(of).sum()
}

/// Keys that were seen in one hold of a lock.
#[derive(Default)]
struct Batch {
    names: Vec<u8>,
    keys: Vec<Taken>,
    looked: u64,
    lists: usize,
    cold_samples: usize,
}

struct Taken {
    /// Where the name ends; it begins where the one before ends.
    end: usize,
    seen: Seen,
    /// For samples of its blocks.
    list: Option<List>,
    /// For samples of values that could be compressed.
    sample: Option<Box<[u8]>>,
    /// A collection that is compressed in parts.
    in_parts: Option<Value>,
}

impl Batch {
    /// Takes some keys of a shard from a cursor on; returns where to go on.
    fn fill(
        &mut self,
        engine: &Engine,
        request: &Request,
        (shard, cursor): (usize, u64),
        count: usize,
        may_wait: &MayWait,
    ) -> Option<u64> {
        (self.looked, self.lists, self.cold_samples) = (0, 0, 0);
        let times = Times::now(engine);
        let data = engine.shards.lock_one(shard, may_wait);
        let next = data.table(request.db)?.scan_with_shares(cursor, count, |entry, share| {
            self.looked += 1;
            if request.pattern.as_ref().is_none_or(|pattern| glob::selects(pattern, entry.key())) {
                self.add(&entry, share, &times);
            }
        });
        (next != 0).then_some(next)
    }

    fn add(&mut self, entry: &Entry<'_, Value>, share: usize, times: &Times) {
        let value = entry.kept();
        let mut seen = Seen {
            encoding: (Kind::of(&value).name(), encoding_name(entry.key(), entry)),
            bytes: share as u64 + value_bytes(entry, SAMPLES),
            ttl_s: entry.expire_at_ms().map(|at| at.saturating_sub(times.now_ms) / 1000),
            idle_s: times.idle_s(entry.access()),
            ..Seen::default()
        };
        let (mut list, mut sample, mut in_parts) = (None, None, None);
        let plain = match &value {
            ValueRef::Out(value) => match &**value {
                Value::Cold(cold) => {
                    seen.cold_saves = Some(cold.raw_bytes().saturating_sub(cold.packed_bytes()) as u64);
                    None
                }
                Value::String(_) | Value::Hash(_) | Value::List(_) | Value::Set(_) | Value::SortedSet(_) => {
                    Some(Cow::Borrowed(&**value))
                }
                Value::Stream(_) => None,
            },
            ValueRef::Inline { kind, bytes } => Value::of_inline(*kind, bytes).map(Cow::Owned),
        };
        if let Some(value) = plain.filter(|_| (cold::IMAGE_MIN as u64..=IMAGE_MAX).contains(&seen.bytes)) {
            seen.cold_plain_bytes = seen.bytes;
            if self.cold_samples < COLD_SAMPLES_PER_HOLD {
                self.cold_samples += 1;
                sample = sample_of(&value);
            }
        }
        if let ValueRef::Out(value) = value {
            seen.elements = value.elements();
            if let Value::Hash(hash) = &*value {
                seen.shared_names = hash.shared_names_bytes().map(|bytes| bytes as u64);
            }
            if let Value::List(of) = &*value {
                seen.plain_bytes = plain_bytes(of);
                if seen.plain_bytes > 0 && self.lists < LISTS_PER_HOLD {
                    self.lists += 1;
                    list = Some(of.clone());
                }
            }
            if value.has_cold_parts() || matches!(&*value, Value::Stream(_)) {
                in_parts = Some(value.clone());
            }
        }
        self.names.extend_from_slice(entry.key());
        self.keys.push(Taken { end: self.names.len(), seen, list, sample, in_parts });
    }

    /// Puts the keys into their groups. No shard is held.
    fn group(&mut self, found: &mut Found) {
        let mut start = 0;
        for Taken { end, seen, list, sample, in_parts } in self.keys.drain(..) {
            let name = &self.names[start..end];
            found.largest.offer(name, &seen);
            let tally = found.tree.add(name, &seen);
            if let Some(list) = list {
                look_at_blocks(&list, tally);
            }
            if let Some(sample) = sample {
                tally.cold.take_sample(sample);
            }
            if let Some(value) = in_parts {
                tally.cold.add_parts(sums_of(&value), seen.cold_plain_bytes == 0);
            }
            start = end;
        }
        self.names.clear();
    }
}

/// What times of keys are counted from.
struct Times {
    now_ms: u64,
    access: AccessRules,
}

impl Times {
    fn now(engine: &Engine) -> Times {
        Times { now_ms: crate::clock::wall_ms(), access: AccessRules::load(&engine.config.hot) }
    }

    fn idle_s(&self, word: u32) -> Option<u64> {
        (!self.access.counts).then(|| u64::from(self.access.idle_s(word, self.now_ms / 1000)))
    }
}

/// The sums over the parts of a collection.
fn sums_of(value: &Value) -> PartSums {
    match value {
        Value::Hash(hash) => hash.part_sums(SAMPLES_OF_PARTS),
        Value::Set(set) => set.part_sums(SAMPLES_OF_PARTS),
        Value::Stream(stream) => stream.part_sums(SAMPLES_OF_PARTS),
        _ => PartSums::default(),
    }
}

/// Bytes of the blocks of a list that are not compressed.
fn plain_bytes(list: &List) -> u64 {
    let blocks = list.node_count();
    let plain = blocks - list.compressed_blocks().min(blocks);
    (u128::from(list.plain_bytes(SAMPLES)) * u128::from(plain) / u128::from(blocks.max(1))) as u64
}

/// Compresses some blocks of a list, unless enough is known of its group.
fn look_at_blocks(list: &List, tally: &mut Tally) {
    let mut left = BLOCKS_PER_LIST;
    let _: Result<(), ()> = list.try_for_each_block(|block| {
        if left == 0 || tally.blocks.is_known() {
            return Err(());
        }
        left -= 1;
        if !block.is_compressed() {
            tally.blocks.look_at(block);
        }
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_sample_add_up() {
        for sample in [0, 1, 255, 256, 257, 1_000_000, u64::MAX] {
            assert!((1..SHARDS).all(|shard| share_of(sample, shard - 1) <= share_of(sample, shard)));
            assert_eq!(share_of(sample, SHARDS - 1), sample);
        }
    }
}
