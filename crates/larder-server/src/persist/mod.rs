//! Files: snapshots in the RDB format, and the append-only file.
//!
//! A thread of its own writes them, one job after the other; another one follows the log of effects, see [`aof`]. Snapshots for replicas
//! are written by a thread of theirs ([`crate::replication::syncs`]), in turn with these. What
//! they are doing is told to the engine, which shows it to clients and refuses what cannot be done meanwhile. No lock of
//! the keyspace is held while a file is touched.

pub mod aof;
mod close;
mod error;
mod files;
pub mod pace;
pub mod snapshot;
mod start;
mod state;
mod synced_file;
pub mod temporary;
mod turn;

pub use error::{CloseError, WriteError};
pub use start::{NotLoaded, Placing, Received};
pub use state::{Options, Persist, Purpose};
pub use synced_file::SyncedFile;

use crate::cpus;
use crate::shared::Shared;
use aof::file::AppendFile;
use larder_engine::{ApplyError, Busy, Engine, MayWait, Snapshot, spawn_background, wall_s};
use parking_lot::Mutex;
use state::{Job, RETRY_S};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use temporary::Temporaries;
use turn::turn_of;

impl Persist {
    /// Starts the thread that writes snapshots. The state of saving is as if a snapshot had been made now.
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
    pub fn save_for_client(&self) -> Result<(), WriteError> {
        self.count_save();
        self.save_now()
    }

    /// Counts a snapshot that was asked for. Valkey counts those of SAVE and in the background, when they begin.
    fn count_save(&self) {
        self.engine.persistence().save.lock().saves += 1;
    }

    /// Writes a snapshot on this thread and records the outcome; the state says already that one is being written.
    pub fn save_now(&self) -> Result<(), WriteError> {
        self.save(None, None)
    }

    /// Without `may_wait` somebody waits for the file; scripts wait until it is written then.
    fn save(&self, snapshot: Option<Snapshot>, may_wait: Option<&MayWait>) -> Result<(), WriteError> {
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
                Err(WriteError::Cancelled)
            }
            Ok(_) => {
                self.shared.log.notice("DB saved on disk");
                Ok(())
            }
            Err(error) => {
                self.shared.log.warning(&format!("Failed saving the DB: {error}"));
                Err(error)
            }
        }
    }

    /// Writes a snapshot to a path by way of a temporary file; returns the count of changes that it contains.
    fn write_rdb(
        &self,
        snapshot: Option<Snapshot>,
        may_wait: Option<&MayWait>,
        path: &Path,
    ) -> Result<u64, WriteError> {
        let urgent = may_wait.is_none();
        let _reading = match may_wait {
            Some(_) => self.snapshot_turn.lock(),
            None => self.engine.wait_for(&self.snapshot_turn).map_err(|Busy| WriteError::ScriptBusy)?,
        };
        let mut turn = match &snapshot {
            Some(_) => None,
            None => Some(turn_of(&self.engine, may_wait)?),
        };
        let snapshot = snapshot.or_else(|| self.engine.snapshot(turn.as_ref()?, || ()));
        let snapshot = snapshot.ok_or(WriteError::SnapshotTaken)?;
        if !urgent {
            turn = None;
        }
        // The working directory may be another one by the time that it is put in place.
        let path = std::path::absolute(path)?;
        let temporary = path.with_file_name(format!("temp-{}.rdb", std::process::id()));
        let options = self.options(Purpose::Keep, urgent);
        let written = self.temporaries.write(&temporary, |temporary| {
            snapshot::write(&self.engine, &snapshot, &options, temporary)?;
            Ok(files::put_in_place(temporary, &path, &mut options.pace(&self.engine))?)
        });
        let changes = snapshot.changes();
        drop(snapshot);
        drop(turn);
        written.map(|()| changes)
    }

    /// What is due: called `hz` times a second.
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

    /// CONFIG SET appendonly. It is refused while data is loaded; one that was under way when that began is left to
    /// [`Persist::end_load`].
    pub fn keep_log(self: &Arc<Self>, yes: bool) -> Result<(), ApplyError> {
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

    /// Notes that a snapshot is being written; false if one is already.
    #[must_use]
    fn claim_save(&self) -> bool {
        let mut save = self.engine.persistence().save.lock();
        let is_free = save.running_since_s.is_none();
        if is_free {
            save.running_since_s = Some(wall_s());
        }
        is_free
    }

    /// Notes that a snapshot is being written. One under way is older than what must be kept: it is called off.
    fn claim_save_soon(&self) {
        while !self.claim_save() {
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
        if matches!(self.save_now(), Err(WriteError::ScriptBusy)) {
            self.engine.persistence().save.lock().scheduled = true;
        }
    }
}

/// The pairs of seconds and changes of the option `save`.
fn save_points(text: &str) -> impl Iterator<Item = (u64, u64)> {
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>().into_iter()
}
