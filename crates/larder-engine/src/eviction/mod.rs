//! `maxmemory`: what happens before a command when too much memory is in use.
//!
//! As in Redis, the keys that go come from samples; unlike there, a sample is a whole segment of the key table: some 80 keys
//! that lie side by side and are a random choice, since tables are ordered by hash. This many keys are looked at for one that
//! goes as `maxmemory-samples` says, and the worst of a segment go at once ([`sweep`]). Where segments are too small for
//! that, the best candidates wait in a [`pool`] for their turn. Every worker sweeps and evicts for itself before its commands,
//! with no shard held but the one of the keys that go.
//!
//! - How much memory is in use: [`memory_meter`](crate::stats::memory_meter). Not counted are keys that were
//!   evicted but which a snapshot still needs, values on their way to the thread that frees them, copies that
//!   scripts are debugged on, what connections are about to let go, and what grows with every eviction: the
//!   buffers of the append-only file, and messages on their way to those who are told of it. Else eviction
//!   would go on until nothing is left: a message may be larger than the key of which it tells.
//! - A command evicts for `maxmemory-eviction-tenacity`'s time at most and is then executed though there is too much in use:
//!   the next commands and the timer go on. Until the next round of the worker's event loop, commands only make as much room as has
//!   been taken meanwhile: who lowers the limit does not delay those who wait by that time each. A command is refused only if nothing can be evicted.
//!
//! Figures and rejected designs: `docs/design/eviction.md`. Tested by `tests/eviction.rs` of the server: limits, accuracy
//! beside redis-server, effects.

mod pool;
mod sweep;
mod turn;

pub(crate) use turn::Turn;

use crate::config::MaxmemoryPolicy;
use crate::delivery::invalidations::Invalidations;
use crate::engine::Engine;
use crate::keyspace::access::AccessRules;
use crate::keyspace::field_expiry::{NEVER, earliest_of_removed};
use crate::stats::memory_meter::{Growth, share_growth};
use larder_collections::key_table::OwnedValue;
use pool::{Candidate, Policy, Pool};
use std::sync::atomic::Ordering::Relaxed;
use sweep::{Look, Sweep};
use turn::{cost, free, tell};

/// Who evicts makes this much more room than it must: several evictions in a row cost less than one at a
/// time.
const AHEAD_BYTES: u64 = 4 << 10;
/// Evictions between two looks at the clock.
const EVICTIONS_PER_LOOK: usize = 16;
/// Candidates that cannot be had at this moment after which no more are asked for: the others may be reserved as well.
const PASSED_MAX: usize = 64;

/// One thread's part.
#[derive(Default)]
pub(crate) struct Evictor {
    pub(crate) growth: Growth,
    pool: Pool,
    /// The choice of the configuration, and the policy that follows from it.
    policy: Option<(MaxmemoryPolicy, Option<Policy>)>,
    rng: fastrand::Rng,
    sweep: Sweep,
    /// Keys of the pool that may be evicted before more are looked at.
    credit: usize,
    /// Before the last command too much memory was in use, and nothing could be evicted.
    pub(crate) is_out_of_memory: bool,
    /// By how much the limit was exceeded when the time of this round of a worker's event loop was over.
    left_over: Option<i64>,
}

/// How far eviction came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Memory in use is below the limit.
    Below,
    /// It is not, but the time is over.
    Unfinished,
    /// There is nothing to evict.
    Nothing,
}

impl Engine {
    /// Tells by how much the calling thread has made memory grow. For threads that are no workers, whenever they have
    /// freed or taken much; what they do not tell is known a little later.
    pub fn share_growth(&self) {
        share_growth(&self.eviction.meter, &*self.host);
    }

    /// What an access word says: the seconds since the last use, or the counter of uses, as the policy counts.
    pub fn usage(&self, access: u32) -> (Option<u64>, Option<u8>) {
        let (rules, now_s) = (AccessRules::load(&self.config.hot), crate::clock::wall_s());
        if rules.counts {
            (None, Some(rules.counter(access, now_s) as u8))
        } else {
            (Some(u64::from(rules.idle_s(access, now_s))), None)
        }
    }

    /// A snapshot has ended: what it kept is gone.
    pub(crate) fn forget_kept_aside(&self) {
        self.eviction.kept_aside.store(0, Relaxed);
    }

    /// Bytes in use that are not counted against the limit: evicted keys that a snapshot keeps, copies that scripts are
    /// debugged on, the log's buffers, what of the stream replicas still have to get, messages on their way, and what connections are about to let go.
    pub(crate) fn bytes_not_counted(&self) -> u64 {
        self.eviction.kept_aside.load(Relaxed).max(0) as u64
            + self.eviction.copies.load(Relaxed).max(0) as u64
            + self.append_log.buffer_bytes()
            + self.append_log.beyond_backlog()
            + self.mailboxes.bytes()
            + self.leaving_client_bytes()
    }

