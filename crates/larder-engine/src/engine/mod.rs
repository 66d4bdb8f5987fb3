//! The engine: everything that the threads share.

pub(crate) mod acks;
mod closing;
mod failover;
mod imports;
pub(crate) mod notify;
pub(crate) mod removal;
pub(crate) mod replication;
#[cfg(debug_assertions)]
pub(crate) mod unit_check;
mod users;

use crate::acl::Acl;
use crate::aof::log::{AppendLog, Ends};
use crate::clients::pause::Pause;
use crate::clients::registrations::StaleRegistrations;
use crate::clients::registry::Clients;
use crate::clients::sums::ClientMemory;
use crate::cluster::ClusterState;
use crate::command::names::Names;
use crate::config::Config;
use crate::delivery::invalidations::Receivers;
use crate::delivery::mailbox::Mailboxes;
use crate::delivery::unblock::{deliver, reply_of};
use crate::error::{CommandError, CommandResult};
use crate::host::{Host, LogLevel};
use crate::keyspace::cold_state::ColdState;
use crate::keyspace::deferred::{Background, Work};
use crate::keyspace::defrag_state::DefragState;
use crate::keyspace::departures::Departures;
use crate::keyspace::key::Key;
use crate::keyspace::locks::{Busy, MayWait, ScriptTurn, Shards};
use crate::keyspace::waiting::{BlockedOp, Waiter};
use crate::ledger::NoShards;
use crate::persistence::availability::Gate;
use crate::persistence::state::Persistence;
use crate::pubsub::PubSub;
use crate::replication::state::Replication;
use crate::scripts::Scripts;
use crate::scripts::running::NOT_BUSY;
use crate::stats::command_log::CommandLogs;
use crate::stats::counters::{AllStats, Counter, ThreadStats};
use crate::stats::errors::ErrorStats;
use crate::stats::eviction::Eviction;
use crate::stats::latency::LatencyMonitor;
use crate::stats::walk_progress::WalkProgress;
use crate::throttle::Throttle;
use crate::tracking::Trackers;
use larder_cluster::HistoryId;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A keyspace of fewer keys is in the cache anyway.
const PREFETCH_KEYS_MIN: u64 = 20_000;

/// What an engine is made from.
pub struct EngineOptions {
    /// The options of the server.
    pub config: Arc<Config>,
    /// The process around the engine.
    pub host: Arc<dyn Host>,
    /// Number of workers that will be asked for.
    pub threads: usize,
    /// What commands are called.
    pub names: Names,
}

/// What the threads share. A server has one that clients see, and for a while others beside it: data that is
/// being loaded, and copies that scripts are debugged on. Programs with the library may have several.
pub struct Engine {
    pub(crate) config: Arc<Config>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) shards: Shards,
    pub(crate) stale: StaleRegistrations,
    pub(crate) acl: Arc<Acl>,
    pub(crate) clients: Clients,
    pub(crate) cluster: ClusterState,
    pub(crate) client_memory: ClientMemory,
    pub(crate) logs: CommandLogs,
    pub(crate) latency: LatencyMonitor,
    pub(crate) errors: ErrorStats,
    pub(crate) pause: Pause,
    /// Of HTTP requests that were refused.
    pub(crate) http_warning: Throttle,
    pub(crate) pubsub: PubSub,
    pub(crate) scripts: Scripts,
    pub(crate) trackers: Trackers,
    pub(crate) background: Background,
    pub(crate) cold: ColdState,
    pub(crate) defrag: DefragState,
    pub(crate) eviction: Eviction,
    pub(crate) append_log: AppendLog,
    pub(crate) gate: Gate,
    pub(crate) departures: Departures,
    /// What DEBUG has switched.
    pub(crate) debug: DebugSwitches,
    pub(crate) persistence: Persistence,
    /// Whether there is a snapshot.
    pub(crate) snapshotting: AtomicBool,
    pub(crate) started: Instant,
    pub(crate) started_wall_ms: u64,
    pub(crate) run_id: String,
    pub(crate) replication: Replication,
    /// DEBUG PAUSE-CRON.
    pub(crate) cron_paused: AtomicBool,
    startup_memory: u64,
    me: Weak<Engine>,
    /// DEBUG SET-DISABLE-DENY-SCRIPTS: scripts may call what they else may not.
    pub(crate) lax_scripts: AtomicBool,
    /// A copy of another engine's data, for a script that is debugged: there are no other clients.
    pub(crate) is_copy: bool,
    pub(crate) threads: usize,
    /// What commands are called.
    pub(crate) names: Names,
    pub(crate) rates: crate::stats::rates::Rates,
    /// Of MEMORY ANATOMY.
    pub(crate) anatomy: Arc<WalkProgress>,
    pub(crate) mailboxes: Mailboxes,
    /// Clients that have killed the script which runs, and wait for its end.
    pub(crate) script_killers: Mutex<Vec<Arc<Waiter>>>,
    pub(crate) stats: AllStats,
    next_client: AtomicU64,
    /// What checks units, if they are checked.
    #[cfg(debug_assertions)]
    pub(crate) unit_check: std::sync::OnceLock<Box<dyn unit_check::UnitCheck>>,
    pub(crate) expired_actively: AtomicU64,
    /// Number of keys when it was last counted.
    pub(crate) key_count: AtomicU64,
}

