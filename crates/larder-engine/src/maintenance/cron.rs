//! What happens ten times a second, whatever the clients do: expiry, eviction, clients, replication, the
//! limit of keys that clients cache, rates, peaks, memory that goes back to the allocator.

use crate::delivery::invalidations::Invalidations;
use crate::engine::Engine;
use crate::engine::notify::class;
use crate::engine::removal::{Cause, Removal};
use crate::eviction::{Evictor, Turn};
use crate::execution::tracking::limit_keys;
use crate::keyspace::access::AccessRules;
use crate::keyspace::deadlines::due_at;
use crate::keyspace::field_expiry::{NEVER, earliest_of_removed};
use crate::keyspace::key::SHARDS;
use crate::keyspace::shard::ShardData;
use crate::maintenance::replication::ReplicationCron;
use crate::maintenance::shared_fields::SharedFields;
use crate::stats::rates::Sample;
use larder_collections::value::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Keys expired in one lock hold.
const EXPIRE_BATCH: usize = 64;
/// How long keys are evicted at a time.
const EVICTION_SHARE: Duration = Duration::from_millis(60);
/// How often empty slabs go back to the allocator.
const TICKS_PER_TRIM: u64 = 10;
/// How often small values that have not changed lately move into their records.
const TICKS_PER_COOLING: u64 = 10;
/// Expiry goes on next time when this many shards were not free: a script may hold them for long, and others wait for the timer.
const MISSED_MAX: u32 = 16;
/// Share of the time that expiry may take, in percent, at effort 1; each further step adds 2.
const EXPIRE_SHARE_PERCENT: u64 = 25;

/// The thread that looks after everything.
pub struct Cron {
    engine: Arc<Engine>,
    evictor: Evictor,
    last_sample: Option<Sample>,
    ticks: u64,
    replication: ReplicationCron,
    shared_fields: SharedFields,
}

impl Cron {
    /// For one thread of the engine's process.
    pub fn new(engine: &Arc<Engine>) -> Cron {
        Cron {
            engine: Arc::clone(engine),
            evictor: Evictor::default(),
            last_sample: None,
            ticks: 0,
            replication: ReplicationCron::default(),
            shared_fields: SharedFields::default(),
        }
    }

    /// To be called about every 100 ms.
    pub fn tick(&mut self) {
        let engine = &*self.engine;
        if engine.cron_paused.load(Relaxed) {
            return;
        }
        if self.ticks.is_multiple_of(TICKS_PER_TRIM) {
            larder_packed::heap::trim();
        }
        // A keyspace that is filled should not wait long until it counts as a large one.
        if self.ticks.is_multiple_of(TICKS_PER_TRIM) || !engine.is_beyond_cache() {
            engine.count_keys();
        }
        self.ticks += 1;
        engine.sample_rates(&mut self.last_sample);
        engine.stale.forget_stale(&engine.shards);
        engine.append_log.trim_stream(|| self.evictor.note_growth(engine));
        check_memory(engine, &mut self.evictor);
        engine.check_clients();
        // What is loaded was written in a certain state; commands that follow in the file expect to find it.
        let is_paused = engine.pause.in_force(crate::clock::wall_ms());
        let waits = engine.waits_for_others_to_expire() || is_paused;
        if engine.config.hot.active_expire_enabled.load(Relaxed) && !engine.gate.is_loading() {
            if !waits {
                engine.expire_cycle();
            } else if engine.replication.is_replica() && !is_paused {
                engine.expire_own();
            }
        }
        if engine.append_log.pending() > 0 {
            engine.append_log.wake_writer();
        }
        self.replication.tick(engine);
        self.shared_fields.tick(engine);
        if self.ticks.is_multiple_of(TICKS_PER_COOLING) {
            engine.cool_values();
        }
        engine.pause_check();
        let mut invalidations = Invalidations::default();
        limit_keys(engine, &mut fastrand::Rng::new(), &mut invalidations);
        invalidations.send(engine.receivers());
    }
}

