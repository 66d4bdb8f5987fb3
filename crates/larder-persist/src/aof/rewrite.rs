//! Making a new base from a snapshot.

use super::file::{AppendFile, State, open_increment, whole_place};
use super::manifest::{Manifest, Part, Place};
use crate::error::WriteError;
use crate::files::{forget_pages_of, put_in_place};
use crate::pace::Pace;
use crate::snapshot;
use crate::state::{Persist, Purpose};
use crate::temporary;
use larder_engine::{Engine, LogLevel, MayWait, Snapshot, wall_s};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Rewrites the file and records the outcome; the state says already that it is being done.
pub fn run(file: &AppendFile, persist: &Persist, may_wait: &MayWait) {
    let started = Instant::now();
    let outcome = rewrite(file, persist, may_wait);
    let size = file.size();
    let mut log = persist.engine.persistence().log.lock();
    log.rewriting_since_s = None;
    log.last_took_s = Some(started.elapsed().as_secs());
    log.last_try_s = wall_s();
    log.rewrite_failed = outcome.is_err();
    // Switched on, the file begins with a rewrite: without one nothing is logged.
    log.rewrite_scheduled |= outcome.is_err() && log.enabled && !persist.engine.append_log().is_on();
    if let Ok(begins) = outcome {
        // The log may have been switched off and on since: the base of a log that was on before is not the one that is waited for.
        log.waits_for_base &= !begins;
        log.rewrites += 1;
        (log.size, log.base_size) = (size, size);
    }
    drop(log);
    persist.engine.serve_ack_waiters();
    match outcome {
        Ok(_) => {
            persist.notice("Background AOF rewrite terminated with success");
            persist.notice("Background AOF rewrite finished successfully");
        }
        Err(error) => {
            persist.warning(&format!("Background AOF rewrite failed: {error}"));
            persist.warning("Background AOF rewrite terminated with error");
        }
    }
}

/// The file that the log goes over to.
struct Begun {
    place: Place,
    part: Part,
    /// Where it is until the manifest lists it, with the base that comes before it.
    temporary: Option<PathBuf>,
}

impl Begun {
    /// Gives the file its name, just before the manifest lists it.
    fn name(&self) -> io::Result<()> {
        self.temporary
            .iter()
            .try_for_each(|temporary| fs::rename(temporary, self.place.path(&self.part.name)))
    }

    /// Takes away a file that nobody needs, unless the manifest lists it: a failure may have come after that.
    fn discard(&self, persist: &Persist) {
        let Some(temporary) = &self.temporary else { return };
        let is_listed = match Manifest::read(&self.place) {
            Ok(manifest) => manifest.is_some_and(|manifest| manifest.increments.contains(&self.part)),
            Err(_) => true,
        };
        // It has one of the names.
        if fs::remove_file(temporary).is_err() && !is_listed {
            let _ = fs::remove_file(self.place.path(&self.part.name));
        }
        persist.temporaries.keep(temporary);
    }
}

/// Writes a new base; whether the log begins with it, and was not on before.
fn rewrite(file: &AppendFile, persist: &Persist, may_wait: &MayWait) -> Result<bool, WriteError> {
    let _reading = persist.snapshot_turn.lock();
    let was_on = is_kept(persist);
    let begins = is_enabled(persist) && !was_on;
    // Without logging there is nothing to follow the base but a file that stays empty.
    let (begun, opened) = begin_increment(file, persist, was_on)?;
    let mut opened = Some(opened);
    let turn = persist.engine.take_turn(may_wait);
    let snapshot = persist.engine.snapshot(&turn, || {
        let log = persist.engine.append_log();
        if was_on || begins {
            opened.take().into_iter().for_each(|opened| file.sink().push_next(opened));
            log.cut();
        }
        if begins {
            log.set_on(true);
        }
    });
    drop(turn);
    let outcome = snapshot
        .ok_or(WriteError::SnapshotTaken)
        .and_then(|snapshot| replace_base(file, persist, &snapshot, &begun, begins));
    if outcome.is_err() || !begins {
        begun.discard(persist);
    } else {
        begun.temporary.iter().for_each(|temporary| persist.temporaries.keep(temporary));
    }
    if begins && (outcome.is_err() || !is_enabled(persist)) {
        persist.engine.stop_log(&persist.engine.take_turn(may_wait));
    }
    outcome.map(|()| begins)
}

/// Whether what is done goes into the files that the manifest lists. While DEBUG RELOAD or DEBUG LOADAOF replaces the keyspace by itself, effects are
/// not wanted, but the log is as it was, and goes on afterwards.
fn is_kept(persist: &Persist) -> bool {
    let log = persist.engine.persistence().log.lock();
    persist.engine.append_log().is_on() || log.enabled && !log.waits_for_base
}

fn is_enabled(persist: &Persist) -> bool {
    persist.engine.persistence().log.lock().enabled
}

