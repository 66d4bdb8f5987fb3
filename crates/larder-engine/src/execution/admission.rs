//! Commands that must not run now. Refused are: what may not run while data is loaded, writes on a replica
//! that only reads, reads of stale data, and writes while the disk fails or too few replicas follow. What
//! waits instead: commands while clients are paused, and those on keys that MIGRATE is moving.

use crate::clients::pause::{is_for_primary, may_write};
use crate::clients::session::{Session, client_flags};
use crate::command::keys;
use crate::command::spec::{Command, Found, Scope, flags};
use crate::context::flow::Flow;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;

const READ_ONLY_ERROR: CommandError =
    CommandError::Fixed("READONLY You can't write against a read only replica.");
pub(crate) const STALE_ERROR: CommandError =
    CommandError::Fixed("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.");
const REPLICAS_ERROR: CommandError = CommandError::Fixed("NOREPLICAS Not enough good replicas to write.");

/// Refuses what must not be done now. `flags` hold of the command as it is called.
#[cold]
pub(crate) fn check(engine: &Engine, session: &Session, command: &Command, flags: u32) -> CommandResult {
    if session.replays {
        return Ok(());
    }
    // EXEC stands for what it runs.
    let queued = session.commands_of_exec().filter(|_| command.name == "exec");
    if flags & flags::WRITE != 0 || queued.is_some_and(|queue| queue.has_writes()) {
        check_writes(engine, session)?;
    } else if command.name == "ping" {
        check_disk(engine)?;
    }
    if engine.gate.is_stale()
        && (flags & flags::STALE == 0 || queued.is_some_and(|queue| !queue.all_while_stale()))
    {
        return Err(STALE_ERROR);
    }
    if engine.gate.is_loading_for(command)
        || queued.is_some_and(|queue| queue.any(|command| engine.gate.is_loading_for(command)))
    {
        return Err(loading_error(engine));
    }
    Ok(())
}

/// Sends a client that has asked for it from a replica to its primary: with what writes, and with what reads unless the client
/// has said READONLY. Not while this server hands over: until the other one leads, each would send the client to the other. Returns
/// whether the command waits for that, and nothing else is to be asked now.
#[cold]
pub(super) fn check_place(
    engine: &Engine,
    session: &Session,
    command: &Command,
    flags: u32,
) -> CommandResult<bool> {
    if session.replays || !is_for_primary(session, command, flags) {
        return Ok(false);
    }
    match engine.place_of_primary() {
        Some(_) if engine.pause.awaits_leader() => Ok(true),
        Some(error) => Err(error),
        None => Ok(false),
    }
}

/// Refuses what writes, when that must not be done now.
#[cold]
pub(crate) fn check_writes(engine: &Engine, session: &Session) -> CommandResult {
    if session.replays {
        return Ok(());
    }
    check_disk(engine)?;
    if engine.gate.lacks_replicas() {
        return Err(REPLICAS_ERROR);
    }
    if engine.gate.is_read_only() { Err(READ_ONLY_ERROR) } else { Ok(()) }
}

/// Returns the error of a command that must not run while data is loaded.
pub(crate) fn loading_error(engine: &Engine) -> CommandError {
    let name = engine.config.product().name();
    CommandError::text(format!("LOADING {name} is loading the dataset in memory"))
}

fn snapshot_error(engine: &Engine) -> CommandError {
    let name = engine.config.product().name();
    CommandError::text(format!(
        "MISCONF {name} is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that \
         may modify the data set are disabled, because this instance is configured to report errors during writes if RDB \
         snapshotting fails (stop-writes-on-bgsave-error option). Please check the {name} logs for details about the RDB \
         error."
    ))
}

fn check_disk(engine: &Engine) -> CommandResult {
    if engine.gate.has_log_failed() {
        let reason = engine.persistence.log.lock().write_error.clone();
        return Err(CommandError::text(format!("MISCONF Errors writing to the AOF file: {reason}")));
    }
    let stops = engine.config.hot.stop_writes_on_bgsave_error.load(Relaxed);
    if engine.gate.has_snapshot_failed() && stops && !engine.config.value("save").is_empty() {
        return Err(snapshot_error(engine));
    }
    Ok(())
}

/// Whether a command, the shards of whose keys are held, must wait for keys that are on their way to another server.
#[inline]
pub(super) fn waits_for_departures(
    engine: &Engine,
    session: &Session,
    command: &Command,
    args: Args<'_>,
) -> bool {
    engine.departures.any() && concerns_departures(engine, session, command, args)
}

#[cold]
fn concerns_departures(engine: &Engine, session: &Session, command: &Command, args: Args<'_>) -> bool {
    if session.replays || !may_write(&engine.scripts, session, command, args) {
        return false;
    }
    match command.scope {
        // A second MIGRATE waits for the turn of the scripts. What CLUSTER FLUSHSLOT deletes meanwhile, the first one
        // finds to have changed.
        Scope::None | Scope::Walk => false,
        Scope::Keys => engine.departures.concern(session.db, &keys::collect(command, args)),
        // It may touch any key.
        Scope::All | Scope::Exec | Scope::Script | Scope::Sort => true,
    }
}

/// The command waits: the client counts as blocked by it until the pause ends.
#[cold]
pub(super) fn wait_for_pause(session: &mut Session, found: Found) -> Flow {
    session.shared.last_command.store(found.id + 1, Relaxed);
    session.shared.set_flag(client_flags::BLOCKED, true);
    session.paused = Some(found);
    Flow::Retry
}
