//! The engine: everything that the threads share.

use crate::acl::Acl;
use crate::append_log::AppendLog;
use crate::background::Background;
use crate::client_memory::ClientMemory;
use crate::clients::Clients;
use crate::commandlog::CommandLogs;
use crate::config::Config;
use crate::departures::Departures;
use crate::error_stats::ErrorStats;
use crate::eviction::Eviction;
use crate::gate::Gate;
use crate::host::Host;
use crate::latency::LatencyMonitor;
use crate::locks::{Busy, MayWait, ScriptTurn, Shards};
use crate::mailbox::{Mail, Mailbox, Wake};
use crate::names::Names;
use crate::pause::Pause;
use crate::persistence::Persistence;
use crate::pubsub::PubSub;
use crate::registrations::StaleRegistrations;
use crate::scripting::Scripts;
use crate::shard::Key;
use crate::stats::{Counter, ThreadStats};
use crate::throttle::Throttle;
use crate::tracking::Trackers;
use crate::worker::Worker;
use larder_resp::Reply;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

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

/// What the threads share. There is one a process, but nothing depends on that.
pub struct Engine {
    pub(crate) config: Arc<Config>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) shards: Shards,
    pub(crate) stale: StaleRegistrations,
    pub(crate) acl: Arc<Acl>,
    pub(crate) clients: Clients,
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
    replication_id: Mutex<String>,
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
    pub(crate) rates: crate::cron::Rates,
    workers: RwLock<Vec<WorkerPost>>,
    next_client: AtomicU64,
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
}

/// What others know of a worker.
struct WorkerPost {
    mailbox: Arc<Mailbox>,
    stats: Arc<ThreadStats>,
}

impl Engine {
    /// An engine with an empty keyspace, and its background thread.
    pub fn new(options: EngineOptions) -> Arc<Engine> {
        let acl = Arc::new(Acl::new(&options.config));
        Engine::build(options, acl, false)
    }

    /// An engine for a copy of the data, with the users of another one.
    pub(crate) fn copied(options: EngineOptions, acl: Arc<Acl>) -> Arc<Engine> {
        Engine::build(options, acl, true)
    }

    fn build(options: EngineOptions, acl: Arc<Acl>, is_copy: bool) -> Arc<Engine> {
        let startup_memory = options.host.memory().used;
        let gate = Gate::default();
        gate.read_options(&options.config.hot);
        Arc::new_cyclic(|engine| Engine {
            acl,
            is_copy,
            config: options.config,
            host: options.host,
            shards: Shards::default(),
            stale: StaleRegistrations::default(),
            clients: Clients::default(),
            client_memory: ClientMemory::default(),
            logs: CommandLogs::default(),
            latency: LatencyMonitor::default(),
            errors: ErrorStats::default(),
            pause: Pause::default(),
            http_warning: Throttle::default(),
            pubsub: PubSub::default(),
            scripts: Scripts::default(),
            trackers: Trackers::default(),
            background: Background::start(engine.clone()),
            eviction: Eviction::default(),
            append_log: AppendLog::default(),
            gate,
            departures: Departures::default(),
            debug: DebugSwitches::default(),
            persistence: Persistence::default(),
            snapshotting: AtomicBool::new(false),
            started: Instant::now(),
            started_wall_ms: crate::clock::wall_ms(),
            run_id: random_id(),
            replication_id: Mutex::new(random_id()),
            cron_paused: AtomicBool::new(false),
            startup_memory,
            me: engine.clone(),
            lax_scripts: AtomicBool::new(false),
            threads: options.threads,
            names: options.names,
            rates: crate::cron::Rates::default(),
            workers: RwLock::new(Vec::new()),
            next_client: AtomicU64::new(1),
            expired_actively: AtomicU64::new(0),
            key_count: AtomicU64::new(0),
        })
    }

