//! From the bytes of a command to its handler: what is refused before, what is locked meanwhile, what is counted after.

use super::monitor;
use crate::clients::session::{Closing, Mode, ReplyMode, Session, Suspended};
use crate::clients::{login, pause};
use crate::command::spec::{Command, Found, Scope, flags};
use crate::context::beside::Beside;
use crate::context::flow::Flow;
use crate::context::{Context, Rounds, WorkerState};
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::execution::checks::{check, check_again, confirms, may_have_changed};
use crate::execution::command_log::Executed;
use crate::execution::locking::{lock, runs_scripts};
use crate::execution::lookup::{find, subcommand, unknown_command};
use crate::execution::parts::{self, ARGUMENTS_MOMENT};
use crate::execution::silence::{replies_apart, silence, warn_of_reply};
use crate::execution::{admission, redirection, slot_stats};
use crate::execution::{blocking, transaction};
use crate::host::LogLevel;
use crate::keyspace::hash::slot_of;
use crate::keyspace::key::Key;
use crate::keyspace::known_hashes::KnownHashes;
use crate::keyspace::locks::{Held, Lends, Unlocked};
use crate::ledger::NoShards;
use crate::scripts::declared::flags_of;
use crate::text::word::is_word;
use larder_resp::{Args, Reply, Span};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Executes one command and appends its reply to `out`.
///
/// The arguments come by reference, here and below: a copy that is made shortly after they were put together waits until the processor has
/// written them.
#[inline]
pub(crate) fn execute(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    args: &Args<'_>,
    out: &mut Vec<u8>,
) -> Flow {
    execute_with(engine, worker, session, args, out, None)
}

/// The same for a command that may run scripts; `beside` looks after other clients meanwhile.
pub(crate) fn execute_script(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    args: &Args<'_>,
    out: &mut Vec<u8>,
    beside: &mut dyn Beside,
) -> Flow {
    execute_with(engine, worker, session, args, out, Some(beside))
}

#[inline]
fn execute_with(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    args: &Args<'_>,
    out: &mut Vec<u8>,
    rounds: Option<Rounds<'_>>,
) -> Flow {
    if session.paused.is_some() && waits_on(engine, worker, session, args) {
        return Flow::Retry;
    }
    let mark = out.len();
    worker.stats.current.begin(session.id(), args.len());
    worker.checked_hash = None;
    let admitted = match worker.admitted.take().filter(|_| rounds.is_some() || session.in_batch) {
        Some(found) => Ok(found),
        None => admit(engine, worker, session, *args),
    };
    let flow = match admitted {
        Ok(found) => {
            let is_plain = is_plain(engine, worker, session, found);
            let put_off = match is_plain {
                true => None,
                false => put_off(engine, worker, session, found, args, out, rounds.is_some()),
            };
            match put_off {
                Some(Flow::Next) => Flow::Next,
                Some(flow) => return flow,
                None => match run(engine, worker, session, found, args, out, rounds) {
                    // What holds for one command goes on to hold for one that is tried again.
                    flow @ (Flow::Apart | Flow::Long | Flow::Retry) => return flow,
                    flow if !is_plain && confirms(found.command) => {
                        silence(engine, worker, session, out.len(), out);
                        return flow;
                    }
                    flow => flow,
                },
            }
        }
        Err(refusal) => refuse(engine, worker, session, &refusal, out),
    };
    worker.stats.current.end();
    if session.asking {
        end_asking(session, *args);
    }
    silence(engine, worker, session, mark, out);
    if worker.invalidations.has_direct() || session.tracking.is_some() {
        super::tracking::finish_command(engine, worker, session, out);
    }
    if worker.heard_itself.get() {
        worker.heard_itself.set(false);
        return if flow == Flow::Next { Flow::Deliver } else { flow };
    }
    flow
}

