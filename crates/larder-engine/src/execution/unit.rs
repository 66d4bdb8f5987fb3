//! Units of a primary's stream, in a batch: a command, or a transaction from MULTI to EXEC.
//!
//! Whoever planned the batch has looked the commands up and hashed their keys, and has asked whether they may run. So nothing is asked here,
//! and nothing is queued: the shards of all keys are locked once, and the commands run one after the other.
//! Replies are written and thrown away.
//!
//! A unit costs the locks of its shards and, for each command, what [`dispatch::call`] does.

use crate::clients::session::Session;
use crate::command::keys;
use crate::command::spec::Found;
use crate::context::flow::Flow;
use crate::context::{Context, WorkerState};
use crate::engine::Engine;
use crate::execution::command_log::Executed;
use crate::execution::{dispatch, monitor};
use crate::keyspace::key::Key;
use crate::keyspace::known_hashes::KnownHashes;
use crate::keyspace::locks::{Busy, Held, Lends};
use crate::keyspace::shard::ShardData;
use larder_resp::{Args, Reply};
use std::sync::atomic::Ordering::Relaxed;

/// A command that has been looked up and may run.
#[derive(Clone, Copy)]
pub(crate) struct Planned<'a> {
    /// What it is.
    pub found: Found,
    /// Its arguments.
    pub args: Args<'a>,
    /// Its only key, if it has one by the table.
    pub key: Option<Key<'a>>,
}

/// MULTI and EXEC, as they were found: a unit that is a transaction counts them.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// MULTI.
    pub multi: Found,
    /// EXEC.
    pub exec: Found,
}

/// Executes the commands of a unit. `shards` are those of all keys, `frame` is that of a transaction.
///
/// # Errors
/// A script keeps one of the shards, or of the keys, for long: nothing was executed.
pub(crate) fn execute<'a>(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    mut commands: impl Iterator<Item = Planned<'a>> + Clone,
    (shards, frame): (&[u8], Option<Frame>),
    out: &mut Vec<u8>,
) -> Result<(), Busy> {
    debug_assert!(session.in_batch, "units are executed in batches");
    let held = acquire(engine, shards, &commands)?;
    let first = commands.next().expect("a unit has commands");
    worker.effects.begin(engine.append_log.is_on(), engine.append_log.streams());
    worker.stats.current.begin(session.id(), first.args.len());
    let mut context = Context {
        engine,
        db: session.db,
        held,
        lends: Lends::Never,
        turn: None,
        reply: Reply::new(out, session.protocol),
        found: first.found,
        hashed: first.key,
        several: KnownHashes::default(),
        flow: Flow::Next,
        ready: Vec::new(),
        in_exec: frame.is_some(),
        in_script: false,
        rounds: None,
        worker,
        session,
    };
    context.begin_check();
    match frame {
        None => run(&mut context, first),
        Some(frame) => run_transaction(&mut context, frame, first, commands),
    }
    context.settle();
    drop(context);
    worker.stats.current.end();
    if worker.invalidations.has_direct() {
        super::tracking::finish_command(engine, worker, session, out);
    }
    Ok(())
}

/// Locks shards, which need be neither sorted nor unique, when a script has reserved none of the keys. Serving clients that wait to move
/// elements to other lists needs all.
fn acquire<'e, 'a>(
    engine: &'e Engine,
    wanted: &[u8],
    commands: &(impl Iterator<Item = Planned<'a>> + Clone),
) -> Result<Held<'e>, Busy> {
    let shards = &engine.shards;
    loop {
        let mut held = match *wanted {
            [at] => Held::One(at.into(), shards.try_lock_lent(at.into())?),
            _ => shards.try_lock_many_lent(wanted.iter().map(|&at| at.into()).collect())?,
        };
        if !held.any(ShardData::needs_care) {
            return Ok(held);
        }
        let mut keys = commands.clone().flat_map(|command| keys::of(command.found, command.args));
        let is_reserved = keys.any(|name| {
            let key = engine.key(name);
            held.shard_of(&key).reserved.has(key.hash)
        });
        if !is_reserved && (held.is_all() || !held.any(|data| data.waiting.has_movers())) {
            return Ok(held);
        }
        drop(held);
        if !is_reserved {
            return shards.try_lock_all_in_batch();
        }
        shards.wait_for_lender()?;
    }
}

fn run<'c, 'a: 'c>(context: &mut Context<'c>, command: Planned<'a>) {
    let engine = context.engine;
    if !engine.config.hot.hide_user_data_from_log.load(Relaxed) {
        context.worker.stats.current.keep(monitor::arguments(command.found.command, command.args));
    }
    (context.found, context.hashed) = (command.found, command.key);
    let mark = context.reply.mark();
    dispatch::note(context.session, context.worker, command.found);
    dispatch::call(context, &command.args);
    let reply_bytes = context.reply.mark() - mark;
    Executed::of(context, command.args).consider_sizes(reply_bytes);
}

/// Runs the commands of a transaction, which see one moment.
fn run_transaction<'c, 'a: 'c>(
    context: &mut Context<'c>,
    frame: Frame,
    first: Planned<'a>,
    rest: impl Iterator<Item = Planned<'a>>,
) {
    let begun_ns = context.worker.clock.mono_ns();
    let frozen = context.worker.clock.set_frozen(true);
    for command in std::iter::once(first).chain(rest) {
        run(context, command);
    }
    context.worker.clock.set_frozen(frozen);
    let took_ns = context.worker.clock.mono_ns() - begun_ns;
    for (found, took_ns) in [(frame.multi, 0), (frame.exec, took_ns)] {
        dispatch::note(context.session, context.worker, found);
        dispatch::count_call(context, found, took_ns);
    }
    context.in_exec = false;
}
