//! Compresses values that nobody has used for `compress-idle-time` seconds.
//!
//! A thread walks over the keyspace. It clones the values of [`KEYS_PER_HOLD`] keys at most while it
//! holds a shard, and compresses them while it holds none. Then it puts the cold values in their
//! places, where the very same values still are. A walk tries the values that have become idle since
//! the last one; those of a class of keys with a new dictionary, it tries all. Dictionaries are made
//! at the end of a walk, see [`crate::keyspace::cold_classes`].
//!
//! Values that are too large to be compressed whole are compressed in pieces: lists, by the thread that
//! compresses their inner blocks; streams, node by node, and hashes, value by value, whether the rest is
//! used or not.

use super::list_blocks::compress_some;
use super::pace::{Pace, lock_patiently};
use crate::engine::Engine;
use crate::keyspace::access::AccessRules;
use crate::keyspace::cold_classes::Classes;
use crate::keyspace::cold_state::ColdFigures;
use crate::keyspace::encoding_limits::list_options;
use crate::keyspace::key::{Key, SHARDS};
use crate::keyspace::locks::MayWait;
use crate::panic_on_demand::panic_if_armed;
use larder_collections::cold;
use larder_collections::cold::parts::{PartDone, PartJob, PartJobs, Spent};
use larder_collections::key_table::{Entry, Found, ValueRef};
use larder_collections::list::ListOptions;
use larder_collections::stream::{NodeDone, NodeJob, NodeJobs, StreamId};
use larder_collections::value::Value;
use std::sync::Weak;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Keys looked at while a shard is held.
const KEYS_PER_HOLD: usize = 128;
/// Bytes of the nodes of a stream, or of the parts of a hash or a set, that are cloned in one hold; clones share their bytes.
const PART_BYTES_PER_HOLD: usize = 256 << 10;
/// How often it is looked whether there is something to be done.
const PERIOD: Duration = Duration::from_millis(100);
/// The same while the option is off.
const PERIOD_OFF: Duration = Duration::from_secs(1);
/// The same while everything is compressed.
const PERIOD_FORCED: Duration = Duration::from_micros(100);
/// Walks are this part of the idle time apart.
const WALKS_PER_IDLE_TIME: u64 = 4;
/// While memory is short, each walk takes values that were idle for this part of the time before.
const HASTE: u64 = 4;
/// Access words that count uses tell the time in minutes.
const MINUTE_S: u64 = 60;

impl Engine {
    /// Whether a value with this access word, which is compressed and is used at `now_s`, has been
    /// used lately: it is put into the form in which it is used.
    #[cold]
    pub(crate) fn is_used_again(&self, word: u32, now_s: u64) -> bool {
        let rules = AccessRules::load(&self.config.hot);
        let idle_s = self.config.hot.compress_idle_time_s.load(Relaxed) as u64;
        now_s != 0 && (idle_s == 0 || u64::from(rules.unused_s(word, now_s)) < idle_s)
    }
}

/// What the thread does until the engine is gone.
pub(super) fn run(engine: &Weak<Engine>, may_wait: &MayWait) {
    let mut compressing = Compressing::default();
    let mut period = PERIOD;
    loop {
        std::thread::sleep(period);
        panic_if_armed();
        let Some(engine) = engine.upgrade() else { return };
        let is_forced = engine.debug.compresses_always.load(Relaxed);
        let idle_s = engine.config.hot.compress_idle_time_s.load(Relaxed) as u64;
        period = match (is_forced, idle_s) {
            (true, _) => PERIOD_FORCED,
            (false, 0) => PERIOD_OFF,
            (false, _) => PERIOD,
        };
        let forgotten = engine.cold.forgotten();
        if std::mem::replace(&mut compressing.forgotten, forgotten) != forgotten {
            compressing.classes.clear();
            engine.cold.store(ColdFigures::default());
            cold::sweep();
        }
        let (mut idle_s, mut walks_apart_s) = (idle_s, idle_s / WALKS_PER_IDLE_TIME);
        let is_short = is_short_of_memory(&engine);
        if is_short {
            // Sooner than the option says is better than evicted.
            let before_s = compressing.idle.map_or(idle_s, |idle| idle.from_s);
            (idle_s, walks_apart_s) = ((before_s / HASTE).clamp(idle_s.min(1), idle_s), 1);
        }
        let now_s = engine.mono_ms() / 1000;
        let next_s = compressing.walk_began_s + walks_apart_s.max(1);
        let is_due = is_forced || idle_s > 0 && now_s >= next_s;
        if !is_due || engine.gate.is_loading() {
            continue;
        }
        compressing.begin_walk(&engine, now_s, (!is_forced).then_some(idle_s));
        if is_short {
            compressing.pace.hurry();
        } else {
            compressing.pace.begin();
        }
        compressing.walk(&engine, may_wait);
        cold::sweep();
    }
}