/// Makes the file that the log goes over to, where the configuration puts it by now. One that nothing is written to before the manifest
/// lists it has its name at once; otherwise a process that is killed would leave a log without its base under a name that a log has.
fn begin_increment(file: &AppendFile, persist: &Persist, was_on: bool) -> Result<(Begun, File), WriteError> {
    let mut state = file.state.lock();
    let place = whole_place(persist.config(), &persist.dir)?;
    if state.place != place && !was_on {
        state.manifest = Manifest::read(&place)?.unwrap_or_default();
    }
    state.place = place.clone();
    fs::create_dir_all(&place.dir)?;
    let part = state.manifest.next_increment(&place);
    let name = format!("temp-incr-{}.aof", std::process::id());
    let temporary = (!was_on).then(|| place.path(&name));
    if let Some(temporary) = &temporary {
        persist.temporaries.add(temporary)?;
    }
    let opened = open_increment(temporary.as_deref().unwrap_or(&place.path(&part.name)))?;
    persist.say(LogLevel::Notice, &format!("Creating AOF incr file {} on background rewrite", part.name));
    if was_on {
        // Before anything is written there, the manifest must know of it.
        state.change(&persist.temporaries, |manifest| manifest.push_increment(part.clone()))?;
    }
    Ok((Begun { place, part, temporary }, opened))
}

/// Makes a base that stands for everything before an increment, and has the manifest say so.
fn replace_base(
    file: &AppendFile,
    persist: &Persist,
    snapshot: &Snapshot,
    begun: &Begun,
    begins: bool,
) -> Result<(), WriteError> {
    let Begun { place, part, .. } = begun;
    let manifest = file.state.lock().manifest.clone();
    let base = write_base(persist, snapshot, place, &manifest)?;
    let mut state = file.state.lock();
    // The log may have been switched off, and on at another place.
    if state.place != *place {
        return Err(io::Error::other("the append-only file has moved to another directory").into());
    }
    if begins {
        begun.name()?;
    }
    state.change(&persist.temporaries, |manifest| {
        if begins {
            manifest.push_increment(part.clone());
        }
        manifest.rebase(base, part.seq);
    })?;
    let history: Vec<_> = state.manifest.history.iter().map(|part| place.path(&part.name)).collect();
    drop(state);
    let mut pace = Pace::of(&persist.engine);
    if persist.config().is_yes("aof-disable-auto-gc") {
        return Ok(());
    }
    history.iter().for_each(|path| forget_pages_of(path, &mut pace));
    Ok(forget_history(&mut file.state.lock(), persist)?)
}

/// Writes a base and puts it in its place.
pub fn write_base(
    persist: &Persist,
    snapshot: &Snapshot,
    place: &Place,
    manifest: &Manifest,
) -> Result<Part, WriteError> {
    let is_rdb = persist.config().is_yes("aof-use-rdb-preamble");
    let part = manifest.next_base(place, is_rdb);
    let temporary = place.path(&format!("temp-rewriteaof-bg-{}.aof", std::process::id()));
    let target = place.path(&part.name);
    persist.temporaries.write(&temporary, |temporary| {
        if is_rdb {
            snapshot::write(&persist.engine, snapshot, &persist.options(Purpose::LogBase, false), temporary)?;
        } else {
            write_commands(&persist.engine, snapshot, temporary)?;
        }
        Ok::<(), WriteError>(put_in_place(temporary, &target, &mut Pace::of(&persist.engine))?)
    })?;
    Ok(part)
}

/// Writes a snapshot as commands.
fn write_commands(engine: &Engine, snapshot: &Snapshot, path: &Path) -> io::Result<()> {
    let mut pace = Pace::of(engine);
    let mut to = BufWriter::with_capacity(1 << 20, temporary::open(path)?);
    if engine.config().is_yes("aof-timestamp-enabled") {
        writeln!(to, "#TS:{}\r", wall_s())?;
    }
    for text in snapshot.functions() {
        to.write_all(&larder_engine::function_command(text))?;
    }
    for database in snapshot.databases() {
        to.write_all(&larder_engine::select_command(database.index))?;
        let mut bytes = Vec::new();
        snapshot.for_each(database.index, |record| {
            bytes.clear();
            larder_engine::commands_of(&record, &mut bytes);
            pace.step();
            if engine.persistence().ending.load(Relaxed) {
                return Err(io::Error::other("cancelled"));
            }
            to.write_all(&bytes)
        })?;
    }
    let file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
}

/// Deletes what the manifest lists as history.
pub(super) fn forget_history(state: &mut State, persist: &Persist) -> io::Result<()> {
    let place = state.place.clone();
    state.change(&persist.temporaries, |manifest| {
        let needed: Vec<String> = manifest.parts().map(|part| part.name.clone()).collect();
        manifest.history.retain(|part| {
            // Who has written the manifest by hand may have listed a file twice.
            if needed.contains(&part.name) {
                return false;
            }
            persist.notice(&format!("Removing the history file {}", part.name));
            let removed = fs::remove_file(place.path(&part.name));
            removed.is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
        });
    })
}
