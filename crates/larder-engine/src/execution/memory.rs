//! `maxmemory`: room is made before a command, or the command is refused.

use crate::clients::session::Session;
use crate::command::spec::{Command, Found, flags};
use crate::context::{Context, WorkerState};
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::eviction::{Outcome, Turn};
use crate::host::LogLevel;
use crate::ledger::assert_no_shard_is_held;
use crate::scripts::declared::flags_of;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Too much memory is in use, and nothing can be evicted.
pub(crate) const OUT_OF_MEMORY: CommandError =
    CommandError::Fixed("OOM command not allowed when used memory > 'maxmemory'.");

/// To be called before a command, with no shard held: evicts what exceeds `maxmemory`. An error says that too much memory is
/// in use and nothing can be evicted: commands with `DENYOOM`, and writes of scripts, are to be refused with it.
#[inline]
pub(crate) fn make_room(engine: &Engine, worker: &mut WorkerState) -> Result<(), CommandError> {
    assert_no_shard_is_held("makes room");
    if !worker.evictor.is_over(engine, &worker.invalidations) {
        return Ok(());
    }
    make_room_now(engine, worker)
}

/// [`make_room`] before a command of a client, which is refused if it might use more memory and there is
/// none. Commands that MULTI queues are judged likewise, and EXEC by what is queued.
#[inline]
pub(crate) fn before_command(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &Session,
    found: Found,
    args: Args<'_>,
) -> CommandResult {
    if engine.config.hot.maxmemory.load(Relaxed) == 0 {
        worker.evictor.is_out_of_memory = false;
        return Ok(());
    }
    // While a script takes its time nothing may wait for a shard: this thread may be the one that runs it.
    if session.replays && session.import.is_none() || engine.gate.is_busy() || engine.ignores_maxmemory() {
        worker.evictor.is_out_of_memory = false;
        return Ok(());
    }
    let room = make_room(engine, worker);
    worker.evictor.is_out_of_memory = room.is_err();
    match room {
        Err(error) if needs_room(engine, session, found.command, args) => Err(error),
        _ => Ok(()),
    }
}

#[cold]
fn needs_room(engine: &Engine, session: &Session, command: &Command, args: Args<'_>) -> bool {
    match session.commands_of_exec() {
        Some(queue) if command.name == "exec" => queue.needs_room(),
        _ => flags_of(&engine.scripts, command, args) & flags::DENYOOM != 0,
    }
}

/// CONFIG SET has changed the limit: keeps to it at once, as far as the time allows.
pub(crate) fn limit_was_set(context: &mut Context<'_>) {
    let engine = context.engine;
    let limit = engine.config.hot.maxmemory.load(Relaxed);
    let used = context.worker.evictor.read_growth(engine);
    if limit == 0 || used <= limit {
        return;
    }
    let line = format!(
        "The new maxmemory of {limit} bytes is below the {used} bytes in use: keys will be evicted, or writes refused, as \
         maxmemory-policy says."
    );
    engine.host.log(LogLevel::Warning, &line);
    // A script may hold nothing and lend its shards: it cannot wait for itself.
    if context.held.is_none() && !context.in_script {
        let _ = make_room(engine, context.worker);
    }
}

#[cold]
fn make_room_now(engine: &Engine, worker: &mut WorkerState) -> Result<(), CommandError> {
    if engine.pause.in_force(worker.clock.wall_ms()) {
        return Ok(());
    }
    let time = tenacity(engine.config.hot.maxmemory_eviction_tenacity.load(Relaxed));
    let turn = Turn {
        engine,
        rules: worker.access,
        time,
        now_ms: worker.clock.wall_ms(),
        mono_ms: worker.clock.mono_ms(),
        from: Some(worker.index),
        limit: engine.config.hot.maxmemory.load(Relaxed),
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