    /// The options of the server.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Keeps scripts from running until the turn is dropped. Without the proof that it may wait, the caller gives up when a
    /// script runs for too long.
    pub fn take_turn(&self, may_wait: Option<&MayWait>) -> Result<ScriptTurn<'_>, Busy> {
        self.shards.take_turn(may_wait)
    }

    /// Waits for a mutex that others hold while they wait for the turn or for shards; gives up when a script runs for too long.
    pub fn wait_for<'t, T>(&self, mutex: &'t Mutex<T>) -> Result<MutexGuard<'t, T>, Busy> {
        self.shards.wait_for(mutex)
    }

    /// The command that the log deletes a key with whose time is over.
    pub(crate) fn expiry_command(&self) -> &'static [u8] {
        if self.expires_lazily() { b"UNLINK" } else { b"DEL" }
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
        self.append_log.set_synced(self.append_log.end());
    }

    /// Everything in the log up to a position is on the disk: those who wait for that are told.
    pub fn log_is_safe(&self, position: u64) {
        self.append_log.set_synced(position);
        for waiter in self.append_log.take_served() {
            if waiter.take() {
                let mut reply = Vec::new();
                crate::serve::write_synced(&mut Reply::new(&mut reply, waiter.protocol), true);
                self.send(waiter.worker, Mail::Unblocked { client: waiter.client, reply });
            }
        }
    }

    /// Puts writes off from now on; those that have begun are done when this returns. But for those of a script that runs
    /// for too long: then the server ends without saving, or whoever saves waits for it.
    pub fn close_gate(&self) {
        let held = self.shards.try_lock_all();
        self.gate.set_closing(true);
        drop(held);
    }

    /// Has commands that were put off tried again.
    pub fn retry_put_off(&self) {
        self.retry_all();
    }

    /// Bytes in use by the process.
    pub fn memory_in_use(&self) -> u64 {
        self.host.memory().used
    }

    /// Number of databases.
    pub fn database_count(&self) -> usize {
        self.databases()
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

    /// Forty hexadecimal digits that name the history of the data.
    pub(crate) fn replication_id(&self) -> String {
        self.replication_id.lock().clone()
    }

    /// The data has another history from now on.
    pub(crate) fn change_replication_id(&self) {
        *self.replication_id.lock() = random_id();
    }

    /// A new connection's id.
    pub fn next_client_id(&self) -> u64 {
        self.next_client.fetch_add(1, Relaxed)
    }

    /// Memory in use when the engine was made, in bytes.
    pub(crate) fn startup_memory(&self) -> u64 {
        self.startup_memory
    }

    /// Number of connections.
    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// The next worker. `index` counts from 0 in the order of the calls; `wake` makes its event loop look at its mail.
    pub fn worker(self: &Arc<Self>, index: usize, wake: Wake) -> Worker {
        let post = WorkerPost { mailbox: Arc::new(Mailbox::new(wake)), stats: Arc::default() };
        let mut workers = self.workers.write();
        assert_eq!(index, workers.len(), "workers are made in order");
        let worker = Worker::new(Arc::clone(self), index, Arc::clone(&post.mailbox), Arc::clone(&post.stats));
        workers.push(post);
        worker
    }

    /// Leaves a message for a worker.
    pub(crate) fn send(&self, worker: usize, mail: Mail) {
        if let Some(post) = self.workers.read().get(worker) {
            post.mailbox.send(mail);
        }
    }

    /// Leaves a message for a worker. `from` is the worker that calls, if one does: it need not wake itself.
    pub(crate) fn send_from(&self, from: Option<usize>, worker: usize, mail: Mail) {
        if let Some(post) = self.workers.read().get(worker) {
            if from == Some(worker) {
                post.mailbox.leave(mail);
            } else {
                post.mailbox.send(mail);
            }
        }
    }

    /// Bytes of messages on their way between workers.
    pub(crate) fn mail_bytes(&self) -> u64 {
        self.workers.read().iter().map(|post| post.mailbox.bytes() as u64).sum()
    }

    /// Wakes all workers to try again what they put off.
    pub(crate) fn retry_all(&self) {
        for post in self.workers.read().iter() {
            post.mailbox.send(Mail::Retry);
        }
    }

    /// The counters of a worker, unless somebody holds the list of workers.
    pub(crate) fn stats_of(&self, worker: usize) -> Option<Arc<ThreadStats>> {
        self.workers.try_read()?.get(worker).map(|post| Arc::clone(&post.stats))
    }

    /// Calls `each` with the counters of every thread.
    pub(crate) fn each_stats(&self, mut each: impl FnMut(&ThreadStats)) {
        self.workers.read().iter().for_each(|post| each(&post.stats));
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
        self.workers.read().first().map_or(0, |post| post.stats.loop_ns.get())
    }

    /// The sum of one counter over all threads.
    pub(crate) fn sum(&self, pick: impl Fn(&ThreadStats) -> &Counter) -> u64 {
        self.workers.read().iter().map(|post| pick(&post.stats).get()).sum()
    }

    /// Commands that all workers have executed, since the start or CONFIG RESETSTAT.
    pub fn commands_processed(&self) -> u64 {
        self.sum(|stats| &stats.processed)
    }

    /// A key with its hash.
    #[inline]
    pub(crate) fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        Key { bytes, hash: crate::hash::hash(bytes) }
    }

    /// Writes a warning to the server's log.
    pub fn log_warning(&self, text: &str) {
        self.host.log(crate::host::LogLevel::Warning, text);
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

    /// A script keeps others waiting: they are told so from now on.
    pub(crate) fn begin_long_script(&self) {
        self.gate.set_busy(true);
        self.shards.set_busy(true);
    }

    /// The script that kept others waiting has ended.
    pub(crate) fn end_long_script(&self) {
        self.shards.set_busy(false);
        self.gate.set_busy(false);
        self.retry_all();
    }

    /// Number of databases.
    pub(crate) fn databases(&self) -> usize {
        self.config.hot.databases.load(Relaxed).max(1) as usize
    }
}

/// Forty random hexadecimal digits.
fn random_id() -> String {
    (0..40).map(|_| fastrand::digit(16)).collect()
}