/// Whether so much memory is in use that keys are going to be evicted soon.
fn is_short_of_memory(engine: &Engine) -> bool {
    let limit = engine.config.hot.maxmemory.load(Relaxed);
    limit > 0 && engine.host.memory().used > limit / 16 * 15
}

/// Which values are idle, in seconds without a use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Idle {
    /// From here on.
    from_s: u64,
    /// Below this, they were not yet at the last walk.
    new_below_s: u64,
}

#[derive(Default)]
struct Compressing {
    /// None: every value is idle, and is compressed whether it shrinks or not.
    idle: Option<Idle>,
    walk_began_s: u64,
    /// How often dictionaries were to be given up before this walk.
    forgotten: u64,
    /// By database.
    classes: Vec<Classes>,
    found: Vec<Found<Value>>,
    /// Keys of lists that are compressed block by block.
    lists: Vec<Box<[u8]>>,
    /// Keys of streams, and whether the whole stream is idle.
    streams: Vec<(Box<[u8]>, bool)>,
    /// Keys of hashes whose values are compressed one by one.
    in_parts: Vec<Box<[u8]>>,
    list_options: ListOptions,
    pace: Pace,
    /// What this walk has found.
    figures: ColdFigures,
}

impl Compressing {
    fn begin_walk(&mut self, engine: &Engine, now_s: u64, idle_s: Option<u64>) {
        let since_last_s = now_s - std::mem::replace(&mut self.walk_began_s, now_s);
        let granularity_s = if AccessRules::load(&engine.config.hot).counts { MINUTE_S } else { 1 };
        let idle = idle_s.map(|from_s| {
            let new_below_s = from_s + since_last_s + 2 * granularity_s;
            Idle { from_s, new_below_s }
        });
        if self.idle.map(|idle| idle.from_s) != idle_s {
            self.classes.iter_mut().for_each(Classes::start_over);
        }
        self.idle = idle;
        self.list_options = list_options(&engine.config.hot);
        self.list_options.compress_depth = self.list_options.compress_depth.max(1);
    }

    fn walk(&mut self, engine: &Engine, may_wait: &MayWait) {
        for shard in 0..SHARDS {
            let (mut db, mut cursor) = (0, 0);
            while let Some(next) = self.collect(engine, (shard, db, cursor), may_wait) {
                self.compress(engine, (shard, db), may_wait);
                self.compress_lists(engine, db, may_wait);
                self.compress_streams(engine, db, may_wait);
                self.compress_parts(engine, db, may_wait);
                self.pace.rest_if_busy();
                (db, cursor) = if next == 0 { (db + 1, 0) } else { (db, next) };
            }
        }
        for (db, classes) in self.classes.iter_mut().enumerate() {
            classes.end_walk();
            engine.cold.change_dictionaries(db, self.forgotten, |known| *known = classes.dictionaries());
        }
        engine.cold.store(std::mem::take(&mut self.figures));
        larder_packed::codec::release_contexts();
    }