/// What DEBUG has switched, for tests.
#[derive(Default)]
pub(crate) struct DebugSwitches {
    /// Since the start of the server; 0 while it is awake.
    asleep_until_us: AtomicU64,
    pub(crate) flush_sleep_us: AtomicU64,
    pub(crate) skips_checksums: AtomicBool,
    pub(crate) compresses_always: AtomicBool,
    pub(crate) moves_always: AtomicBool,
}

impl Engine {
    /// An engine with an empty keyspace, and the work of its background threads, which are not started. `is_copy`: see
    /// [`Engine::is_copy`].
    pub(crate) fn build(options: EngineOptions, acl: Arc<Acl>, is_copy: bool) -> (Arc<Engine>, Work) {
        let startup_memory = options.host.memory().used;
        let gate = Gate::default();
        let is_clustered = options.config.is_yes("cluster-enabled");
        let databases = is_clustered.then(|| options.config.number("cluster-databases").max(1) as usize);
        // What is beside the data of a node is no node.
        let is_node = is_clustered && !is_copy;
        if is_node {
            gate.set_cluster();
        }
        let (background, work) = Background::new(options.threads);
        if !is_copy {
            larder_collections::shapes::enable(options.config.hot.hash_shared_fields.load(Relaxed));
        }
        let engine = Arc::new_cyclic(|engine| Engine {
            acl,
            is_copy,
            config: options.config,
            host: options.host,
            shards: Shards::default(),
            stale: StaleRegistrations::default(),
            clients: Clients::default(),
            cluster: ClusterState::new(is_node, databases),
            client_memory: ClientMemory::default(),
            logs: CommandLogs::default(),
            latency: LatencyMonitor::default(),
            errors: ErrorStats::default(),
            pause: Pause::default(),
            http_warning: Throttle::default(),
            pubsub: PubSub::default(),
            scripts: Scripts::default(),
            trackers: Trackers::default(),
            background,
            cold: ColdState::default(),
            defrag: DefragState::default(),
            eviction: Eviction::default(),
            append_log: AppendLog::default(),
            gate,
            departures: Departures::default(),
            debug: DebugSwitches::default(),
            persistence: Persistence::default(),
            snapshotting: AtomicBool::new(false),
            started: crate::clock::instant(),
            started_wall_ms: crate::clock::wall_ms(),
            run_id: random_id(),
            replication: Replication::new(random_history()),
            cron_paused: AtomicBool::new(false),
            startup_memory,
            me: engine.clone(),
            lax_scripts: AtomicBool::new(false),
            threads: options.threads,
            names: options.names,
            rates: crate::stats::rates::Rates::default(),
            anatomy: Arc::default(),
            mailboxes: Mailboxes::default(),
            script_killers: Mutex::default(),
            stats: AllStats::default(),
            #[cfg(debug_assertions)]
            unit_check: std::sync::OnceLock::new(),
            next_client: AtomicU64::new(1),
            expired_actively: AtomicU64::new(0),
            key_count: AtomicU64::new(0),
        });
        engine.read_role();
        (engine, work)
    }

