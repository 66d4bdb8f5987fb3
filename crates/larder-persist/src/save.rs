//! Snapshots that are kept: when they are made, by whom, and what becomes of them.

use crate::aof::file::AppendFile;
use crate::error::WriteError;
use crate::files;
use crate::process::Process;
use crate::snapshot;
use crate::state::{Job, Persist, Purpose, RETRY_S};
use crate::temporary::Temporaries;
use crate::turn::{Waits, turn_of};
use larder_engine::{ApplyError, Busy, Engine, MayWait, NoShards, Snapshot, spawn_background, wall_s};
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

impl Persist {
    /// Starts the thread that writes snapshots. The state of saving is as if a snapshot had been made now. `dir` is where the files are;
    /// if it is empty, in the working directory, which may change.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(process: Arc<dyn Process>, engine: Arc<Engine>, dir: PathBuf) -> io::Result<Arc<Persist>> {
        let (sender, jobs) = channel();
        engine.persistence().save.lock().last_success_s = wall_s();
        let persist = Arc::new(Persist {
            process,
            engine,
            dir,
            jobs: Mutex::new(Some(sender)),
            threads: Mutex::default(),
            snapshot_turn: Mutex::default(),
            log: AppendFile::default(),
            temporaries: Temporaries::default(),
            loaded: AtomicBool::new(false),
            lost: AtomicBool::new(false),
        });
        let worker = Arc::clone(&persist);
        let thread = spawn_background("larder-save", move |may_wait| worker.run(&jobs, may_wait))?;
        persist.threads.lock().push(thread);
        Ok(persist)
    }

    fn run(&self, jobs: &Receiver<Job>, may_wait: &MayWait) {
        for job in jobs {
            larder_engine::panic_if_armed();
            if self.is_ending() {
                return;
            }
            match job {
                Job::Save(snapshot) => {
                    self.bound("bgsave-cpulist", || drop(self.save(snapshot, Waits::InBackground(may_wait))));
                }
                Job::Rewrite => self.bound("aof-rewrite-cpulist", || self.log.rewrite(self, may_wait)),
                Job::StopLog => self.log.stop(self, may_wait),
            }
        }
    }

    /// Does something on the processors that an option names.
    fn bound(&self, option: &str, work: impl FnOnce()) {
        let mut work = Some(work);
        self.process.bound(option, &mut || work.take().into_iter().for_each(|work| work()));
    }

    /// Has a snapshot written in the background. The state says already that it is. It shows this instant if the caller holds
    /// no shard, else one soon.
    pub fn save_in_background(&self, no_shards: Option<NoShards<'_>>) {
        self.count_save();
        self.notice(&format!("Background saving started by pid {}", std::process::id()));
        // While a script runs for long, it is a little later.
        let turn = no_shards.and_then(|no_shards| self.engine.try_take_turn(no_shards).ok());
        let snapshot = turn.and_then(|turn| self.engine.snapshot(&turn, || ()));
        self.send(Job::Save(snapshot));
    }

    /// Has the append-only file rewritten in the background. The state says already that it is.
    pub fn rewrite_in_background(&self) {
        let process = std::process::id();
        self.notice(&format!("Background append only file rewriting started by pid {process}"));
        self.send(Job::Rewrite);
    }

    /// SAVE: as [`Persist::save_now`].
    pub fn save_for_client(&self, no_shards: NoShards<'_>) -> Result<(), WriteError> {
        self.count_save();
        self.save_now(no_shards)
    }

    /// Counts a snapshot that was asked for. Valkey counts those of SAVE and in the background, when they begin.
    fn count_save(&self) {
        self.engine.persistence().save.lock().saves += 1;
    }

    /// Writes a snapshot on this thread and records the outcome; the state says already that one is being written.
    pub fn save_now(&self, no_shards: NoShards<'_>) -> Result<(), WriteError> {
        self.save(None, Waits::ForClients(no_shards))
    }

    /// When clients wait for the file, scripts wait until it is written.
    fn save(&self, snapshot: Option<Snapshot>, waits: Waits<'_>) -> Result<(), WriteError> {
        let started = Instant::now();
        let in_background = waits.in_background();
        if in_background {
            self.engine.persistence().save.lock().last_try_s = wall_s();
        }
        let outcome = self.write_rdb(snapshot, waits, &self.rdb_path());
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
                self.notice("Background saving cancelled");
                Err(WriteError::Cancelled)
            }
            Ok(_) => {
                self.notice("DB saved on disk");
                if in_background {
                    self.notice("Background saving terminated with success");
                }
                Ok(())
            }
            Err(error) => {
                self.warning(&format!("Failed saving the DB: {error}"));
                if in_background {
                    self.warning("Background saving error");
                }
                Err(error)
            }
        }
    }

    /// Writes a snapshot to a path by way of a temporary file; returns the count of changes that it contains.
    fn write_rdb(
        &self,
        snapshot: Option<Snapshot>,
        waits: Waits<'_>,
        path: &Path,
    ) -> Result<u64, WriteError> {
        let urgent = !waits.in_background();
        let _reading = match waits {
            Waits::InBackground(_) => self.snapshot_turn.lock(),
            Waits::ForClients(no_shards) => {
                self.engine.wait_for(&self.snapshot_turn, no_shards).map_err(|Busy| WriteError::ScriptBusy)?
            }
        };
        let mut turn = match &snapshot {
            Some(_) => None,
            None => Some(turn_of(&self.engine, waits)?),
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
            self.save_in_background(None);
        }
    }

    fn save_when_due(&self) {
        let points = self.config().value("save");
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
        self.notice(&format!("{least} changes in {seconds} seconds. Saving..."));
        save.running_since_s = Some(now);
        drop(save);
        self.save_in_background(None);
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
            self.send(Job::StopLog);
            Ok(())
        }
    }

    /// Notes that a snapshot is being written; false if one is already.
    #[must_use]
    pub(crate) fn claim_save(&self) -> bool {
        let mut save = self.engine.persistence().save.lock();
        let is_free = save.running_since_s.is_none();
        if is_free {
            save.running_since_s = Some(wall_s());
        }
        is_free
    }

    /// Notes that a snapshot is being written. One under way is older than what must be kept: it is called off.
    pub(crate) fn claim_save_soon(&self) {
        while !self.claim_save() {
            self.engine.persistence().cancel_save();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The snapshot of a primary, in a form of its own, has become the RDB file: with save points, it is written again, in a form that other servers
    /// read.
    pub fn save_in_own_form(&self) {
        if !self.config().value("save").is_empty() {
            self.engine.persistence().save.lock().scheduled = true;
        }
    }

    /// After FLUSHALL: with save points, the file must not bring back what was there before.
    pub fn save_emptiness(&self, no_shards: NoShards<'_>) {
        // One under way shows what was there before.
        self.engine.persistence().cancel_save();
        if self.config().value("save").is_empty() || !self.is_loaded() {
            return;
        }
        self.claim_save_soon();
        // A disk that fails is the business of the next snapshot, as with Valkey.
        if matches!(self.save_now(no_shards), Err(WriteError::ScriptBusy)) {
            self.engine.persistence().save.lock().scheduled = true;
        }
    }
}

/// The pairs of seconds and changes of the option `save`.
fn save_points(text: &str) -> impl Iterator<Item = (u64, u64)> {
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>().into_iter()
}
