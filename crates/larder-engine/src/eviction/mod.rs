//! `maxmemory`: what happens before a command when too much memory is in use.
//!
//! As in Redis, the keys that go come from samples; unlike there, a sample is a whole segment of the key table: some 80 keys
//! that lie side by side and are a random choice, since tables are ordered by hash. So many keys are looked at for one that
//! goes as `maxmemory-samples` says, and the worst of a segment go at once ([`sweep`]). Where segments are too small for
//! that, the best candidates wait in a [`pool`] for their turn. Every worker sweeps and evicts for itself before its commands,
//! with no shard held but the one of the keys that go.
//!
//! - How much memory is in use: [`meter`]. Not counted are keys that were evicted but which a snapshot still needs, values on
//!   their way to the thread that frees them, and what grows with every eviction: the buffers of the append-only file, and
//!   messages on their way to those who are told of it. Else eviction would go on until nothing is left: a message may be
//!   larger than the key of which it tells.
//! - A command evicts for `maxmemory-eviction-tenacity`'s time at most and is then executed though there is too much in use:
//!   the next commands and the timer go on. It is refused only if nothing can be evicted.
//!
//! Figures and rejected designs: `docs/design/eviction.md`. Tested by `tests/eviction.rs` of the server: limits, accuracy
//! beside redis-server, effects.

pub(crate) mod meter;
mod pool;
mod sweep;

use crate::access::AccessRules;
use crate::command::{Command, Found, flags};
use crate::config::MAXMEMORY_POLICIES;
use crate::context::{Context, WorkerState, soonest_field};
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::field_expiry::NEVER;
use crate::host::LogLevel;
use crate::notify::class;
use crate::scripting::CopiedBytes;
use crate::session::Session;
use crate::shard::{Key, ShardData, Table};
use crate::tracking::Invalidations;
use larder_collections::key_table::{Entry, OwnedValue, ValueRef};
use larder_collections::value::Value;
use meter::{Growth, Meter};
use parking_lot::Mutex;
use pool::{Candidate, Policy, Pool};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use sweep::{Look, Rounds, Sweep};

/// Who evicts makes so much more room than it must: several evictions in a row cost less than one at a time.
const AHEAD_BYTES: u64 = 4 << 10;
/// Evictions between two looks at the clock.
const EVICTIONS_PER_LOOK: usize = 16;
/// How long the timer evicts at a time.
const TIMER_SHARE: Duration = Duration::from_millis(60);

/// Too much memory is in use, and nothing can be evicted.
pub(crate) const OUT_OF_MEMORY: CommandError =
    CommandError::Fixed("OOM command not allowed when used memory > 'maxmemory'.");

/// What the threads share of eviction.
#[derive(Default)]
pub(crate) struct Eviction {
    pub(crate) meter: Meter,
    /// Keys evicted.
    pub(crate) evicted_keys: AtomicU64,
    /// Bytes of evicted keys that a snapshot keeps.
    kept_aside: AtomicI64,
    /// Bytes of the data that scripts are debugged on.
    pub(crate) copies: CopiedBytes,
    /// Bytes of evicted values that wait to be freed.
    in_flight: AtomicI64,
    /// Microseconds since the engine started when there began to be too much; 0 when there is not.
    exceeded_since_us: AtomicU64,
    /// Microseconds for which there was too much before.
    exceeded_us: AtomicU64,
    rounds: Rounds,
    /// For the timer.
    timer: Mutex<Evictor>,
}

/// One thread's part.
#[derive(Default)]
pub(crate) struct Evictor {
    pub(crate) growth: Growth,
    pool: Pool,
    /// The policy, behind the number by which the configuration knows it.
    policy: Option<(i64, Option<Policy>)>,
    rng: fastrand::Rng,
    sweep: Sweep,
    /// Keys of the pool that may be evicted before more are looked at.
    credit: usize,
    /// Before the last command too much memory was in use, and nothing could be evicted.
    pub(crate) is_out_of_memory: bool,
}

/// The circumstances of an eviction.
struct Turn<'e> {
    engine: &'e Engine,
    rules: AccessRules,
    /// How long it may take; `None` is for as long as it takes.
    time: Option<Duration>,
    /// The wall clock.
    now_ms: u64,
    /// The engine's monotonic clock.
    mono_ms: u64,
    /// The worker that evicts, if one does.
    from: Option<usize>,
}

/// How far eviction came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Memory in use is below the limit.
    Below,
    /// It is not, but the time is over.
    Unfinished,
    /// There is nothing to evict.
    Nothing,
}