    pub(crate) fn mono_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    pub(crate) fn mono_ms(&self) -> u64 {
        self.mono_us() / 1000
    }
}

impl Evictor {
    /// A round of the worker's event loop is over: the next one may take its time.
    pub(crate) fn end_round(&mut self) {
        self.left_over = None;
    }

    /// Reads how much memory is in use.
    pub(crate) fn read_growth(&mut self, engine: &Engine) -> u64 {
        self.growth.read(&engine.eviction.meter, &*engine.host, engine.mono_ms())
    }

    /// Whether more is in use than `maxmemory` allows. The limit is read each time: it may be changed, or taken away, while
    /// somebody evicts.
    #[inline]
    pub(crate) fn is_over(&mut self, engine: &Engine, invalidations: &Invalidations) -> bool {
        self.excess(engine, 0, invalidations) > 0
    }

    /// Shares by how much the thread has made memory grow, if there is a limit. For when that is not by commands, before
    /// which it is done anyway.
    pub(crate) fn note_growth(&mut self, engine: &Engine) {
        if engine.config.hot.maxmemory.load(Relaxed) != 0 {
            self.growth.used(&engine.eviction.meter, &*engine.host);
        }
    }

    /// How many bytes are in use beyond `maxmemory`, less `ahead`; 0 or less when the limit is kept. `told` is what the
    /// thread has not sent yet.
    #[inline]
    fn excess(&mut self, engine: &Engine, ahead: u64, invalidations: &Invalidations) -> i64 {
        let limit = engine.config.hot.maxmemory.load(Relaxed);
        if limit == 0 {
            return 0;
        }
        let limit = limit.saturating_sub(ahead).min(i64::MAX as u64) as i64;
        let excess = self.growth.used(&engine.eviction.meter, &*engine.host) - limit;
        if excess <= 0 {
            return excess;
        }
        let not_counted = engine.bytes_not_counted() + invalidations.memory_bytes() as u64;
        excess - engine.eviction.in_flight.load(Relaxed) - not_counted as i64
    }

    /// Evicts until the limit is kept, the time is over, or nothing is left. Connections make room before keys do.
    pub(crate) fn run(&mut self, turn: &Turn<'_>, invalidations: &mut Invalidations) -> Outcome {
        let (engine, shared) = (turn.engine, &turn.engine.eviction);
        let most = self.left_over.filter(|_| turn.time.is_some()).unwrap_or(0);
        if most > 0 && self.excess(engine, 0, invalidations) <= most {
            return Outcome::Unfinished;
        }
        if engine.limit_clients() && !self.is_over(engine, invalidations) {
            return Outcome::Below;
        }
        // The keys that are being imported are the other server's to evict.
        if engine.config.hot.import_mode.load(Relaxed) && !engine.replication.is_replica() {
            return Outcome::Nothing;
        }
        if shared.meter.wants_reading(turn.mono_ms) {
            self.growth.read(&engine.eviction.meter, &*engine.host, turn.mono_ms);
            if !self.is_over(engine, invalidations) {
                return Outcome::Below;
            }
        }
        let threshold_ms = engine.config.hot.latency_monitor_threshold.load(Relaxed);
        let start = (threshold_ms > 0).then(crate::clock::instant);
        let outcome = self.evict_while_over(turn, most, invalidations);
        if outcome == Outcome::Unfinished && turn.from.is_some() {
            self.left_over = Some(self.excess(engine, 0, invalidations).max(0));
        }
        match outcome {
            Outcome::Below => shared.note_below(engine.mono_us()),
            Outcome::Unfinished | Outcome::Nothing => shared.note_exceeded(engine.mono_us()),
        }
        if let Some(start) = start {
            let took_ms = start.elapsed().as_millis() as u64;
            if took_ms >= threshold_ms as u64 {
                engine.latency.record("eviction-cycle", took_ms, turn.now_ms / 1000);
            }
        }
        outcome
    }

