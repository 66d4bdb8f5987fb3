//! Files: snapshots in the RDB format, and the append-only file.
//!
//! A thread of its own writes them, one job after the other; another one follows the log of effects, see [`aof`]. What
//! they are doing is told to the engine, which shows it to clients and refuses what cannot be done meanwhile. No lock of
//! the keyspace is held while a file is touched.

pub mod aof;
mod files;
pub mod load;
mod pace;
pub mod snapshot;
mod temporary;

use crate::cpus;
use crate::shared::Shared;
use aof::AppendFile;
use larder_engine::{Busy, Engine, LogLevel, MayWait, Overdue, Snapshot, spawn_background, wall_ms, wall_s};
use larder_rdb::Version;
use pace::Pace;
use parking_lot::{Mutex, MutexGuard};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use temporary::Temporaries;

/// A snapshot that failed is not tried again by itself for so many seconds.
const RETRY_S: u64 = 5;

/// Why a snapshot is not to be had now.
const SCRIPT_BUSY: &str = "a script runs for too long";

/// How RDB files are written.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The version, unless something asks for a newer one.
    pub version: Version,
    /// Whether strings may be compressed.
    pub compress: bool,
    /// Whether the file ends with a checksum.
    pub checksum: bool,
    /// Whether the file is sent to the disk while it is written.
    pub incremental_sync: bool,
    /// Whether keys say how long, or how often, they were used.
    pub notes_usage: bool,
    /// How many threads write it.
    pub threads: usize,
    /// Whether somebody waits for it.
    pub urgent: bool,
    /// Whether the file is the base of an append-only file.
    pub is_log_base: bool,
    /// A pause after each key, for tests.
    pub key_delay: Duration,
}

impl Options {
    /// The pace of a thread that writes.
    pub fn pace<'e>(&self, engine: &'e Engine) -> Pace<'e> {
        if self.urgent { Pace::hurry() } else { Pace::of(engine) }
    }
}

/// Saves, loads, and keeps the append-only file.
pub struct Persist {
    shared: Arc<Shared>,
    engine: Arc<Engine>,
    jobs: Mutex<Sender<Job>>,
    /// Held by whoever reads a snapshot: there is one at a time.
    snapshot_turn: Mutex<()>,
    log: AppendFile,
    /// Files that are not whole yet.
    temporaries: Temporaries,
    /// The data has been loaded once: there is something to keep.
    loaded: AtomicBool,
}

/// The data could not be loaded; the log says why.
#[derive(Debug)]
pub struct NotLoaded;

enum Job {
    Save(Option<Snapshot>),
    Rewrite,
    StopLog,
}

impl Persist {
    /// Starts the thread that writes snapshots. `Engine::save_state` is as if a snapshot had been made now.
    pub fn start(shared: Arc<Shared>, engine: Arc<Engine>) -> io::Result<Arc<Persist>> {
        let (sender, jobs) = channel();
        engine.persistence().save.lock().last_success_s = wall_s();
        let persist = Arc::new(Persist {
            shared,
            engine,
            jobs: Mutex::new(sender),
            snapshot_turn: Mutex::default(),
            log: AppendFile::default(),
            temporaries: Temporaries::default(),
            loaded: AtomicBool::new(false),
        });
        let worker = Arc::clone(&persist);
        spawn_background("larder-save", move |may_wait| worker.run(&jobs, may_wait))?;
        Ok(persist)
    }

    fn run(&self, jobs: &Receiver<Job>, may_wait: &MayWait) {
        for job in jobs {
            larder_engine::panic_if_armed();
            match job {
                Job::Save(snapshot) => {
                    self.bound("bgsave-cpulist", || drop(self.save(snapshot, Some(may_wait))));
                }
                Job::Rewrite => self.bound("aof-rewrite-cpulist", || self.log.rewrite(self, may_wait)),
                Job::StopLog => self.log.stop(self, may_wait),
            }
        }
    }

    /// Does something on the processors that an option names.
    fn bound(&self, option: &str, work: impl FnOnce()) {
        cpus::bound(&self.shared.config, option, &self.shared.log, work);
    }

    /// The engine whose data it keeps.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The path of the RDB file, in the working directory.
    pub fn rdb_path(&self) -> PathBuf {
        PathBuf::from(self.shared.config.value("dbfilename"))
    }

