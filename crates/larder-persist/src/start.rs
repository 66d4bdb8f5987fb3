//! Loading: at the start, again for DEBUG, and what a primary sends.

use crate::aof;
use crate::aof::load::TornEnd;
use crate::error::LoadError;
use crate::state::Persist;
use crate::temporary;
use larder_engine::{
    ApplyError, Busy, Dropped, History, MayWait, NoShards, Overdue, ReloadError, ReloadOptions, wall_ms,
    wall_s,
};
use larder_link::load;
use larder_rdb::read::FileReader;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Instant;

/// What a snapshot of the primary has said.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// The database that is selected where the stream goes on.
    pub db: usize,
    /// Whether other servers can read it.
    pub is_portable: bool,
}

/// Where a snapshot of the primary is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// In the place of the data, which is gone before, and stays so if the snapshot breaks off.
    Instead,
    /// Beside the data, which stays if it does.
    Beside {
        /// Whether the data is served meanwhile.
        serves: bool,
    },
}

impl Persist {
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
        let here = self.dir.as_os_str().is_empty();
        temporary::sweep(if here { Path::new(".") } else { &self.dir });
        temporary::sweep(&self.path(&self.config().value("appenddirname")));
    }

    /// Loads the append-only file if it is kept, else the RDB file. `keeps_log` is what the configuration said before there
    /// were clients, who may change it.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged; the log says it as well. What has been loaded by then stays in the keyspace.
    pub fn load(&self, keeps_log: bool) -> Result<(), LoadError> {
        self.begin_load();
        let started = Instant::now();
        // What does not fit into the backlog, no replica can be sent.
        let dropped = Dropped::new(usize::try_from(self.engine.backlog_size()).unwrap_or(usize::MAX));
        let outcome = if keeps_log {
            aof::load::load(self, TornEnd::CutOff)
                .map(|loaded| loaded.map(|loaded| ("append only file", loaded.history)))
        } else {
            self.load_rdb(&self.rdb_path(), false, &dropped)
                .map(|loaded| loaded.map(|history| ("disk", history)))
        };
        match outcome {
            Ok(what) => {
                if let Some((what, history)) = what {
                    self.go_on_from(history, dropped);
                    let seconds = started.elapsed().as_secs_f64();
                    self.notice(&format!("DB loaded from {what}: {seconds:.3} seconds"));
                }
                Ok(())
            }
            Err(error) => {
                self.warning(&error.to_string());
                Err(error)
            }
        }
    }

    /// Whether there is data that may be kept: it has been loaded, and is not being loaded again.
    pub fn is_loaded(&self) -> bool {
        self.loaded.load(Acquire) && !self.engine.gate().is_loading()
    }

    /// Lets clients in after loading. A CONFIG SET of the log that was under way when loading began takes effect.
    pub fn end_load(self: &Arc<Self>) -> Result<(), ApplyError> {
        // In this order: what a client changes from now on must be kept if the server ends.
        self.loaded.store(true, Release);
        let wanted = || self.config().is_yes("appendonly");
        let is_kept = || self.engine.persistence().log.lock().enabled;
        // Clients find a log that waits for its base, and not one that is off.
        let enabled = if wanted() && !is_kept() { self.log.enable(self) } else { Ok(()) };
        self.engine.gate().end_loading();
        enabled?;
        let wanted = wanted();
        if wanted == is_kept() { Ok(()) } else { self.keep_log(wanted) }
    }

    fn begin_load(&self) {
        let progress = &self.engine.persistence().load;
        progress.started_s.store(wall_s(), Relaxed);
        progress.saved_used_memory.store(0, Relaxed);
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

    /// What was loaded at the start may say where in the history of the data the server is. Replicas that go on from there still have what
    /// was dropped.
    fn go_on_from(&self, history: Option<History>, dropped: Dropped) {
        let Some(history) = history.filter(|_| self.process.may_have_replicas()) else { return };
        if dropped.is_complete() {
            self.engine.restore_history(&history.id, history.position, history.db);
            self.engine.propagate_dropped(dropped);
        } else {
            self.notice(
                "More keys have expired than the replication backlog can hold: replicas need a full resynchronization",
            );
        }
    }

    /// Loads an RDB file, if there is one, and returns where in the history of the data it is. `merge`: libraries of functions replace those that there are.
    /// Where this server says what expires, `dropped` takes what is left out because its time is over.
    fn load_rdb(
        &self,
        path: &Path,
        merge: bool,
        dropped: &Dropped,
    ) -> Result<Option<Option<History>>, LoadError> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LoadError::RdbFile(path.display().to_string(), error)),
            Ok(file) => file,
        };
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        self.engine.persistence().load.total_bytes.store(bytes, Relaxed);
        let checks = load::checks(&self.engine);
        let overdue = match self.engine.waits_for_others_to_expire() {
            true => Overdue::Keep,
            false => Overdue::Drop { now_ms: wall_ms(), dropped },
        };
        let rules = load::Rules { checks, overdue, merge, patterns: None };
        let progress = &self.engine.persistence().load;
        let loaded = load::load(&self.engine, file, rules).map_err(|error| {
            let at = progress.loaded_bytes.load(Relaxed);
            LoadError::Rdb { file: path.display().to_string(), at, error }
        })?;
        let (keys, expired) = (progress.keys_loaded.load(Relaxed), progress.keys_expired.load(Relaxed));
        let emptied = progress.hashes_expired.load(Relaxed);
        self.notice(&format!(
            "Done loading RDB, keys loaded: {keys}, keys expired: {expired}, all fields expired hashes: {emptied}."
        ));
        Ok(Some(loaded.history))
    }

    /// Nothing is replaced by a file that is not there.
    fn must_be_there(&self, is_there: bool, otherwise: ReloadError) -> Result<(), ReloadError> {
        if is_there {
            return Ok(());
        }
        self.warning("No file to load was found");
        Err(otherwise)
    }

    /// DEBUG RELOAD: saves unless told not to, empties the keyspace, and loads the file. Libraries of functions that are still
    /// there are an error unless both are to be merged.
    pub fn reload(
        self: &Arc<Self>,
        options: ReloadOptions,
        no_shards: NoShards<'_>,
    ) -> Result<(), ReloadError> {
        let prepare = || {
            if options.save {
                if !self.claim_save() {
                    return Err(ReloadError::Saving);
                }
                self.save_now(no_shards).map_err(|_| ReloadError::Unsaved)?;
            }
            self.must_be_there(self.rdb_path().exists(), ReloadError::RdbFile)
        };
        self.quiesce(false, no_shards, prepare)?;
        self.replace_keyspace(|persist, dropped| {
            if options.flush {
                persist.clear(false)?;
            }
            persist.load_rdb(&persist.rdb_path(), options.merge, dropped).map(drop)
        })
        .map_err(|_| ReloadError::RdbFile)
    }

    /// DEBUG LOADAOF: loads the append-only file again. Without one the data stays.
    pub fn load_log_again(self: &Arc<Self>, no_shards: NoShards<'_>) -> Result<(), ReloadError> {
        self.quiesce(false, no_shards, || {
            self.log.wait_until_written(&self.engine);
            self.must_be_there(aof::load::is_there(self), ReloadError::AppendOnlyFile)
        })?;
        self.replace_keyspace(|persist, _| {
            persist.clear(false)?;
            aof::load::load(persist, TornEnd::Refused).map(drop)
        })
        .map_err(|_| ReloadError::AppendOnlyFile)
    }

    /// Gets ready to replace the keyspace: no write comes between what `prepare` does and the state of loading, in which
    /// there are none; `serves`: in which clients are served as ever.
    fn quiesce(
        &self,
        serves: bool,
        no_shards: NoShards<'_>,
        prepare: impl FnOnce() -> Result<(), ReloadError>,
    ) -> Result<(), ReloadError> {
        let turn = self.process.keep_alive().ok_or(ReloadError::Stopping)?;
        self.engine.close_gate(no_shards);
        let prepared = prepare();
        if prepared.is_ok() {
            self.engine.gate().begin_loading(serves);
        }
        self.engine.gate().set_closing(false);
        drop(turn);
        self.engine.retry_put_off();
        prepared
    }

    /// Replaces the keyspace by what `load` brings, while clients wait. The state is that of loading already. Of what `load` does, the log and the
    /// replicas get nothing but what it has dropped.
    fn replace_keyspace<T>(
        self: &Arc<Self>,
        load: impl FnOnce(&Persist, &Dropped) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        let logs = self.engine.suspend_effects();
        self.begin_load();
        let dropped = Dropped::new(usize::MAX);
        let outcome = load(self, &dropped);
        self.engine.resume_effects(logs);
        self.engine.propagate_dropped(dropped);
        let ended = self.end_load().map_err(LoadError::Log);
        let outcome = outcome.and_then(|loaded| ended.map(|()| loaded));
        if let Err(error) = &outcome {
            self.warning(&error.to_string());
        }
        outcome
    }

    /// Replaces the keyspace by a snapshot of the primary. The data stays as it is if the snapshot is of a kind that is not known.
    /// `on_loaded` is told where the stream goes on, before anybody else sees the data. Returns the source, and what has been read of
    /// it beyond the snapshot.
    pub fn replace_by<R: Read>(
        self: &Arc<Self>,
        source: R,
        placing: Placing,
        may_wait: &MayWait,
        on_loaded: impl FnOnce(Received),
    ) -> Result<(R, Vec<u8>), LoadError> {
        let checks = load::checks(&self.engine);
        let file = load::open(&self.engine, source, checks).map_err(LoadError::Snapshot)?;
        if placing == Placing::Instead {
            self.wait_for_script(may_wait);
        }
        let serves = placing == Placing::Beside { serves: true };
        self.quiesce(serves, NoShards::outside_commands(), || Ok(())).map_err(|_| LoadError::Stopping)?;
        // The append-only file begins again, with the new data as its base, when loading ends.
        self.log.suspend(self, may_wait);
        let rules = load::Rules { checks, overdue: Overdue::Keep, merge: false, patterns: None };
        self.replace_keyspace(|persist, _| {
            let loaded = match placing {
                Placing::Instead => persist.load_instead(file, rules),
                Placing::Beside { .. } => persist.load_beside(file, rules, may_wait),
            }?;
            let imports = loaded.imports.into_iter().map(|import| (import.name, import.ranges));
            persist.engine.follow_imports(imports);
            if let Some(open) = loaded.open_slots {
                persist.engine.follow_open_slots(open);
            }
            let db = loaded.history.map_or(0, |history| history.db);
            on_loaded(Received { db, is_portable: loaded.is_portable });
            Ok(loaded.rest)
        })
    }

    /// Loads a snapshot in the place of the data, which is gone if the snapshot breaks off.
    fn load_instead<R: Read>(
        &self,
        file: FileReader<R>,
        rules: load::Rules<'_>,
    ) -> Result<load::Loaded<R>, LoadError> {
        let lazily = self.config().is_yes("replica-lazy-flush");
        self.engine.lose_data();
        self.clear(lazily)?;
        load::load_opened(&self.engine, &self.engine.persistence().load, file, rules).or_else(|error| {
            self.clear(lazily)?;
            Err(LoadError::Snapshot(error))
        })
    }

    /// Loads a snapshot beside the data, of which it takes the place when it is whole.
    fn load_beside<R: Read>(
        &self,
        file: FileReader<R>,
        rules: load::Rules<'_>,
        may_wait: &MayWait,
    ) -> Result<load::Loaded<R>, LoadError> {
        let engine = &self.engine;
        let beside = engine.without_data();
        let loaded = load::load_opened(&beside, &engine.persistence().load, file, rules);
        let loaded = loaded.map_err(LoadError::Snapshot)?;
        // Scripts of clients may run: this thread can wait for their end.
        let turn = engine.take_turn(may_wait);
        self.notice("PRIMARY <-> REPLICA sync: Swapping active DB with loaded DB");
        // The name of its history comes with `on_loaded`, unless the link has ended meanwhile.
        engine.lose_data();
        engine.take_data(&beside, &turn);
        Ok(loaded)
    }

    /// Waits for the end of a script that runs: what has come of the primary would have to be thrown away, and sent again, if the
    /// script turned out to run for long only when clients have been told that the data is being loaded. Then nobody could end it, either.
    fn wait_for_script(&self, may_wait: &MayWait) {
        if self.engine.try_take_turn(NoShards::outside_commands()).is_err() {
            self.notice(
                "PRIMARY <-> REPLICA sync: Waiting for the running script to end before loading the snapshot",
            );
            drop(self.engine.take_turn(may_wait));
        }
    }

    /// Empties the keyspace; the memory is freed in the background if `lazily` says so.
    fn clear(&self, lazily: bool) -> Result<(), LoadError> {
        let turn = self.engine.try_take_turn(NoShards::outside_commands());
        let turn = turn.map_err(|Busy| LoadError::ScriptBusy)?;
        self.engine.clear(turn.may_wait(), lazily);
        Ok(())
    }
}