    /// Evicts until the limit is exceeded by `most` bytes at most.
    fn evict_while_over(&mut self, turn: &Turn<'_>, most: i64, invalidations: &mut Invalidations) -> Outcome {
        let engine = turn.engine;
        let mut start = None;
        let (mut evicted, mut unlooked) = (0, 0);
        self.sweep.has_passed = false;
        let mut excess = self.excess(engine, AHEAD_BYTES, invalidations);
        let outcome = loop {
            let goal = excess - most;
            let gone =
                self.policy(engine).map_or(0, |policy| self.evict_some(turn, policy, goal, invalidations));
            if turn.must_stop() {
                break Outcome::Unfinished;
            }
            if gone == 0 {
                break match self.is_over(engine, invalidations) {
                    true if self.sweep.has_passed => Outcome::Unfinished,
                    true => Outcome::Nothing,
                    false => Outcome::Below,
                };
            }
            evicted += gone;
            unlooked += gone;
            excess = self.excess(engine, AHEAD_BYTES, invalidations);
            if excess <= most {
                break if most == 0 { Outcome::Below } else { Outcome::Unfinished };
            }
            // The clock is looked at for the first time after some evictions: mostly they are enough.
            if unlooked >= EVICTIONS_PER_LOOK {
                unlooked = 0;
                let spent = start.get_or_insert_with(crate::clock::instant).elapsed();
                if turn.time.is_some_and(|time| spent >= time) {
                    break Outcome::Unfinished;
                }
                let now_ms = turn.mono_ms + spent.as_millis() as u64;
                if engine.eviction.meter.wants_reading(now_ms) {
                    self.growth.read(&engine.eviction.meter, &*engine.host, now_ms);
                }
            }
        };
        engine.eviction.evicted_keys.fetch_add(evicted as u64, Relaxed);
        outcome
    }

    /// The policy as configured.
    #[inline]
    fn policy(&mut self, engine: &Engine) -> Option<Policy> {
        let choice = engine.config.hot.maxmemory_policy.get();
        match self.policy {
            Some((known, policy)) if known == choice => policy,
            _ => {
                let policy = Policy::of(choice);
                self.policy = Some((choice, policy));
                self.pool.clear();
                policy
            }
        }
    }

    /// Evicts some keys, of which those with big values are not more than `goal_bytes` ask for; returns how many: 0 when there
    /// is none to evict.
    fn evict_some(
        &mut self,
        turn: &Turn<'_>,
        policy: Policy,
        goal_bytes: i64,
        invalidations: &mut Invalidations,
    ) -> usize {
        let mut passed = 0;
        loop {
            if turn.must_stop() || passed > PASSED_MAX {
                return 0;
            }
            if self.credit == 0 || self.pool.is_empty() {
                match self.sweep.look(
                    turn,
                    policy,
                    goal_bytes.max(1),
                    &mut self.pool,
                    &mut self.rng,
                    invalidations,
                ) {
                    Look::Candidates(credit) => self.credit = credit,
                    Look::Evicted(keys) => return keys,
                    Look::Nothing => return 0,
                }
            }
            let Some(candidate) = self.pool.pop() else { return 0 };
            self.credit -= 1;
            let outcome = evict(turn, &candidate, invalidations);
            self.pool.reuse(candidate);
            match outcome {
                Evicted::Yes => return 1,
                Evicted::No => {}
                Evicted::NotNow => {
                    self.sweep.has_passed = true;
                    passed += 1;
                }
            }
        }
    }
}

/// What has become of a candidate.
enum Evicted {
    Yes,
    /// It has been used meanwhile, or is gone.
    No,
    /// Somebody holds its shard, or has reserved it.
    NotNow,
}

/// Evicts a candidate if nobody has used it meanwhile, and tells everybody concerned.
fn evict(turn: &Turn<'_>, candidate: &Candidate, invalidations: &mut Invalidations) -> Evicted {
    let (engine, key, db) = (turn.engine, candidate.key(), candidate.db);
    // Nobody need wait for the shard of this candidate: there are others.
    let Some(mut data) = engine.shards.lock_lent_soon(key.shard()) else { return Evicted::NotNow };
    if data.reserved.has(key.hash) {
        return Evicted::NotNow;
    }
    if turn.must_stop() {
        return Evicted::No;
    }
    // It may have gone and come again, from another node.
    if engine.cluster.migrations.hidden().hides(key.bytes) {
        return Evicted::No;
    }
    let table = data.table_mut(db);
    let Some(entry) = table.get(key.hash, key.bytes).filter(|entry| candidate.is_still(entry)) else {
        return Evicted::No;
    };
    if table.would_keep(key.hash) {
        engine.eviction.kept_aside.fetch_add(cost(&entry) as i64, Relaxed);
    }
    let Some(removed) = table.remove(key.hash, key.bytes) else { return Evicted::No };
    data.field_expiry.note(db, key.bytes, earliest_of_removed(&removed.value), NEVER);
    tell(turn, &mut data, db, &key, invalidations);
    drop(data);
    if let OwnedValue::Out(value) = removed.value {
        free(engine, value);
    }
    Evicted::Yes
}