/// Whether a command that was let in before a pause waits on. Until the pause ends nothing else is asked: what would refuse the command
/// may be over by then.
#[cold]
fn waits_on(engine: &Engine, worker: &WorkerState, session: &mut Session, args: &Args<'_>) -> bool {
    let Some(found) = session.paused.take() else { return false };
    let waits = session.shared.closing() == Closing::No
        && engine.pause.applies(&engine.scripts, worker.clock.wall_ms(), session, found, *args);
    session.paused = waits.then_some(found);
    waits
}

/// Whether a command is executed at once by this thread, and its reply is one like others: most are.
#[inline]
fn is_plain(engine: &Engine, worker: &WorkerState, session: &Session, found: Found) -> bool {
    !engine.pause.in_force(worker.clock.wall_ms())
        && session.multi.is_none()
        && session.debugging != Mode::Copy
        && !matches!(found.command.scope, Scope::Script | Scope::Exec)
        && !confirms(found.command)
}

/// What becomes of a command that is not to be executed now, or not by this call; `Next`: MULTI has queued it. `None`: it is to be executed.
#[inline(never)]
fn put_off(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    found: Found,
    args: &Args<'_>,
    out: &mut Vec<u8>,
    may_run_scripts: bool,
) -> Option<Flow> {
    if engine.pause.applies(&engine.scripts, worker.clock.wall_ms(), session, found, *args) {
        return Some(admission::wait_for_pause(session, found));
    }
    if transaction::queues(session, found) {
        let flags = flags_of(&engine.scripts, found.command, *args);
        transaction::queue(session, found, *args, flags, engine.database_count());
        out.extend_from_slice(b"+QUEUED\r\n");
        if slot_stats::is_on(engine) {
            slot_stats::note_queued(worker, found, *args);
        }
        return Some(Flow::Next);
    }
    if !may_run_scripts && wants_copy(session, found.command) {
        return Some(Flow::Debug);
    }
    if !may_run_scripts && runs_scripts(session, found.command) {
        worker.admitted = Some(found);
        return Some(Flow::Script);
    }
    None
}

/// ASKING is for one command, or for one transaction.
#[cold]
fn end_asking(session: &mut Session, args: Args<'_>) {
    session.asking = session.multi.is_some() || args.get(0).is_some_and(|name| is_word(name, "asking"));
}

/// Whether a command is a script to be debugged on a copy of the data.
fn wants_copy(session: &Session, command: &Command) -> bool {
    session.debugging == Mode::Copy && matches!(command.name, "eval" | "eval_ro")
}

/// Why a command was refused before it ran.
enum Refusal {
    /// With an answer.
    Error { error: CommandError, found: Option<Found> },
    /// With none: the connection is closed at once.
    Hangup,
}

impl Refusal {
    /// Those whose user is removed are not answered.
    fn of(session: &Session, found: Found, error: CommandError) -> Refusal {
        match login::is_nobodys(session) {
            true => Refusal::Hangup,
            false => Refusal::Error { error, found: Some(found) },
        }
    }

    /// Those who have not said who they are learn nothing of the commands.
    fn unknown(session: &Session, error: CommandError) -> Refusal {
        let error = if session.authenticated { error } else { CommandError::NO_AUTH };
        Refusal::Error { error, found: None }
    }
}

/// Finds the command and checks what can be checked before it runs or is queued.
#[inline]
fn admit(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    args: Args<'_>,
) -> Result<Found, Refusal> {
    let Some(found) = find(engine, worker, args.get(0).unwrap_or(b""), session.replays) else {
        return Err(refuse_unknown(engine, worker, session, args));
    };
    let found = subcommand(found, args).map_err(|error| Refusal::unknown(session, error))?;
    if session.reply_mode == ReplyMode::Replica && replies_apart(found) {
        warn_of_reply(engine);
        return Err(Refusal::Hangup);
    }
    check(engine, worker, session, found, args)
        .and_then(|()| super::memory::before_command(engine, worker, session, found, args))
        .map_err(|error| Refusal::of(session, found, error))?;
    Ok(found)
}