    /// Collects idle values from a place on; the next cursor, or `None` if there is no such database.
    fn collect(
        &mut self,
        engine: &Engine,
        (shard, db, cursor): (usize, usize, u64),
        may_wait: &MayWait,
    ) -> Option<u64> {
        let (rules, now_s) = (AccessRules::load(&engine.config.hot), crate::clock::wall_s());
        let data = lock_patiently(&engine.shards, shard, may_wait);
        let table = data.tables().get(db)?;
        if self.classes.len() <= db {
            let more = self.classes.len()..=db;
            self.classes.extend(more.map(|db| Classes::with(engine.cold.dictionaries(db))));
        }
        let (classes, idle, figures) = (&mut self.classes[db], self.idle, &mut self.figures);
        let is_due = |entry: &Entry<'_, Value>, all: bool| {
            let unused_s = u64::from(rules.unused_s(entry.access(), now_s));
            idle.is_none_or(|idle| unused_s >= idle.from_s && (all || unused_s < idle.new_below_s))
        };
        Some(table.scan(cursor, KEYS_PER_HOLD, |entry| {
            let plan = classes.note(entry.key());
            let kept = entry.kept();
            match &kept {
                ValueRef::Out(value) => match &**value {
                    Value::Cold(cold) => {
                        figures.add(cold);
                        classes.note_cold(entry.key(), cold.raw_bytes() as u64);
                        let is_current =
                            plan.dictionary.is_none_or(|number| number == cold.dictionary_number());
                        if is_current || !plan.all || idle.is_none() {
                            return;
                        }
                    }
                    Value::Stream(_) => {
                        return self.streams.push((entry.key().into(), is_due(&entry, true)));
                    }
                    value => {
                        if value.has_cold_parts() {
                            self.in_parts.push(entry.key().into());
                        }
                        if !is_due(&entry, plan.all) {
                            return;
                        }
                    }
                },
                ValueRef::Inline { .. } if !is_due(&entry, plan.all) => return,
                ValueRef::Inline { .. } => {}
            }
            self.found.extend(Found::of(engine.key(entry.key()).hash, entry));
        }))
    }

    /// Compresses what was found, without a lock, and puts it in place.
    fn compress(&mut self, engine: &Engine, (shard, db): (usize, usize), may_wait: &MayWait) {
        let classes = &mut self.classes[db];
        let mut done = Vec::new();
        for mut found in self.found.drain(..) {
            if let Value::Cold(cold) = &found.value {
                found.value = cold.thaw();
            }
            let cold = match self.idle {
                Some(_) => {
                    classes.sample(found.key(), &found.value);
                    classes.compress(found.key(), &found.value)
                }
                None => classes.force(&found.value),
            };
            match cold {
                Some(cold) => done.push((found, cold)),
                None if is_large_list(&found.value, &self.list_options) => {
                    self.lists.push(found.key().into());
                }
                None => {}
            }
            self.pace.rest_if_busy();
        }
        if done.is_empty() {
            return;
        }
        let mut before = Vec::with_capacity(done.len());
        let mut data = lock_patiently(&engine.shards, shard, may_wait);
        let table = data.table_mut(db);
        for (found, cold) in done {
            let mut figures = self.figures;
            figures.add(&cold);
            if table.change_form(&found, Value::Cold(cold)) {
                self.figures = figures;
            }
            before.push(found);
        }
        drop(data);
        // The last references to the values: a hash of long texts takes some time to be freed.
        drop(before);
    }

    fn compress_streams(&mut self, engine: &Engine, db: usize, may_wait: &MayWait) {
        for (key, is_idle) in std::mem::take(&mut self.streams) {
            let key = engine.key(&key);
            let mut next = Some(StreamId::ZERO);
            while let Some(from) = next {
                let found;
                (found, next) =
                    look_at(engine, (db, &key), may_wait, |value| node_jobs(value, from, is_idle));
                self.figures.add_parts(&found.cold);
                self.classes[db].note_cold(key.bytes, found.cold.plain_bytes);
                let done: Vec<NodeDone> =
                    found.jobs.iter().filter_map(|job| self.change_node(db, key.bytes, job)).collect();
                drop(found);
                if !done.is_empty() {
                    change(engine, (db, &key), may_wait, |value| apply_nodes(value, done));
                }
                self.pace.rest_if_busy();
            }
        }
    }

    /// Does a job, without a lock.
    fn change_node(&mut self, db: usize, key: &[u8], job: &NodeJob) -> Option<NodeDone> {
        if job.is_thaw() {
            return job.thaw();
        }
        let classes = &mut self.classes[db];
        self.pace.rest_if_busy();
        if self.idle.is_none() {
            return classes.force_node(job);
        }
        classes.sample_node(key, job);
        classes.compress_node(key, job)
    }

    fn compress_parts(&mut self, engine: &Engine, db: usize, may_wait: &MayWait) {
        let all = self.idle.is_none();
        for key in std::mem::take(&mut self.in_parts) {
            let key = engine.key(&key);
            let mut next = Some(0);
            while let Some(from) = next {
                let found;
                (found, next) = look_at(engine, (db, &key), may_wait, |value| part_jobs(value, from, all));
                self.figures.add_parts(&found.cold);
                self.classes[db].note_cold(key.bytes, found.cold.plain_bytes);
                let jobs = found.jobs.into_iter();
                let done: Vec<PartDone> =
                    jobs.filter_map(|job| self.change_part(db, key.bytes, job)).collect();
                if !done.is_empty() {
                    drop(change(engine, (db, &key), may_wait, |value| apply_parts(value, done)));
                }
                self.pace.rest_if_busy();
            }
        }
    }

    /// Does a job, without a lock.
    fn change_part(&mut self, db: usize, key: &[u8], job: PartJob) -> Option<PartDone> {
        if !job.compresses() {
            return job.run_plain();
        }
        let classes = &mut self.classes[db];
        self.pace.rest_if_busy();
        if self.idle.is_none() {
            return classes.force_part(job);
        }
        classes.sample_part(key, &job);
        classes.compress_part(key, job)
    }

    fn compress_lists(&mut self, engine: &Engine, db: usize, may_wait: &MayWait) {
        for key in self.lists.drain(..) {
            let key = engine.key(&key);
            while compress_some(engine, (db, &key), &self.list_options, may_wait) {
                self.pace.rest_if_busy();
            }
        }
    }
}

