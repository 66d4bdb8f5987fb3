//! The append-only file: a snapshot, and what was done since, in files that a manifest lists.
//!
//! Workers write what is in the log of effects before their replies leave, and a thread syncs it as `appendfsync` says.
//! With `always` that thread writes it too, and the event loops hold replies back until the sync that covers
//! them; those that come while one is under way share the next. Rewriting makes a new base from a snapshot;
//! in the instant that it shows, the log goes over to a new file.

mod commands;
pub mod file;
pub mod load;
mod manifest;
mod rewrite;
mod sink;
mod torn;
mod writer;

use crate::error::WriteError;
use crate::state::{Persist, RETRY_S};
use crate::turn::{Waits, turn_of};
use file::{AppendFile, State, open_increment, try_place, whole_place};
use larder_engine::{ApplyError, Engine, LogLevel, MayWait, NoShards, wall_s};
use manifest::{Manifest, Part, Place};
use std::fs::{self, File};
use std::io;
use std::sync::Arc;
use std::time::Duration;

impl AppendFile {
    /// Opens the file at the start, after loading, and begins to log. Without a base, one is made of the keyspace.
    ///
    /// # Errors
    /// The manifest cannot be read, or a file not be made.
    pub fn open(&self, persist: &Arc<Persist>) -> Result<(), WriteError> {
        let waits = Waits::ForClients(NoShards::outside_commands());
        let place = whole_place(persist.config(), &persist.dir)?;
        fs::create_dir_all(&place.dir)?;
        let listed = Manifest::read(&place)?;
        let mut manifest = listed.clone().unwrap_or_default();
        sync_parts(&place, &manifest)?;
        if manifest.is_empty() {
            let _reading = persist.snapshot_turn.lock();
            let turn = turn_of(&persist.engine, waits)?;
            let snapshot = persist.engine.snapshot(&turn, || ());
            let snapshot = snapshot.ok_or(WriteError::SnapshotTaken)?;
            let base = rewrite::write_base(persist, &snapshot, &place, &manifest)?;
            persist.say(LogLevel::Notice, &format!("Creating AOF base file {} on server start", base.name));
            manifest.rebase(base, 1);
        }
        if manifest.increments.is_empty() {
            manifest.push_increment(first_increment(persist, &place, &manifest)?);
        }
        let last = manifest.increments.last().expect("there is one now");
        let file = open_increment(&place.path(&last.name))?;
        if listed.as_ref() != Some(&manifest) {
            manifest.write(&place, &persist.temporaries)?;
        }
        let mut state = self.state.lock();
        *state = State { place, manifest, has_writer: state.has_writer };
        self.sink.push_next(file);
        if !state.manifest.history.is_empty() && !persist.config().is_yes("aof-disable-auto-gc") {
            rewrite::forget_history(&mut state, persist)?;
        }
        drop(state);
        self.begin(persist)?;
        persist.engine.start_log(&turn_of(&persist.engine, waits)?, |log| log.cut());
        Ok(())
    }

    /// Marks the file as kept, notes its size, and starts the writer if there is none.
    fn begin(&self, persist: &Arc<Persist>) -> io::Result<()> {
        let size = self.size();
        let mut log = persist.engine.persistence().log.lock();
        (log.enabled, log.size, log.base_size) = (true, size, size);
        drop(log);
        self.need_writer(&mut self.state.lock(), persist)
    }

    /// CONFIG SET appendonly yes: begins with a rewrite.
    pub fn enable(&self, persist: &Arc<Persist>) -> Result<(), ApplyError> {
        let mut state = self.state.lock();
        if persist.engine.persistence().log.lock().enabled {
            return Ok(());
        }
        if persist.is_log_lost() {
            persist
                .warning("The append-only file cannot be enabled after a failed write: restart the server");
            return Err(ApplyError::AppendOnlyFile);
        }
        let unusable = |text: String| {
            persist.say(LogLevel::Warning, &text);
            ApplyError::AppendOnlyFile
        };
        state.place = whole_place(persist.config(), &persist.dir)
            .and_then(|place| try_place(&place).map(|()| place))
            .map_err(|error| unusable(format!("Can't write to the directory of the AOF: {error}")))?;
        let manifest = Manifest::read(&state.place).map_err(|error| unusable(error.to_string()))?;
        state.manifest = manifest.unwrap_or_default();
        self.need_writer(&mut state, persist).map_err(ApplyError::AppendOnlyThread)?;
        // It begins at once, unless something else is being written.
        let persistence = persist.engine.persistence();
        let save = persistence.save.lock();
        let mut log = persistence.log.lock();
        let is_free = save.running_since_s.is_none() && log.rewriting_since_s.is_none();
        (log.enabled, log.rewrite_scheduled, log.waits_for_base) = (true, !is_free, true);
        persist.engine.gate().set_log_failed(!log.write_error.is_empty());
        if is_free {
            log.rewriting_since_s = Some(wall_s());
            persist.rewrite_in_background();
        }
        Ok(())
    }