/// Reads how much memory is in use, and evicts if it is too much. No shard is held.
fn check_memory(engine: &Engine, evictor: &mut Evictor) {
    engine.note_memory(evictor.read_growth(engine));
    let mut invalidations = Invalidations::default();
    if !evictor.is_over(engine, &invalidations) || engine.gate.is_loading() || engine.ignores_maxmemory() {
        engine.eviction.note_below(engine.mono_us());
        return;
    }
    if !engine.pause.in_force(crate::clock::wall_ms()) {
        let turn = Turn {
            engine,
            rules: AccessRules::load(&engine.config.hot),
            time: Some(EVICTION_SHARE),
            now_ms: crate::clock::wall_ms(),
            mono_ms: engine.mono_ms(),
            from: None,
            limit: engine.config.hot.maxmemory.load(Relaxed),
        };
        evictor.run(&turn, &mut invalidations);
        invalidations.send(engine.receivers());
    }
}

impl Engine {
    /// Counts the keys of all databases.
    fn count_keys(&self) {
        let of_shard = |data: &ShardData| data.tables().iter().map(|t| t.len() as u64).sum::<u64>();
        let mut count = 0;
        for shard in 0..SHARDS {
            // It stays what it was when not all can be counted.
            let Some(data) = self.shards.lock_soon(shard) else { return };
            count += of_shard(&data);
        }
        self.key_count.store(count, Relaxed);
    }

    /// Moves small values that have not changed lately into their records.
    fn cool_values(&self) {
        for shard in 0..SHARDS {
            let Some(mut data) = self.shards.lock_soon(shard) else { return };
            for db in 0..data.tables().len() {
                data.table_mut(db).cool();
            }
        }
    }

    /// Records the peak of the memory in use.
    pub(crate) fn note_memory(&self, used: u64) {
        self.rates.used_memory_peak.fetch_max(used, Relaxed);
    }

    fn pause_check(&self) {
        if self.pause.expired(crate::clock::wall_ms()) {
            self.retry_put_off();
        }
    }

    fn sample_rates(&self, last: &mut Option<Sample>) {
        let sample = Sample {
            at: crate::clock::instant(),
            processed: self.sum(|s| &s.processed),
            net_in: self.net_in(),
            net_out: self.net_out(),
            replication_in: self.replication.bytes_in.load(Relaxed),
            replication_out: self.replication.bytes_out.load(Relaxed),
            loops: self.sum(|s| &s.loops),
            loop_ns: self.sum(|s| &s.loop_ns),
        };
        let Some(before) = last.replace(sample) else { return };
        let ms = sample.at.duration_since(before.at).as_millis().max(1) as u64;
        let rate = |now: u64, then: u64| now.saturating_sub(then) * 1000 / ms;
        self.rates.ops_per_second.store(rate(sample.processed, before.processed), Relaxed);
        self.rates.in_bytes_per_second.store(rate(sample.net_in, before.net_in), Relaxed);
        self.rates.out_bytes_per_second.store(rate(sample.net_out, before.net_out), Relaxed);
        let (came, went) =
            (&self.rates.replication_in_bytes_per_second, &self.rates.replication_out_bytes_per_second);
        came.store(rate(sample.replication_in, before.replication_in), Relaxed);
        went.store(rate(sample.replication_out, before.replication_out), Relaxed);
        self.rates.loops_per_second.store(rate(sample.loops, before.loops), Relaxed);
        let loops = sample.loops.saturating_sub(before.loops);
        let took_us = sample.loop_ns.saturating_sub(before.loop_ns) / 1000;
        self.rates.loop_us.store(took_us.checked_div(loops).unwrap_or(0), Relaxed);
    }

    /// Removes keys whose time is over, for a share of the time. When that is used up, each shard that
    /// remains has one batch a database all the same.
    fn expire_cycle(&self) {
        let start = crate::clock::instant();
        let effort = self.config.hot.active_expire_effort.load(Relaxed).clamp(1, 10) as u64;
        let budget_us = 100_000 * (EXPIRE_SHARE_PERCENT + 2 * (effort - 1)) / 100;
        let (mut expired, mut missed) = (0, 0);
        for shard in 0..SHARDS {
            // Keys that come from another node expire there: what follows may give them another deadline.
            if self.cluster.migrations.hidden().of_shard(shard).next().is_some() {
                continue;
            }
            match self.expire_shard(shard, start, budget_us) {
                Some(count) => expired += count,
                None if missed == MISSED_MAX => break,
                None => missed += 1,
            }
        }
        let took = start.elapsed();
        if expired > 0 {
            self.rates.expire_time_us.fetch_add(took.as_micros() as u64, Relaxed);
            self.expired_actively.fetch_add(expired, Relaxed);
        }
        self.note_expire_latency(took.as_millis() as u64);
    }