#[cold]
fn refuse_unknown(engine: &Engine, worker: &WorkerState, session: &Session, args: Args<'_>) -> Refusal {
    let name = args.get(0).unwrap_or(b"");
    if !is_http(name) {
        return Refusal::unknown(session, unknown_command(args));
    }
    if engine.http_warning.is_due(worker.clock.wall_ms()) {
        engine.host.log(
            LogLevel::Warning,
            &format!(
                "Possible SECURITY ATTACK detected. It looks like somebody is sending POST or Host: commands to \
                 Larder. This is likely due to an attacker attempting to use Cross Protocol Scripting to compromise \
                 your Larder instance. Connection from {} aborted.",
                session.shared.addr
            ),
        );
    }
    Refusal::Hangup
}

/// Whether this begins a line of an HTTP request that a browser can be made to send to any port. What follows may have
/// been chosen by a stranger, so none of it is executed.
fn is_http(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

fn refuse(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    refusal: &Refusal,
    out: &mut Vec<u8>,
) -> Flow {
    let Refusal::Error { error, found } = refusal else {
        return if login::is_nobodys(session) { Flow::CloseAfterFlush } else { Flow::CloseNow };
    };
    session.shared.last_command.store(found.map_or(0, |found| found.id + 1), Relaxed);
    transaction::poison(session);
    if session.replays {
        super::replay::note_failure(engine, session, *found, error);
    }
    let is_exec = found.is_some_and(|found| found.command.name == "exec");
    // Whether or not there was MULTI.
    let aborting = is_exec.then(|| CommandError::Text(error.aborting()));
    if aborting.is_some() {
        transaction::forget(engine, session);
    }
    let error = aborting.as_ref().unwrap_or(error);
    crate::clients::tracking::end_caching(session, *found);
    count_refusal(engine, worker, *found, error);
    Reply::new(out, session.protocol).error(&error.wire());
    Flow::Next
}

/// Answers a command of a transaction that may not run any more.
pub(crate) fn refuse_queued(context: &mut Context<'_>, error: &CommandError) {
    count_refusal(context.engine, context.worker, Some(context.found), error);
    context.reply.error(&error.wire());
}

/// Counts an error that a script has returned.
pub(crate) fn count_error(engine: &Engine, worker: &WorkerState, text: &[u8]) {
    worker.returned_errors.set(true);
    worker.stats.errors.add(1);
    engine.errors.count(&CommandError::Custom(text.to_vec()));
}

/// Counts a command that was refused before it ran.
pub(crate) fn count_refusal(
    engine: &Engine,
    worker: &WorkerState,
    found: Option<Found>,
    error: &CommandError,
) {
    worker.stats.errors.add(1);
    if let Some(found) = found {
        worker.stats.commands[usize::from(found.id)].rejected.add(1);
    }
    engine.errors.count(error);
}

/// Locks, runs, serves those who waited, counts.
fn run(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    found: Found,
    args: &Args<'_>,
    out: &mut Vec<u8>,
    rounds: Option<Rounds<'_>>,
) -> Flow {
    if args.len() > ARGUMENTS_MOMENT && parts::is_given_away(worker, session, found) {
        return Flow::Long;
    }
    note(session, worker, found);
    if !engine.config.hot.hide_user_data_from_log.load(Relaxed) {
        worker.stats.current.keep(crate::execution::monitor::arguments(found.command, *args));
    }
    let start = out.len();
    let checked_hash = worker.checked_hash.take();
    let key = found.only_key(args.len()).map(|at| {
        let bytes = args.at(at);
        checked_hash.map_or_else(|| worker.known_hashes.key(bytes), |hash| Key { bytes, hash })
    });
    debug_assert!(key.as_ref().is_none_or(|key| key.hash == engine.key(key.bytes).hash), "it is of this key");
    let has_several = key.is_none();
    let several =
        if has_several { std::mem::take(&mut worker.command_hashes) } else { KnownHashes::default() };
    // The shards are let go at the end of this block, or before a refusal.
    let (flow, mut several, counted) = {
        // Made before the locks, which go where they stay: a lock that is copied costs as much as one that is taken.
        let mut context = Context {
            engine,
            db: session.db,
            reply: Reply::new(out, session.protocol),
            worker,
            session,
            held: Held::None,
            lends: Lends::Never,
            turn: None,
            found,
            hashed: key,
            several,
            flow: Flow::Next,
            ready: Vec::new(),
            in_exec: false,
            in_script: false,
            // Coerced one by one: the surroundings live shorter than the round's own.
            rounds: match rounds {
                Some(round) => Some(round),
                None => None,
            },
        };
        match lock(&mut context, args) {
            Ok(()) => {}
            Err(Unlocked::Busy)
                if found.command.has(flags::ALLOW_BUSY) && found.command.scope == Scope::Keys =>
            {
                // WATCH: it takes note of what it can, and takes the rest to have changed.
                context.lock_what_is_free(args);
            }
            Err(Unlocked::Busy) if !found.command.has(flags::ALLOW_BUSY) && !context.session.replays => {
                let error = engine.busy_error();
                drop(context);
                return refuse(engine, worker, session, &Refusal::Error { error, found: Some(found) }, out);
            }
            Err(Unlocked::Busy | Unlocked::Later) => return Flow::Retry,
        }
        if let Some(flow) = closes(context.session) {
            return flow;
        }
        if is_to_be_tried_again(&context, args) {
            return Flow::Retry;
        }
        let now_ms = context.worker.clock.wall_ms();
        if engine.pause.is_any()
            && engine.pause.applies(&engine.scripts, now_ms, context.session, found, *args)
        {
            drop(context);
            return admission::wait_for_pause(session, found);
        }
        if may_have_changed(engine, context.session)
            && let Err(error) = check_again(engine, context.session, found, *args)
        {
            drop(context);
            let refusal = Refusal::of(session, found, error);
            return refuse(engine, worker, session, &refusal, out);
        }
        if engine.cluster.is_on() {
            match check_slot(&mut context, args) {
                Ok(true) => {}
                Ok(false) => return Flow::Retry,
                Err(error) => {
                    drop(context);
                    return refuse(
                        engine,
                        worker,
                        session,
                        &Refusal::Error { error, found: Some(found) },
                        out,
                    );
                }
            }
        }
        // The thread that changes the role holds all shards.
        if context.worker.unit.as_ref().is_some_and(|unit| unit.epoch != engine.replication.epoch()) {
            return Flow::CloseNow;
        }
        context.worker.effects.begin(engine.append_log.is_on(), engine.append_log.streams());
        context.begin_check();
        let counted = if slot_stats::is_on(engine) {
            slot_stats::begin(context.worker, context.session, found, *args)
        } else {
            None
        };
        context.prefetch_several();
        call(&mut context, args);
        context.end_parts(!context.ready.is_empty() || !context.worker.effects.is_empty());
        if !context.ready.is_empty() {
            blocking::serve_ready(&mut context);
        }
        if !context.worker.effects.is_empty()
            || context.worker.unit.as_ref().is_some_and(|unit| !unit.is_passed_on)
        {
            if let Some(counted) = counted.as_ref().filter(|_| engine.append_log.streams()) {
                counted.note_sent_to_replicas(engine, context.worker);
            }
            context.append_effects();
        }
        if !context.worker.answers.is_empty() {
            context.send_answers();
        }
        context.end_check();
        if context.worker.long.late_reply.is_some() {
            context.reply_late();
        }
        (context.flow, std::mem::take(&mut context.several), counted)
    };
    engine.retry_put_aside();
    if has_several {
        several.forget();
        worker.command_hashes = several;
    }
    if std::mem::take(&mut worker.flushed) {
        engine.host.flushed(NoShards::of_command());
    }
    if matches!(flow, Flow::Apart | Flow::Long) {
        return flow;
    }
    if let Some(counted) = counted {
        counted.end(worker, session, &flow, out.len() - start);
    }
    crate::clients::tracking::end_caching(session, Some(found));
    // One that waits is logged when its wait is over.
    if session.suspended.is_none() {
        Executed { engine, worker, session, command: found.command, args: *args }
            .consider_sizes(out.len() - start);
    }
    flow
}

/// What becomes of a connection that another thread is closing: it executes no command any more. Looked at while the shards
/// of the command are held, so what it does under them comes before the connection was closed, or not at all. Replies to
/// earlier commands are still offered to the socket: they may have the only copy of an element.
#[inline]
fn closes(session: &Session) -> Option<Flow> {
    match session.shared.closing() {
        Closing::No => None,
        _ if session.replays => None,
        Closing::AfterFlush | Closing::Now => Some(Flow::CloseAfterFlush),
    }
}

/// Whether something has begun that the command must wait for. Looked at while the shards are held.
#[inline]
fn is_to_be_tried_again(context: &Context<'_>, args: &Args<'_>) -> bool {
    let (engine, session, command) = (context.engine, &*context.session, context.found.command);
    // The thread that closes the gate holds all shards. A batch has begun before.
    (engine.gate.is_closing() && !session.in_batch && pause::may_write(&engine.scripts, session, command, *args))
        || admission::waits_for_departures(engine, session, command, *args)
        // The thread that replaces the data closes the gate first, and then waits until nobody holds a shard any more.
        || (engine.gate.is_loading_for(command) && !session.is_of_file())
}

/// Whether a node of a cluster executes the command now: rule R1 of `redirection.rs`. False: it is to be tried again.
fn check_slot(context: &mut Context<'_>, args: &Args<'_>) -> CommandResult<bool> {
    let (engine, session, found) = (context.engine, &*context.session, context.found);
    let slot = context.hashed.as_ref().map(|key| slot_of(key.hash));
    if engine.pause.is_for_failover_of(slot)
        && session.import.is_none()
        && pause::may_write(&engine.scripts, session, found.command, *args)
    {
        return Ok(false);
    }
    if !slot.is_some_and(|slot| redirection::serves_plainly(engine, context.worker, slot)) {
        redirection::check(engine, context.worker, session, (found, *args), Some(&mut context.held))?;
    }
    Ok(true)
}

/// Runs the handler over locks that are held already, and counts. Transactions call it for each of their commands.
/// False: the command has failed. A command whose client waits from now on has not.
pub(crate) fn call(context: &mut Context<'_>, args: &Args<'_>) -> bool {
    let (mark, begun_ns) = (context.reply.mark(), context.worker.clock.mono_ns());
    let stats = &context.worker.stats;
    let (dirty, hits, misses) = (stats.dirty.get(), stats.hits.get(), stats.misses.get());
    context.worker.effects.begin_command();
    // Scripts are shown before what they call, and once.
    let is_shown = context.found.command.scope == Scope::Script && context.engine.clients.has_monitors();
    if is_shown && !std::mem::take(&mut context.session.is_shown) {
        monitor::show(context, *args);
    }
    let result = (context.worker.handlers[usize::from(context.found.id)])(context, *args);
    if result.is_err() {
        context.worker.long.late_reply = None;
    }
    if matches!(result, Err(CommandError::Postponed)) {
        // It is counted, logged and shown when it is executed.
        context.reply.truncate(mark);
        if context.flow == Flow::Next {
            context.flow = Flow::Long;
        }
        context.session.is_shown = is_shown;
        context.worker.stats.hits.put_back(hits);
        context.worker.stats.misses.put_back(misses);
        return false;
    }
    // A script has read what its commands have read, whatever keys it declares.
    if context.session.tracking.is_some()
        && context.found.command.has(flags::READONLY)
        && context.found.command.scope != Scope::Script
    {
        super::tracking::remember(context, *args);
    }
    // What EXEC runs has been noted by itself.
    if context.worker.effects.as_given()
        && context.worker.stats.dirty.get() != dirty
        && context.found.command.has(flags::WRITE)
    {
        context.propagate_as_given(*args);
    }
    context.worker.effects.end_command();
    let mut took = context.worker.clock.advance();
    if matches!(context.found.command.scope, Scope::Script | Scope::Exec) {
        // The commands that it has run have moved the clock on.
        took = context.worker.clock.mono_ns() - begun_ns;
    }
    if let Err(error) = &result {
        context.reply.truncate(mark);
        context.reply.error(&error.wire());
        if context.session.replays && !context.in_script {
            super::replay::note_failure(context.engine, context.session, Some(context.found), error);
        }
        if !matches!(error, CommandError::Counted(_)) {
            context.engine.errors.count(error);
            context.worker.stats.errors.add(1);
        }
    }
    monitor::feed(context, *args);
    context.worker.stats.processed.add(1);
    if matches!(context.flow, Flow::Blocked { .. }) {
        // It is counted and logged when its wait is over.
        suspend(context, args, took);
        return true;
    }
    let has_failed = context.worker.returned_errors.take() || result.is_err();
    let outcome = if has_failed { Outcome::Failed } else { Outcome::Done };
    record(context.engine, context.worker, context.session, context.found, args, took, outcome);
    result.is_ok()
}

/// Keeps a command whose client waits from now on.
#[cold]
fn suspend(context: &mut Context<'_>, args: &Args<'_>, took_ns: u64) {
    let tracks = context.found.command.has(flags::READONLY)
        && context.session.tracking.as_ref().is_some_and(|tracking| tracking.remembers());
    let suspended = Arc::new(Suspended { found: context.found, args: args.to_owned(), took_ns, tracks });
    let session = &mut *context.session;
    session.shared.args_bytes.store(args.iter().map(<[u8]>::len).sum::<usize>() as u64, Relaxed);
    *session.shared.suspended.lock() = Some(Arc::clone(&suspended));
    session.suspended = Some(suspended);
    session.mutes_wait = matches!(session.reply_mode, ReplyMode::Off | ReplyMode::Skip);
}

/// What has become of a command, for its statistics.
#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    Done,
    Failed,
    /// Another client has ended its wait by an error.
    Rejected,
}