    /// Starts the writer if there is none.
    fn need_writer(&self, state: &mut State, persist: &Arc<Persist>) -> io::Result<()> {
        if !state.has_writer {
            persist.threads.lock().push(writer::start(Arc::clone(persist))?);
            state.has_writer = true;
        }
        Ok(())
    }

    /// After CONFIG SET appendonly no, unless it says yes again by now. No shard must be held.
    pub fn stop(&self, persist: &Persist, may_wait: &MayWait) {
        self.stop_unless(persist, may_wait, || persist.config().is_yes("appendonly"));
    }

    /// Before the data is replaced by that of a primary: the file says what it says until it begins again, with the new data as its base.
    pub fn suspend(&self, persist: &Persist, may_wait: &MayWait) {
        self.stop_unless(persist, may_wait, || false);
    }

    fn stop_unless(&self, persist: &Persist, may_wait: &MayWait, is_wanted: impl FnOnce() -> bool) {
        let mut log = persist.engine.persistence().log.lock();
        // Under the lock, so that whoever says yes sees either what this does or that the log is kept.
        if is_wanted() || !std::mem::replace(&mut log.enabled, false) {
            return;
        }
        (log.rewrite_scheduled, log.waits_for_base) = (false, false);
        persist.engine.gate().set_log_failed(false);
        drop(log);
        persist.engine.stop_log(&persist.engine.take_turn(may_wait));
        self.wait_until_written(&persist.engine);
        // On a disk that fails, what was acknowledged by `appendfsync always` at the last moment would be held back for good.
        persist.engine.log_is_over();
        persist.process.wake_holders();
    }

    /// Waits until everything that is in the log is on the disk.
    pub fn wait_until_written(&self, engine: &Engine) {
        let log = engine.append_log();
        if !self.state.lock().has_writer {
            return;
        }
        let end = log.end();
        while log.synced() < end {
            if !engine.persistence().log.lock().write_error.is_empty() {
                return;
            }
            log.request_sync();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Called `hz` times a second: has the file rewritten when it has grown enough.
    pub fn cron(&self, persist: &Persist) {
        let config = persist.config();
        let percentage = config.number("auto-aof-rewrite-percentage") as u64;
        let least = config.number("auto-aof-rewrite-min-size") as u64;
        let saves = persist.engine.persistence().save.lock().running_since_s.is_some();
        let mut log = persist.engine.persistence().log.lock();
        let busy = saves || log.rewriting_since_s.is_some() || log.rewrite_scheduled;
        let waits = log.rewrite_failed && wall_s() < log.last_try_s + RETRY_S;
        if !log.enabled || busy || waits || percentage == 0 || log.size <= least {
            return;
        }
        let base = log.base_size.max(1);
        let growth = (log.size * 100 / base).saturating_sub(100);
        if growth >= percentage {
            log.rewrite_scheduled = true;
            drop(log);
            persist
                .say(LogLevel::Notice, &format!("Starting automatic rewriting of AOF on {growth}% growth"));
        }
    }

    /// Rewrites the file from a snapshot.
    pub fn rewrite(&self, persist: &Persist, may_wait: &MayWait) {
        rewrite::run(self, persist, may_wait);
    }
}

/// Syncs the files that the start has loaded: the process before may have been killed before it synced them. Clients read their data from
/// here on, and later effects, which are synced in a file of their own, build on it.
fn sync_parts(place: &Place, manifest: &Manifest) -> io::Result<()> {
    for part in manifest.parts() {
        match File::open(place.path(&part.name)) {
            Ok(file) => file.sync_data()?,
            // Without data to load, the server makes what is missing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The increment of a manifest that lists none: a new file. If there is one already that the manifest does not list, it is appended to,
/// as Valkey does: the next start loads what it has. A file to which nothing can be appended stays as it is.
fn first_increment(persist: &Persist, place: &Place, manifest: &Manifest) -> io::Result<Part> {
    if let Some(part) = manifest.unlisted_increment(place) {
        let path = place.path(&part.name);
        if commands::is_whole(&path)? {
            persist.say(
                LogLevel::Warning,
                &format!(
                    "The AOF incr file {} is not in the manifest and was not loaded. New writes are appended to it, \
                     and the next start loads the whole file",
                    path.display()
                ),
            );
            return Ok(part);
        }
        persist.say(
            LogLevel::Warning,
            &format!("The file {} is not in the manifest and is ignored", path.display()),
        );
    }
    let part = manifest.next_increment(place);
    persist.say(LogLevel::Notice, &format!("Creating AOF incr file {} on server start", part.name));
    Ok(part)
}