    fn note_expire_latency(&self, took_ms: u64) {
        let threshold = self.config.hot.latency_monitor_threshold.load(Relaxed);
        if threshold > 0 && took_ms >= threshold as u64 {
            self.latency.record("expire-cycle", took_ms, crate::clock::wall_ms() / 1000);
        }
    }

    /// Expires keys of a shard; says how many, or None if the shard was not free.
    fn expire_shard(&self, shard: usize, start: Instant, budget_us: u64) -> Option<u64> {
        let mut expired = 0;
        loop {
            let (count, more) = self.expire_batch(shard, due_at(crate::clock::wall_ms()))?;
            expired += count as u64;
            if !more {
                return Some(expired);
            }
            if start.elapsed().as_micros() as u64 > budget_us {
                self.rates.expire_stopped_early.fetch_add(1, Relaxed);
                return Some(expired);
            }
        }
    }

    /// Expires up to a batch in each database of a shard; says whether there may be more. None if the shard was not free.
    fn expire_batch(&self, shard: usize, due_ms: u64) -> Option<(usize, bool)> {
        let mut invalidations = Invalidations::default();
        let mut data = self.shards.lock_soon(shard)?;
        // Who pauses writes waits until those who hold a shard have seen it.
        if self.pause.is_for_failover() {
            return Some((0, false));
        }
        let result = self.expire_in(&mut data, due_ms, &mut invalidations);
        drop(data);
        invalidations.send(self.receivers());
        Some(result)
    }

    fn expire_in(
        &self,
        data: &mut ShardData,
        due_ms: u64,
        invalidations: &mut Invalidations,
    ) -> (usize, bool) {
        let (mut count, mut more) = (0, false);
        for db in 0..data.tables().len() {
            let table = data.table_mut(db);
            if table.next_expiry_ms().is_none_or(|at| at > due_ms) {
                continue;
            }
            let mut gone: Vec<(Box<[u8]>, u64)> = Vec::new();
            let lazily = self.expires_lazily();
            let removed = table.take_expired(due_ms, EXPIRE_BATCH, |key, value| {
                gone.push((key.into(), earliest_of_removed(&value)));
                self.background.discard_owned(value, lazily);
            });
            for (name, first_field) in &gone {
                data.field_expiry.note(db, name, *first_field, NEVER);
                let removal = Removal { cause: Cause::Expired, db, key: self.key(name), speaker: None };
                self.removed_by_itself(data, &removal, due_ms, invalidations);
            }
            count += removed;
            more |= removed == EXPIRE_BATCH;
        }
        more |= self.expire_fields(data, due_ms, invalidations);
        (count, more)
    }

    /// Takes out up to a batch of fields in the hashes of a shard; says whether there may be more.
    fn expire_fields(&self, data: &mut ShardData, due_ms: u64, invalidations: &mut Invalidations) -> bool {
        let mut left = EXPIRE_BATCH;
        while left > 0 {
            let Some((db, name)) = data.field_expiry.pop_due(due_ms) else { return false };
            let (key, table) = (self.key(&name), data.table_mut(db));
            let Some(mut value) = table.get_mut(key.hash, &name) else { continue };
            let Value::Hash(hash) = &mut *value else { continue };
            let mut gone: Vec<Box<[u8]>> = Vec::new();
            let taken = hash.take_due(due_ms, left, |field| gone.push(field.name().into()));
            let (is_empty, soonest) = (hash.is_empty(), hash.soonest());
            drop(value);
            left -= taken;
            self.rates.expired_fields.fetch_add(taken as u64, Relaxed);
            if is_empty {
                table.remove(key.hash, &name);
            }
            data.field_expiry.note(db, &name, NEVER, soonest);
            if taken > 0 {
                if self.append_log.wants_effects() {
                    let words: Vec<&[u8]> =
                        [b"HDEL", &*name].into_iter().chain(gone.iter().map(|name| &**name)).collect();
                    self.append_log.append_one(db, &words, self.log_second(due_ms));
                }
                data.changed(&self.trackers, db, &key, 0, invalidations);
                self.notify(None, class::HASH, "hexpired", db, &name);
            }
            if taken > 0 && is_empty {
                self.notify(None, class::GENERIC, "del", db, &name);
            }
        }
        true
    }
}