/// To be called before a command, with no shard held: evicts what exceeds `maxmemory`. An error says that too much memory is
/// in use and nothing can be evicted: commands with `DENYOOM`, and writes of scripts, are to be refused with it.
#[inline]
pub(crate) fn make_room(engine: &Engine, worker: &mut WorkerState) -> Result<(), CommandError> {
    if !worker.evictor.is_over(engine, &worker.invalidations) {
        return Ok(());
    }
    make_room_now(engine, worker)
}

/// [`make_room`] before a command of a client, which is refused if it might use more memory and there is none. Inside MULTI
/// everything is that is not the end of it, since queues grow.
#[inline]
pub(crate) fn before_command(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &Session,
    found: Found,
) -> CommandResult {
    if engine.config.hot.maxmemory.load(Relaxed) == 0 {
        worker.evictor.is_out_of_memory = false;
        return Ok(());
    }
    // While a script takes its time nothing may wait for a shard: this thread may be the one that runs it.
    if session.replays || engine.gate.is_busy() {
        return Ok(());
    }
    let room = make_room(engine, worker);
    worker.evictor.is_out_of_memory = room.is_err();
    match room {
        Err(error) if needs_room(session, found.command) => Err(error),
        _ => Ok(()),
    }
}

#[cold]
fn needs_room(session: &Session, command: &Command) -> bool {
    let Some(queue) = &session.multi else { return command.has(flags::DENYOOM) };
    match command.name {
        "exec" => queue.needs_room(),
        _ => command.has(flags::DENYOOM),
    }
}

/// CONFIG SET has changed the limit: keeps to it at once, as far as the time allows.
pub(crate) fn limit_was_set(context: &mut Context<'_>) {
    let engine = context.engine;
    let limit = engine.config.hot.maxmemory.load(Relaxed);
    let used = context.worker.evictor.growth.read(engine, engine.mono_ms());
    if limit == 0 || used <= limit {
        return;
    }
    let line = format!(
        "The new maxmemory of {limit} bytes is below the {used} bytes in use: keys will be evicted, or writes refused, as \
         maxmemory-policy says."
    );
    engine.host.log(LogLevel::Warning, &line);
    if context.held.is_none() {
        let _ = make_room(engine, context.worker);
    }
}

#[cold]
fn make_room_now(engine: &Engine, worker: &mut WorkerState) -> Result<(), CommandError> {
    if engine.pause.state(worker.clock.wall_ms()).is_some() {
        return Ok(());
    }
    // Connections make room before keys do.
    engine.limit_clients();
    let time = tenacity(engine.config.hot.maxmemory_eviction_tenacity.load(Relaxed));
    let turn = Turn {
        engine,
        rules: worker.access,
        time,
        now_ms: worker.clock.wall_ms(),
        mono_ms: worker.clock.mono_ms(),
        from: Some(worker.index),
    };
    match worker.evictor.run(&turn, &mut worker.invalidations) {
        Outcome::Nothing => Err(OUT_OF_MEMORY),
        Outcome::Below | Outcome::Unfinished => Ok(()),
    }
}

/// How long a command may evict: `None` is for as long as it takes.
fn tenacity(percent: i64) -> Option<Duration> {
    match percent {
        ..=10 => Some(Duration::from_micros(50 * percent.max(0) as u64)),
        11..=99 => Some(Duration::from_micros((500.0 * 1.15_f64.powi(percent as i32 - 10)) as u64)),
        _ => None,
    }
}

impl Engine {
    /// Reads how much memory is in use, and evicts if it is too much. For the timer, with no shard held.
    pub(crate) fn check_memory(&self) {
        let mut evictor = self.eviction.timer.lock();
        self.note_memory(evictor.growth.read(self, self.mono_ms()));
        let mut told = Invalidations::default();
        if !evictor.is_over(self, &told) || self.gate.is_loading() {
            self.eviction.note_below(self);
            return;
        }
        if self.pause.state(crate::clock::wall_ms()).is_none() {
            let turn = Turn {
                engine: self,
                rules: AccessRules::load(&self.config.hot),
                time: Some(TIMER_SHARE),
                now_ms: crate::clock::wall_ms(),
                mono_ms: self.mono_ms(),
                from: None,
            };
            evictor.run(&turn, &mut told);
            told.send(self);
        }
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
    /// debugged on, the log's buffers, messages on their way, and what connections are about to let go.
    pub(crate) fn bytes_not_counted(&self) -> u64 {
        self.eviction.kept_aside.load(Relaxed).max(0) as u64
            + self.eviction.copies.load(Relaxed).max(0) as u64
            + self.append_log.buffer_bytes()
            + self.mail_bytes()
            + self.leaving_client_bytes()
    }

    fn mono_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn mono_ms(&self) -> u64 {
        self.mono_us() / 1000
    }
}

impl Eviction {
    /// Milliseconds for which there was too much memory in use: ever, and now.
    pub(crate) fn exceeded_ms(&self, engine: &Engine) -> (u64, u64) {
        let since = self.exceeded_since_us.load(Relaxed);
        let now = if since == 0 { 0 } else { engine.mono_us().saturating_sub(since) };
        ((self.exceeded_us.load(Relaxed) + now) / 1000, now / 1000)
    }