    /// The options of the server.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Keeps scripts from running until the turn is dropped. Waits for the one that runs, however long that takes.
    pub fn take_turn(&self, may_wait: &MayWait) -> ScriptTurn<'_> {
        self.shards.take_turn(may_wait)
    }

    /// Keeps scripts from running until the turn is dropped.
    ///
    /// # Errors
    /// A script runs for too long.
    pub fn try_take_turn(&self, no_shards: NoShards<'_>) -> Result<ScriptTurn<'_>, Busy> {
        self.shards.try_take_turn(no_shards)
    }

    /// Waits for a mutex that others hold while they wait for the turn or for shards.
    ///
    /// # Errors
    /// A script runs for too long.
    pub fn wait_for<'t, T>(
        &self,
        mutex: &'t Mutex<T>,
        no_shards: NoShards<'_>,
    ) -> Result<MutexGuard<'t, T>, Busy> {
        self.shards.wait_for(mutex, no_shards)
    }

    /// Whether large values whose time is over are freed in the background.
    pub(crate) fn expires_lazily(&self) -> bool {
        self.config.hot.lazyfree_lazy_expire.load(Relaxed)
    }

    /// Begins to log effects. `at_start` is called in the instant from which on everything is logged.
    pub fn start_log(&self, turn: &ScriptTurn<'_>, at_start: impl FnOnce(&AppendLog)) {
        let held = self.shards.lock_all(turn);
        at_start(&self.append_log);
        self.append_log.set_on(true);
        drop(held);
    }

    /// Logs no more.
    pub fn stop_log(&self, turn: &ScriptTurn<'_>) {
        let held = self.shards.lock_all(turn);
        self.append_log.set_on(false);
        drop(held);
    }

    /// The log is not kept any more: no reply is held back for what of it is not on the disk.
    pub fn log_is_over(&self) {
        let end = self.append_log.end();
        self.append_log.set_written(end);
        self.append_log.set_synced(end);
        self.serve_ack_waiters();
    }

    /// Everything in the log up to a position is on the disk: those who wait for that are told.
    pub fn log_is_safe(&self, position: u64) {
        self.append_log.set_synced(position);
        self.serve_ack_waiters();
    }

    /// Puts writes off from now on; those that have begun are done when this returns. But for those of a script that runs
    /// for too long: then the server ends without saving, or the thread that saves waits for it.
    pub fn close_gate(&self, no_shards: NoShards<'_>) {
        let held = self.shards.try_lock_all(no_shards);
        self.gate.set_closing(true);
        drop(held);
    }

    /// Bytes in use by the process.
    pub fn memory_in_use(&self) -> u64 {
        self.host.memory().used
    }

    /// The log of effects.
    pub fn append_log(&self) -> &AppendLog {
        &self.append_log
    }

    /// What may not be done at the moment.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// How saving and loading are going.
    pub fn persistence(&self) -> &Persistence {
        &self.persistence
    }

    /// Bytes that have come: from clients, the sources of slots among them, and from the primary.
    pub(crate) fn net_in(&self) -> u64 {
        self.sum(|stats| &stats.net_in) + self.replication.bytes_in.load(Relaxed)
    }

    /// Bytes that have gone to clients, replicas, and the targets of slots.
    pub(crate) fn net_out(&self) -> u64 {
        let to_nodes = &[&self.replication.bytes_out, &self.cluster.migrations.bytes_out];
        self.sum(|stats| &stats.net_out) + to_nodes.iter().map(|bytes| bytes.load(Relaxed)).sum::<u64>()
    }

    /// Changes to the keyspace since the server started.
    pub fn changes(&self) -> u64 {
        self.sum(|stats| &stats.dirty)
    }

    /// The second that the log is to note, if it notes times.
    pub(crate) fn log_second(&self, now_ms: u64) -> Option<u64> {
        self.config.hot.aof_timestamp_enabled.load(Relaxed).then_some(now_ms / 1000)
    }

    /// Forty hexadecimal digits that name this run of the server.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Primaries and replicas.
    pub fn replication(&self) -> &Replication {
        &self.replication
    }

    /// A new connection's id.
    pub fn next_client_id(&self) -> u64 {
        self.next_client.fetch_add(1, Relaxed)
    }

    /// Memory in use when the engine was made, in bytes.
    pub(crate) fn startup_memory(&self) -> u64 {
        self.startup_memory
    }

    /// About how many of the threads for long commands execute none at this moment: one of them may run a script, and others wait for its end.
    pub fn waiting_threads(&self) -> usize {
        self.shards.waiting_threads()
    }

    /// Wakes all workers to try again what they put off.
    pub fn retry_put_off(&self) {
        self.mailboxes.retry_all();
    }

    /// Has all workers try again what they have put aside, if some of it waits for a shard that has been let go.
    #[inline]
    pub(crate) fn retry_put_aside(&self) {
        if self.shards.has_let_go() {
            self.mailboxes.retry_all();
        }
    }

    /// Those who may want to know that keys have changed.
    pub(crate) fn receivers(&self) -> Receivers<'_> {
        Receivers { clients: &self.clients, trackers: &self.trackers, mailboxes: &self.mailboxes }
    }

    /// Calls `each` with the counters of every thread.
    pub(crate) fn each_stats(&self, each: impl FnMut(&ThreadStats)) {
        self.stats.each(each);
    }

    /// DEBUG SLEEP: every thread that serves clients stops for this long, and the caller as well.
    pub(crate) fn put_to_sleep(&self, time: Duration) {
        let until = self.started.elapsed().saturating_add(time);
        self.debug.asleep_until_us.fetch_max(until.as_micros().min(u128::from(u64::MAX)) as u64, Relaxed);
        self.sleep_along();
    }

    /// Waits while the server is asleep (DEBUG SLEEP). Threads call it when they begin a round.
    #[inline]
    pub fn sleep_along(&self) {
        let until_us = self.debug.asleep_until_us.load(Relaxed);
        if until_us != 0 {
            self.sleep_until(Duration::from_micros(until_us));
        }
    }

    #[cold]
    fn sleep_until(&self, until: Duration) {
        std::thread::sleep(until.saturating_sub(self.started.elapsed()));
        let until_us = until.as_micros() as u64;
        // Unless somebody has put it off meanwhile.
        let _ = self.debug.asleep_until_us.compare_exchange(until_us, 0, Relaxed, Relaxed);
    }

    /// Microseconds to wait before each write to the append-only file (DEBUG AOF-FLUSH-SLEEP).
    pub fn flush_sleep_us(&self) -> u64 {
        self.debug.flush_sleep_us.load(Relaxed)
    }

    /// Whether checksums of files and payloads do not matter (DEBUG SET-SKIP-CHECKSUM-VALIDATION).
    pub fn skips_checksums(&self) -> bool {
        self.debug.skips_checksums.load(Relaxed)
    }

    /// Nanoseconds that the first worker was not waiting for events.
    pub(crate) fn first_worker_ns(&self) -> u64 {
        self.stats.of(0).map_or(0, |stats| stats.loop_ns.get())
    }

    /// The sum of one counter over all threads.
    pub(crate) fn sum(&self, pick: impl Fn(&ThreadStats) -> &Counter) -> u64 {
        self.stats.sum(pick)
    }

    /// Commands that all workers have executed, since the start or CONFIG RESETSTAT.
    pub fn commands_processed(&self) -> u64 {
        self.sum(|stats| &stats.processed)
    }

    /// Whether the keyspace is too large for the cache, so that it pays to prefetch keys.
    #[inline]
    pub(crate) fn is_beyond_cache(&self) -> bool {
        self.key_count.load(Relaxed) >= PREFETCH_KEYS_MIN
    }

    /// A key with its hash.
    #[inline]
    pub(crate) fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        Key::of(bytes)
    }

    /// Writes to the server's log.
    pub fn log(&self, level: LogLevel, text: &str) {
        self.host.log(level, text);
    }

    /// Writes a warning to the server's log.
    pub fn log_warning(&self, text: &str) {
        self.log(LogLevel::Warning, text);
    }

    /// Itself, for those who may outlive it.
    pub(crate) fn weak(&self) -> Weak<Engine> {
        self.me.clone()
    }

    /// Whether scripts may call commands that they else may not.
    pub(crate) fn allows_denied_in_scripts(&self) -> bool {
        self.lax_scripts.load(Relaxed)
    }

    /// How long a script may run before others are told that they wait for it; `None` for as long as it likes.
    pub(crate) fn busy_after(&self) -> Option<Duration> {
        let limit_ms = u64::try_from(self.config.hot.busy_reply_threshold.load(Relaxed)).ok()?;
        (limit_ms > 0).then(|| Duration::from_millis(limit_ms))
    }

    /// Returns the error of a command that must not run while a script keeps others waiting.
    pub(crate) fn busy_error(&self) -> CommandError {
        self.scripts.running.busy_error(self.config.product())
    }

    /// A script keeps others waiting: they are told so from now on.
    pub(crate) fn begin_long_script(&self) {
        self.gate.set_busy(true);
        self.shards.set_busy(true);
    }

    /// The script that kept others waiting has ended.
    pub(crate) fn end_long_script(&self) {
        self.shards.set_busy(false);
        self.gate.set_busy(false);
        self.retry_put_off();
    }

    /// How long a script runs before it can be killed.
    pub(crate) fn killable_after(&self) -> Duration {
        self.busy_after().unwrap_or(KILLABLE_AFTER_MAX).min(KILLABLE_AFTER_MAX)
    }

    /// Kills the script for the clients that wait for its end, if it has run for long enough; refuses those that may not kill it.
    pub(crate) fn apply_script_kills(&self) {
        let least = self.killable_after();
        self.script_killers.lock().retain(|waiter| {
            let BlockedOp::ScriptEnd { function } = waiter.op else { return false };
            match self.scripts.running.kill(function, self.config.product(), least) {
                Ok(_) => true,
                Err(error) => {
                    self.answer_script_killer(waiter, Err(error));
                    false
                }
            }
        });
    }

    /// The script has ended: answers the clients that wait for that.
    pub(crate) fn answer_script_killers(&self, was_killed: bool) {
        for waiter in std::mem::take(&mut *self.script_killers.lock()) {
            self.answer_script_killer(&waiter, if was_killed { Ok(()) } else { Err(NOT_BUSY) });
        }
    }

    fn answer_script_killer(&self, waiter: &Waiter, result: CommandResult) {
        if waiter.take() {
            let reply = reply_of(&self.errors, waiter, b"+OK\r\n".to_vec(), result);
            deliver(&self.mailboxes, waiter, reply, Ends::NO_EFFECT);
        }
    }

    /// How far MEMORY ANATOMY is: keys looked at, and keys in all; `None` when nobody has asked for it.
    pub fn anatomy_progress(&self) -> Option<(u64, u64)> {
        self.anatomy.get()
    }

    /// Number of databases.
    pub fn database_count(&self) -> usize {
        let of_node = self.cluster.databases();
        of_node.unwrap_or_else(|| self.config.hot.databases.load(Relaxed).max(1) as usize)
    }
}

/// Scripts that have run for this long can be killed whatever `busy-reply-threshold` is.
const KILLABLE_AFTER_MAX: Duration = Duration::from_millis(100);

/// Forty random hexadecimal digits.
pub fn random_id() -> String {
    (0..40).map(|_| fastrand::digit(16)).collect()
}

/// Returns the name of a new history.
fn random_history() -> HistoryId {
    HistoryId::parse(random_id().as_bytes()).expect("it is forty digits")
}