    /// `urgent`: somebody waits for the file; every core works for it.
    fn options(&self, is_log_base: bool, urgent: bool) -> Options {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let config = &self.shared.config;
        let version = Version::from_number(config.number("rdb-target-version") as u32).unwrap_or_default();
        Options {
            version,
            compress: config.is_yes("rdbcompression"),
            checksum: config.is_yes("rdbchecksum"),
            incremental_sync: config.is_yes(if is_log_base {
                "aof-rewrite-incremental-fsync"
            } else {
                "rdb-save-incremental-fsync"
            }),
            notes_usage: config.value("maxmemory-policy").ends_with("lru")
                || config.value("maxmemory-policy").ends_with("lfu"),
            threads: if urgent { cores } else { (cores - 1).max(1) },
            urgent,
            is_log_base,
            key_delay: key_delay(config.number("rdb-key-save-delay")),
        }
    }

    /// Keeps others from reading a snapshot until it is dropped. For threads that serve no clients.
    pub fn read_alone(&self) -> MutexGuard<'_, ()> {
        self.snapshot_turn.lock()
    }

    /// Has a snapshot written in the background. The state says already that it is. It shows this instant if `now`, which
    /// takes that no shard is held; or else one soon.
    pub fn save_in_background(&self, now: bool) {
        self.count_save();
        // While a script runs for long, it is a little later.
        let turn = if now { self.engine.take_turn(None).ok() } else { None };
        let snapshot = turn.and_then(|turn| self.engine.snapshot(&turn, || ()));
        let _ = self.jobs.lock().send(Job::Save(snapshot));
    }

    /// Has the append-only file rewritten in the background. The state says already that it is.
    pub fn rewrite_in_background(&self) {
        let _ = self.jobs.lock().send(Job::Rewrite);
    }

    /// SAVE: as [`Persist::save_now`].
    pub fn save_for_client(&self) -> Result<(), String> {
        self.count_save();
        self.save_now()
    }

    /// Counts a snapshot that was asked for. Valkey counts those of SAVE and in the background, when they begin.
    fn count_save(&self) {
        self.engine.persistence().save.lock().saves += 1;
    }

    /// Writes a snapshot on this thread and records the outcome; the state says already that one is being written.
    pub fn save_now(&self) -> Result<(), String> {
        self.save(None, None)
    }

    /// Without `may_wait` somebody waits for the file; scripts wait until it is written then.
    fn save(&self, snapshot: Option<Snapshot>, may_wait: Option<&MayWait>) -> Result<(), String> {
        let started = Instant::now();
        let in_background = may_wait.is_some();
        if in_background {
            self.engine.persistence().save.lock().last_try_s = wall_s();
        }
        let outcome = self.write_rdb(snapshot, may_wait, &self.rdb_path());
        let mut state = self.engine.persistence().save.lock();
        state.running_since_s = None;
        let cancelled = self.engine.persistence().cancel_save.swap(false, Relaxed) && outcome.is_err();
        if in_background {
            state.last_took_s = Some(started.elapsed().as_secs());
        }
        // One that somebody waited for has told him; one that was not wanted any more says nothing of the disk.
        state.failed = outcome.is_err() && (state.failed || in_background && !cancelled);
        if let Ok(changes) = &outcome {
            state.last_success_s = wall_s();
            state.changes = *changes;
        }
        self.engine.gate().set_snapshot_failed(state.failed);
        drop(state);
        match outcome {
            Err(_) if cancelled => {
                self.shared.log.notice("Background saving cancelled");
                Err("cancelled".to_owned())
            }
            Ok(_) => {
                self.shared.log.notice("DB saved on disk");
                Ok(())
            }
            Err(error) => {
                let text = format!("Failed saving the DB: {error}");
                self.shared.log.warning(&text);
                Err(text)
            }
        }
    }

    /// Writes a snapshot to a path by way of a temporary file; returns the count of changes that it contains.
    fn write_rdb(
        &self,
        snapshot: Option<Snapshot>,
        may_wait: Option<&MayWait>,
        path: &Path,
    ) -> io::Result<u64> {
        let urgent = may_wait.is_none();
        let busy = |Busy| io::Error::other(SCRIPT_BUSY);
        let _reading = match may_wait {
            Some(_) => self.snapshot_turn.lock(),
            None => self.engine.wait_for(&self.snapshot_turn).map_err(busy)?,
        };
        let mut turn = match &snapshot {
            Some(_) => None,
            None => Some(self.engine.take_turn(may_wait).map_err(busy)?),
        };
        let snapshot = snapshot.or_else(|| self.engine.snapshot(turn.as_ref()?, || ()));
        let snapshot = snapshot.ok_or_else(|| io::Error::other("another snapshot is read"))?;
        if !urgent {
            turn = None;
        }
        // The working directory may be another one by the time that it is put in place.
        let path = std::path::absolute(path)?;
        let temporary = path.with_file_name(format!("temp-{}.rdb", std::process::id()));
        let options = self.options(false, urgent);
        let written = self.temporaries.write(&temporary, |temporary| {
            snapshot::write(&self.engine, &snapshot, &options, temporary)?;
            files::put_in_place(temporary, &path, &mut options.pace(&self.engine))
        });
        let changes = snapshot.changes();
        drop(snapshot);
        drop(turn);
        written.map(|()| changes)
    }

    /// What is due: called ten times a second.
    pub fn cron(&self) {
        self.start_scheduled();
        self.save_when_due();
        self.log.cron(self);
    }

    fn start_scheduled(&self) {
        let persistence = self.engine.persistence();
        let mut save = persistence.save.lock();
        let mut log = persistence.log.lock();
        if save.running_since_s.is_some() || log.rewriting_since_s.is_some() {
            return;
        }
        let waits = |failed: bool, last_try_s: u64| failed && wall_s() <= last_try_s + RETRY_S;
        if log.rewrite_scheduled && !waits(log.rewrite_failed, log.last_try_s) {
            log.rewrite_scheduled = false;
            log.rewriting_since_s = Some(wall_s());
            self.rewrite_in_background();
        } else if save.scheduled && !waits(save.failed, save.last_try_s) {
            save.scheduled = false;
            save.running_since_s = Some(wall_s());
            drop((save, log));
            self.save_in_background(false);
        }
    }

    fn save_when_due(&self) {
        let points = self.shared.config.value("save");
        if points.is_empty() {
            return;
        }
        let persistence = self.engine.persistence();
        let mut save = persistence.save.lock();
        if save.running_since_s.is_some() || persistence.log.lock().rewriting_since_s.is_some() {
            return;
        }
        let now = wall_s();
        let changes = self.engine.changes().saturating_sub(save.changes);
        let since = now.saturating_sub(save.last_success_s);
        let Some((seconds, least)) =
            save_points(&points).find(|&(seconds, least)| changes >= least && since > seconds)
        else {
            return;
        };
        if save.failed && now <= save.last_try_s + RETRY_S {
            return;
        }
        self.shared.log.notice(&format!("{least} changes in {seconds} seconds. Saving..."));
        save.running_since_s = Some(now);
        drop(save);
        self.save_in_background(false);
    }

    /// Whether anything is to be loaded at the start: the append-only file if it is kept, or else the RDB file.
    pub fn is_to_load(&self, keeps_log: bool) -> bool {
        keeps_log || self.rdb_path().exists()
    }

    /// There is nothing to load: what clients change is to be kept from the first one on.
    pub fn start_empty(&self) {
        self.loaded.store(true, Release);
    }

    /// Takes away what processes that were killed have left. For the time before there are clients, who may save.
    pub fn sweep_temporaries(&self) {
        temporary::sweep(Path::new("."));
        temporary::sweep(Path::new(&self.shared.config.value("appenddirname")));
    }

    /// Loads the append-only file if it is kept, else the RDB file. `keeps_log` is what the configuration said before there
    /// were clients, who may change it.
    pub fn load(&self, keeps_log: bool) -> Result<(), NotLoaded> {
        self.begin_load();
        let started = Instant::now();
        let outcome = if keeps_log {
            aof::load::load(&self.shared, &self.engine, &self.temporaries)
        } else {
            self.load_rdb(&self.rdb_path(), false)
        };
        match outcome {
            Ok(what) => {
                if let Some(what) = what {
                    let seconds = started.elapsed().as_secs_f64();
                    self.shared.log.notice(&format!("DB loaded from {what}: {seconds:.3} seconds"));
                }
                Ok(())
            }
            Err(text) => {
                self.shared.log.warning(&text);
                Err(NotLoaded)
            }
        }
    }

    /// Whether there is data that may be kept: it has been loaded, and is not being loaded again.
    pub fn is_loaded(&self) -> bool {
        self.loaded.load(Acquire) && !self.engine.gate().is_loading()
    }

    /// Lets clients in after loading. A CONFIG SET of the log that was under way when loading began takes effect.
    pub fn end_load(self: &Arc<Self>) -> Result<(), String> {
        // In this order: what a client changes from now on must be kept if the server ends.
        self.loaded.store(true, Release);
        self.engine.gate().set_loading(false);
        let wanted = self.shared.config.is_yes("appendonly");
        let is_kept = self.engine.persistence().log.lock().enabled;
        if wanted == is_kept { Ok(()) } else { self.keep_log(wanted) }
    }

    /// CONFIG SET appendonly. It is refused while data is loaded; one that was under way when that began is left to
    /// [`Persist::end_load`].
    pub fn keep_log(self: &Arc<Self>, yes: bool) -> Result<(), String> {
        if self.engine.gate().is_loading() {
            return Ok(());
        }
        if yes {
            self.log.enable(self)
        } else {
            // From now on a log that fails stops nobody. Under the lock: see where it fails.
            let log = self.engine.persistence().log.lock();
            self.engine.gate().set_log_failed(false);
            drop(log);
            // The rest not here: a transaction that holds shards may have asked for it.
            let _ = self.jobs.lock().send(Job::StopLog);
            Ok(())
        }
    }

    fn begin_load(&self) {
        let progress = &self.engine.persistence().load;
        progress.started_s.store(wall_s(), Relaxed);
        for counter in [
            &progress.total_bytes,
            &progress.loaded_bytes,
            &progress.keys_loaded,
            &progress.keys_expired,
            &progress.hashes_expired,
        ] {
            counter.store(0, Relaxed);
        }
    }

    /// Loads an RDB file; says what was loaded, if there was one. `merge`: libraries of functions replace those that there are.
    /// The error is what the log should say.
    fn load_rdb(&self, path: &Path, merge: bool) -> Result<Option<&'static str>, String> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("Fatal error loading the DB: {error}. Exiting.")),
            Ok(file) => file,
        };
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        self.engine.persistence().load.total_bytes.store(bytes, Relaxed);
        let checks = load::checks(&self.engine);
        let rules = load::Rules { checks, overdue: Overdue::DropAt(wall_ms()), merge };
        load::load(&self.engine, file, rules)
            .map_err(|error| format!("Fatal error loading the DB {}: {error}. Exiting.", path.display()))?;
        let progress = &self.engine.persistence().load;
        let (loaded, expired) = (progress.keys_loaded.load(Relaxed), progress.keys_expired.load(Relaxed));
        let emptied = progress.hashes_expired.load(Relaxed);
        self.shared.log.notice(&format!(
            "Done loading RDB, keys loaded: {loaded}, keys expired: {expired}, all fields expired hashes: {emptied}."
        ));
        Ok(Some("disk"))
    }

    /// DEBUG RELOAD: saves unless told not to, empties the keyspace, and loads the file. Libraries of functions that are still
    /// there are an error unless both are to be merged.
    pub fn reload(self: &Arc<Self>, save: bool, flush: bool, merge: bool) -> Result<(), String> {
        let prepare = || {
            if save {
                self.claim_save()?;
                // As with SAVE, the reason is in the log only.
                self.save_now().map_err(|_| String::new())?;
            }
            Ok(())
        };
        self.quiesce(prepare)?;
        self.anew(flush, |persist| persist.load_rdb(&persist.rdb_path(), merge).map(drop))
            .map_err(|_| "Error trying to load the RDB dump, check server logs.".to_owned())
    }

    /// DEBUG LOADAOF: loads the append-only file again.
    pub fn load_log_again(self: &Arc<Self>) -> Result<(), String> {
        self.quiesce(|| {
            self.log.wait_until_written(&self.engine);
            Ok(())
        })?;
        self.anew(true, |persist| {
            aof::load::load(&persist.shared, &persist.engine, &persist.temporaries).map(drop)
        })
        .map_err(|_| "Error trying to load the AOF files, check server logs.".to_owned())
    }

    /// Gets ready to replace the keyspace: no write comes between what `prepare` does and the state of loading, in which
    /// there are none.
    fn quiesce(&self, prepare: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let turn = self.shared.shutdown_turn.lock();
        if self.shared.is_stopping() {
            return Err(String::new());
        }
        self.engine.close_gate();
        let prepared = prepare();
        self.engine.gate().set_loading(prepared.is_ok());
        self.engine.gate().set_closing(false);
        drop(turn);
        self.engine.retry_put_off();
        prepared
    }

    /// Replaces the keyspace by what `load` brings, while clients wait. The state is that of loading already.
    fn anew(
        self: &Arc<Self>,
        flush: bool,
        load: impl FnOnce(&Persist) -> Result<(), String>,
    ) -> Result<(), String> {
        let log = self.engine.append_log();
        let logs = log.is_on();
        log.set_on(false);
        self.begin_load();
        let cleared = if flush { self.clear() } else { Ok(()) };
        let outcome = cleared.and_then(|()| load(self));
        log.set_on(logs);
        let outcome = outcome.and(self.end_load());
        if let Err(text) = &outcome {
            self.shared.log.warning(text);
        }
        outcome
    }

    fn clear(&self) -> Result<(), String> {
        let turn = self.engine.take_turn(None).map_err(|Busy| "a script runs for too long".to_owned())?;
        self.engine.clear(turn.may_wait());
        Ok(())
    }

    /// Notes that a snapshot is being written, unless one is already.
    fn claim_save(&self) -> Result<(), String> {
        let mut save = self.engine.persistence().save.lock();
        if save.running_since_s.is_some() {
            return Err("Background save already in progress".to_owned());
        }
        save.running_since_s = Some(wall_s());
        Ok(())
    }

    /// Before the server ends: keeps what `save` says is to be kept. Writes of clients are put off from before the snapshot
    /// on, so that none is answered and lost; an error lets them go on.
    pub fn close(&self, save: bool, force: bool) -> Result<(), String> {
        self.engine.close_gate();
        let outcome = self.finish(save, force);
        if outcome.is_err() {
            self.engine.gate().set_closing(false);
            self.engine.retry_put_off();
        }
        outcome
    }

    fn finish(&self, save: bool, force: bool) -> Result<(), String> {
        if self.engine.persistence().log.lock().waits_for_base && !force {
            // Without it the next start would find a log without data.
            return Err("Writing initial AOF".to_owned());
        }
        if self.engine.append_log().is_on() {
            self.shared.log.notice("Calling fsync() on the AOF file.");
            self.log.wait_until_written(&self.engine);
        }
        if !save {
            return Ok(());
        }
        self.shared.log.notice("Saving the final RDB snapshot before exiting.");
        self.claim_save_soon();
        self.save_now().map_err(|_| "Error trying to save the DB".to_owned())
    }

    /// Notes that a snapshot is being written. One under way is older than what must be kept: it is called off.
    fn claim_save_soon(&self) {
        while self.claim_save().is_err() {
            self.engine.persistence().cancel_save();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// After FLUSHALL: with save points, the file must not bring back what was there before.
    pub fn save_emptiness(&self) {
        // One under way shows what was there before.
        self.engine.persistence().cancel_save();
        if self.shared.config.value("save").is_empty() || !self.is_loaded() {
            return;
        }
        self.claim_save_soon();
        // A disk that fails is the business of the next snapshot, as with Valkey.
        if self.save_now().is_err_and(|text| text.ends_with(SCRIPT_BUSY)) {
            self.engine.persistence().save.lock().scheduled = true;
        }
    }

    /// The process ends: what is not whole goes, and nothing of that kind is begun any more.
    pub fn abandon(&self) {
        self.temporaries.abandon();
    }

    /// The append-only file.
    pub fn append_file(&self) -> &AppendFile {
        &self.log
    }

    fn say(&self, level: LogLevel, text: &str) {
        self.shared.log.write(level, text);
    }
}

/// What the options `rdb-key-save-delay` and `key-load-delay` say, in microseconds.
pub fn key_delay(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// The pairs of seconds and changes of the option `save`.
fn save_points(text: &str) -> impl Iterator<Item = (u64, u64)> {
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>().into_iter()
}