    /// What CONFIG RESETSTAT forgets.
    pub(crate) fn reset(&self) {
        self.evicted_keys.store(0, Relaxed);
        self.exceeded_us.store(0, Relaxed);
        self.exceeded_since_us.store(0, Relaxed);
    }

    /// An evicted value was freed, and the thread that did it has shared what it gained.
    pub(crate) fn landed(&self, bytes: u64) {
        self.in_flight.fetch_sub(bytes as i64, Relaxed);
    }

    fn note_below(&self, engine: &Engine) {
        if self.exceeded_since_us.load(Relaxed) != 0 {
            let since = self.exceeded_since_us.swap(0, Relaxed);
            if since != 0 {
                self.exceeded_us.fetch_add(engine.mono_us().saturating_sub(since), Relaxed);
            }
        }
    }

    fn note_exceeded(&self, engine: &Engine) {
        let _ = self.exceeded_since_us.compare_exchange(0, engine.mono_us().max(1), Relaxed, Relaxed);
    }
}

impl Evictor {
    /// Whether more is in use than `maxmemory` allows. The limit is read each time: it may be changed, or taken away, while
    /// somebody evicts.
    #[inline]
    fn is_over(&mut self, engine: &Engine, told: &Invalidations) -> bool {
        self.excess(engine, 0, told) > 0
    }

    /// Shares by how much the thread has made memory grow, if there is a limit. For when that is not by commands, before
    /// which it is done anyway.
    pub(crate) fn note_growth(&mut self, engine: &Engine) {
        if engine.config.hot.maxmemory.load(Relaxed) != 0 {
            self.growth.used(engine);
        }
    }

    /// How many bytes are in use beyond `maxmemory`, less `ahead`; 0 or less when the limit is kept. `told` is what the
    /// thread has not sent yet.
    #[inline]
    fn excess(&mut self, engine: &Engine, ahead: u64, told: &Invalidations) -> i64 {
        let limit = engine.config.hot.maxmemory.load(Relaxed);
        if limit == 0 {
            return 0;
        }
        let limit = limit.saturating_sub(ahead).min(i64::MAX as u64) as i64;
        let excess = self.growth.used(engine) - limit;
        if excess <= 0 {
            return excess;
        }
        let not_counted = engine.bytes_not_counted() + told.memory_bytes() as u64;
        excess - engine.eviction.in_flight.load(Relaxed) - not_counted as i64
    }

    /// Evicts until the limit is kept, the time is over, or nothing is left.
    fn run(&mut self, turn: &Turn<'_>, told: &mut Invalidations) -> Outcome {
        let (engine, shared) = (turn.engine, &turn.engine.eviction);
        if shared.meter.wants_reading(turn.mono_ms) {
            self.growth.read(engine, turn.mono_ms);
            if !self.is_over(engine, told) {
                return Outcome::Below;
            }
        }
        let threshold_ms = engine.config.hot.latency_monitor_threshold.load(Relaxed);
        let start = (threshold_ms > 0).then(Instant::now);
        let outcome = self.evict_while_over(turn, told);
        match outcome {
            Outcome::Below => shared.note_below(engine),
            Outcome::Unfinished | Outcome::Nothing => shared.note_exceeded(engine),
        }
        if let Some(start) = start {
            let took_ms = start.elapsed().as_millis() as u64;
            if took_ms >= threshold_ms as u64 {
                engine.latency.record("eviction-cycle", took_ms, turn.now_ms / 1000);
            }
        }
        outcome
    }

    fn evict_while_over(&mut self, turn: &Turn<'_>, told: &mut Invalidations) -> Outcome {
        let engine = turn.engine;
        let mut start = None;
        let (mut evicted, mut unlooked) = (0, 0);
        let mut excess = self.excess(engine, AHEAD_BYTES, told);
        let outcome = loop {
            let gone = self.policy(engine).map_or(0, |policy| self.evict_some(turn, policy, excess, told));
            if gone == 0 {
                break if self.is_over(engine, told) { Outcome::Nothing } else { Outcome::Below };
            }
            evicted += gone;
            unlooked += gone;
            excess = self.excess(engine, AHEAD_BYTES, told);
            if excess <= 0 {
                break Outcome::Below;
            }
            // The clock is looked at for the first time after some evictions: mostly they are enough.
            if unlooked >= EVICTIONS_PER_LOOK {
                unlooked = 0;
                let spent = start.get_or_insert_with(Instant::now).elapsed();
                if turn.time.is_some_and(|time| spent >= time) {
                    break Outcome::Unfinished;
                }
                let now_ms = turn.mono_ms + spent.as_millis() as u64;
                if engine.eviction.meter.wants_reading(now_ms) {
                    self.growth.read(engine, now_ms);
                }
            }
        };
        engine.eviction.evicted_keys.fetch_add(evicted as u64, Relaxed);
        outcome
    }