/// Records a command whose client waits no more.
pub(crate) fn record_suspended(
    engine: &Engine,
    worker: &WorkerState,
    session: &mut Session,
    suspended: &Suspended,
    outcome: Outcome,
    reply_bytes: usize,
) {
    let Suspended { found, args, took_ns, .. } = suspended;
    let args = args.as_args();
    record(engine, worker, session, *found, &args, *took_ns, outcome);
    Executed { engine, worker, session, command: found.command, args }.consider_sizes(reply_bytes);
}

/// Counts a command that was called without its handler, by its name alone.
pub(crate) fn count_call(context: &Context<'_>, found: Found, took_ns: u64) {
    context.worker.stats.processed.add(1);
    let name = found.command.name.as_bytes();
    let spans = [Span { start: 0, end: name.len() }];
    let args = Args::new(name, &spans);
    record(context.engine, context.worker, context.session, found, &args, took_ns, Outcome::Done);
}

/// Counts a command that was called, and logs it if it took long.
#[inline]
fn record(
    engine: &Engine,
    worker: &WorkerState,
    session: &Session,
    found: Found,
    args: &Args<'_>,
    took_ns: u64,
    outcome: Outcome,
) {
    session.shared.commands.store(session.shared.commands.load(Relaxed) + 1, Relaxed);
    let command = &worker.stats.commands[usize::from(found.id)];
    command.record(took_ns, engine.config.hot.latency_tracking.load(Relaxed));
    match outcome {
        Outcome::Done => {}
        Outcome::Failed => command.failed.add(1),
        Outcome::Rejected => command.rejected.add(1),
    }
    Executed { engine, worker, session, command: found.command, args: *args }.consider_time(took_ns);
}

/// Notes that a client's command is executed now.
pub(crate) fn note(session: &Session, worker: &WorkerState, found: Found) {
    let shared = &session.shared;
    shared.last_active_ms.store(worker.clock.wall_ms(), Relaxed);
    shared.last_command.store(found.id + 1, Relaxed);
}