/// What `f` finds out about the value of a key, as it is kept.
fn look_at<R: Default>(
    engine: &Engine,
    (db, key): (usize, &Key<'_>),
    may_wait: &MayWait,
    f: impl FnOnce(&Value) -> R,
) -> R {
    let data = lock_patiently(&engine.shards, key.shard(), may_wait);
    let entry = data.table(db).and_then(|table| table.get(key.hash, key.bytes));
    let Some(ValueRef::Out(value)) = entry.map(|entry| entry.kept()) else { return R::default() };
    f(&value)
}

/// Has `f` put parts of a key's value in the places of those that they were made from. What it returns may be dropped without a lock.
fn change<R: Default>(
    engine: &Engine,
    (db, key): (usize, &Key<'_>),
    may_wait: &MayWait,
    f: impl FnOnce(&mut Value) -> R,
) -> R {
    let mut data = lock_patiently(&engine.shards, key.shard(), may_wait);
    let mut value = data.table_mut(db).get_mut_same(key.hash, key.bytes);
    value.as_deref_mut().map(f).unwrap_or_default()
}

/// The next nodes of a stream to be compressed or decompressed, and where to go on.
fn node_jobs(value: &Value, from: StreamId, all: bool) -> (NodeJobs, Option<StreamId>) {
    let Value::Stream(stream) = value else { return Default::default() };
    let mut jobs = NodeJobs::default();
    let next = stream.cold_jobs(from, all, PART_BYTES_PER_HOLD, &mut jobs);
    (jobs, next)
}

fn apply_nodes(value: &mut Value, done: Vec<NodeDone>) {
    let Value::Stream(stream) = value else { return };
    for one in done {
        stream.apply_cold(one);
    }
}

/// The next parts of a hash or a set to get another form, and where to go on.
fn part_jobs(value: &Value, from: u32, all: bool) -> (PartJobs, Option<u32>) {
    let mut jobs = PartJobs::default();
    let next = match value {
        Value::Hash(hash) => hash.cold_jobs(from, all, PART_BYTES_PER_HOLD, &mut jobs),
        Value::Set(set) => set.cold_jobs(from, all, PART_BYTES_PER_HOLD, &mut jobs),
        _ => None,
    };
    (jobs, next)
}

/// Returns what was replaced: the last references to many of them.
fn apply_parts(value: &mut Value, done: Vec<PartDone>) -> Vec<Spent> {
    match value {
        Value::Hash(hash) => done.into_iter().filter_map(|one| hash.apply_cold(one)).collect(),
        Value::Set(set) => done.into_iter().filter_map(|one| set.apply_cold(one)).collect(),
        _ => Vec::new(),
    }
}

/// Whether a list has blocks to be compressed one by one.
fn is_large_list(value: &Value, options: &ListOptions) -> bool {
    matches!(value, Value::List(list) if list.wants_compression(options))
}