    /// The policy as configured.
    #[inline]
    fn policy(&mut self, engine: &Engine) -> Option<Policy> {
        let number = engine.config.hot.maxmemory_policy.load(Relaxed);
        match self.policy {
            Some((known, policy)) if known == number => policy,
            _ => {
                let name = MAXMEMORY_POLICIES.iter().find(|(_, known)| *known == number);
                let policy = name.and_then(|(name, _)| Policy::of_name(name));
                self.policy = Some((number, policy));
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
        told: &mut Invalidations,
    ) -> usize {
        loop {
            if self.credit == 0 || self.pool.is_empty() {
                match self.look(turn, policy, goal_bytes.max(1), told) {
                    Look::Candidates => {}
                    Look::Evicted(keys) => return keys,
                    Look::Nothing => return 0,
                }
            }
            let Some(candidate) = self.pool.pop() else { return 0 };
            self.credit -= 1;
            let is_gone = evict(turn, &candidate, told);
            self.pool.reuse(candidate);
            if is_gone {
                return 1;
            }
        }
    }
}

/// Evicts a candidate if nobody has used it meanwhile, and tells everybody concerned.
fn evict(turn: &Turn<'_>, candidate: &Candidate, told: &mut Invalidations) -> bool {
    let (engine, key, db) = (turn.engine, candidate.key(), candidate.db);
    let Ok(mut data) = engine.shards.try_lock_one(key.shard()) else { return false };
    let table = data.table_mut(db);
    let Some(entry) = table.get(key.hash, key.bytes).filter(|entry| candidate.is_still(entry)) else {
        return false;
    };
    if table.would_keep(key.hash) {
        engine.eviction.kept_aside.fetch_add(cost(&entry) as i64, Relaxed);
    }
    let Some(removed) = table.remove(key.hash, key.bytes) else { return false };
    if let OwnedValue::Out(value) = &removed.value {
        data.field_expiry.note(db, key.bytes, soonest_field(value), NEVER);
    }
    tell(turn, &mut data, db, &key, told);
    drop(data);
    if let OwnedValue::Out(value) = removed.value {
        free(engine, value);
    }
    true
}

/// Whether somebody is to hear of evicted keys of a shard, or the log.
fn is_noticed(engine: &Engine, data: &ShardData) -> bool {
    data.notes_changes(engine)
        || !data.waiting.is_empty()
        || engine.wants_events(class::EVICTED)
        || engine.append_log.is_on()
}

/// Tells everybody concerned that a key was evicted.
fn tell(turn: &Turn<'_>, data: &mut ShardData, db: usize, key: &Key<'_>, told: &mut Invalidations) {
    let engine = turn.engine;
    data.changed(engine, db, key, 0, told);
    crate::serve::stream_is_gone(engine, &data.waiting, db, key.bytes);
    engine.notify(turn.from, class::EVICTED, "evicted", db, key.bytes);
    if engine.append_log.is_on() {
        let lazily = engine.config.hot.lazyfree_lazy_eviction.load(Relaxed);
        let name: &[u8] = if lazily { b"UNLINK" } else { b"DEL" };
        engine.append_log.append_one(db, &[name, key.bytes], engine.log_second(turn.now_ms));
    }
}

/// Bytes of a key and its value, from a few samples of a big one.
fn cost(entry: &Entry<'_, Value>) -> u64 {
    let own = match entry.value() {
        ValueRef::Inline { .. } => 0,
        ValueRef::Out(value) => value.memory_bytes(5),
    };
    Table::entry_bytes(*entry) as u64 + own
}

/// Frees a value here, or in the background if that takes long and may be; its bytes then count as free already.
fn free(engine: &Engine, value: Value) {
    if !engine.config.hot.lazyfree_lazy_eviction.load(Relaxed) || !engine.background.would_take(&value) {
        return;
    }
    let bytes = value.memory_bytes(5);
    engine.eviction.in_flight.fetch_add(bytes as i64, Relaxed);
    engine.background.discard_evicted(value, bytes);
}
