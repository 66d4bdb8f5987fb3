//! Which shards a command needs, and the turn of the scripts.

use crate::clients::session::Session;
use crate::command::key_finders::sorts_by_other_keys;
use crate::command::keys;
use crate::command::spec::{Command, Found, Scope, flags};
use crate::context::Context;
use crate::engine::Engine;
use crate::execution::parts;
use crate::keyspace::key::Key;
use crate::keyspace::known_hashes::{COMMAND_MAX, KnownHashes};
use crate::keyspace::locks::{Held, Unlocked};
use crate::keyspace::shard::ShardData;
use larder_resp::Args;
use std::mem::{forget, replace};

/// Locks what the command needs, and takes the turn of the scripts before that if it runs any.
#[inline]
pub(super) fn lock(context: &mut Context<'_>, args: &Args<'_>) -> Result<(), Unlocked> {
    let (engine, found, session) = (context.engine, context.found, &*context.session);
    let puts_aside =
        context.worker.puts_aside && !session.replays && !session.in_batch && session.import.is_none();
    let who = (session, puts_aside);
    match parts::acquire_first(engine, context.worker, session, found, &mut context.several, *args) {
        Some((turn, lends, held)) => {
            (context.turn, context.lends, context.held) = (turn, lends, held);
        }
        None => {
            if runs_scripts(session, found.command) {
                context.turn = Some(engine.shards.take_turn_or_later(puts_aside)?);
            }
            let keys = (context.hashed.as_ref(), &mut context.several);
            acquire(engine, who, found, keys, *args, &mut context.held)?;
        }
    }
    if context.hashed.is_none() {
        context.worker.had_several = !context.several.is_single();
    }
    Ok(())
}

/// Locks what the command needs, and says so in `to`. While clients wait to move elements from one of its keys to another list, all
/// shards are locked, since serving them needs the other list's shard. `key` is the only one, where the table says so; else the hashes
/// of the keys are noted in `several`. `puts_aside`: the command can be tried again, so nobody need wait for a shard for long.
#[inline]
fn acquire<'e>(
    engine: &'e Engine,
    who: (&Session, bool),
    found: Found,
    (key, several): (Option<&Key<'_>>, &mut KnownHashes),
    args: Args<'_>,
    to: &mut Held<'e>,
) -> Result<(), Unlocked> {
    debug_assert!(matches!(to, Held::None), "nothing is held yet");
    loop {
        acquire_shards(engine, who, found, (key, several), args, to)?;
        if !to.any(ShardData::needs_care) {
            return Ok(());
        }
        if let Some(held) = with_care(engine, who, found, key, args, replace(to, Held::None))? {
            *to = held;
            return Ok(());
        }
        several.forget();
    }
}

/// Locks the shards, whatever the state of their keys. Nothing is held before.
#[inline]
fn acquire_shards<'e>(
    engine: &'e Engine,
    (session, puts_aside): (&Session, bool),
    found: Found,
    (key, several): (Option<&Key<'_>>, &mut KnownHashes),
    args: Args<'_>,
    to: &mut Held<'e>,
) -> Result<(), Unlocked> {
    let (shards, command) = (&engine.shards, found.command);
    *to = match command.scope {
        Scope::None | Scope::Walk => return Ok(()),
        Scope::All => shards.lock_all_or_later(puts_aside)?,
        Scope::Sort if sorts_by_other_keys(args) => shards.lock_all_or_later(puts_aside)?,
        Scope::Keys | Scope::Script | Scope::Sort => match key {
            Some(key) => {
                let held = Held::One(key.shard(), shards.lock_one_or_later(key.shard(), puts_aside)?);
                // What it takes the place of holds nothing, so there is nothing to be dropped.
                forget(replace(to, held));
                return Ok(());
            }
            None => acquire_several(engine, command, args, several, puts_aside)?,
        },
        Scope::Exec => acquire_queued(engine, session, puts_aside)?,
    };
    Ok(())
}

/// Looks whether a key is reserved, and whether all shards are needed to serve those who wait for one. `None`: the shards are to be locked once more.
#[cold]
fn with_care<'e>(
    engine: &'e Engine,
    (session, puts_aside): (&Session, bool),
    found: Found,
    key: Option<&Key<'_>>,
    args: Args<'_>,
    mut held: Held<'e>,
) -> Result<Option<Held<'e>>, Unlocked> {
    let (mut is_reserved, mut has_mover) = (false, false);
    let mut look = |key: &Key<'_>| {
        let data = held.shard_of(key);
        is_reserved |= data.reserved.has(key.hash);
        has_mover |= data.waiting.has_mover_for(key.bytes);
    };
    match key {
        Some(key) => look(key),
        None => each_key(engine, session, found, args, look),
    }
    if is_reserved {
        drop(held);
        return engine.shards.wait_for_reserved(puts_aside).map(|()| None);
    }
    // A script may work on other keys of the shards as well.
    if matches!(found.command.scope, Scope::Script | Scope::Exec) {
        has_mover = held.any(|data| data.waiting.has_movers());
    }
    if has_mover && !held.is_all() && !found.command.has(flags::READONLY) {
        drop(held);
        return match session.in_batch {
            true => Ok(Some(engine.shards.try_lock_all_in_batch()?)),
            false => engine.shards.lock_all_or_later(puts_aside).map(Some),
        };
    }
    Ok(Some(held))
}

/// Calls `each` with every key of a command, and for EXEC with those of what is queued, and with those that are watched.
fn each_key(
    engine: &Engine,
    session: &Session,
    found: Found,
    args: Args<'_>,
    mut each: impl FnMut(&Key<'_>),
) {
    let each = |name: &[u8]| each(&engine.key(name));
    match found.command.scope {
        Scope::Exec => each_queued_key(session, each),
        _ => keys::each(found.command, args, each),
    }
}

/// Calls `each` with every key of the queued commands, and with those that are watched.
fn each_queued_key(session: &Session, mut each: impl FnMut(&[u8])) {
    session.watched.iter().for_each(|watched| each(&watched.key));
    let queued = session.multi.as_ref().map_or(&[][..], |queue| &queue.commands);
    for (found, args) in queued {
        keys::of(*found, args.as_args()).for_each(&mut each);
    }
}

/// Locks the shards of the keys of a command of several. Apart, as what locks one shard is to stay small.
#[inline(never)]
fn acquire_several<'e>(
    engine: &'e Engine,
    command: &Command,
    args: Args<'_>,
    several: &mut KnownHashes,
    puts_aside: bool,
) -> Result<Held<'e>, Unlocked> {
    let mut wanted = Vec::with_capacity(args.len());
    // The names of what a script calls lie elsewhere.
    if command.scope == Scope::Script {
        keys::each(command, args, |name| wanted.push(engine.key(name).shard()));
        return engine.shards.lock_many_or_later(wanted, puts_aside);
    }
    // Sorted together with the numbers of the keys, so that each key knows the place of its shard.
    const _: () = assert!(COMMAND_MAX < 1 << 16);
    keys::each(command, args, |name| {
        let key = engine.key(name);
        wanted.push(key.shard() << 16 | several.len());
        several.add(&key);
    });
    wanted.sort_unstable();
    let mut places = 0;
    for at in 0..wanted.len() {
        let (shard, number) = (wanted[at] >> 16, wanted[at] & 0xFFFF);
        if places == 0 || wanted[places - 1] != shard {
            wanted[places] = shard;
            places += 1;
        }
        several.note_place(number, places - 1);
    }
    engine.shards.lock_in_order_or_later(&wanted[..places], puts_aside)
}

/// Locks what the queued commands and the watched keys need.
fn acquire_queued<'e>(engine: &'e Engine, session: &Session, puts_aside: bool) -> Result<Held<'e>, Unlocked> {
    let queued = session.multi.as_ref().map_or(&[][..], |queue| &queue.commands);
    if queued.iter().any(|(found, args)| needs_all(found.command, args.as_args())) {
        return engine.shards.lock_all_or_later(puts_aside);
    }
    let mut wanted = Vec::with_capacity(session.watched.len() + queued.len());
    each_queued_key(session, |name| wanted.push(engine.key(name).shard()));
    engine.shards.lock_many_or_later(wanted, puts_aside)
}

/// Whether a command that runs inside a transaction or a script needs all shards.
pub(crate) fn needs_all(command: &Command, args: Args<'_>) -> bool {
    match command.scope {
        Scope::All | Scope::Walk => true,
        Scope::Sort => sorts_by_other_keys(args),
        Scope::Exec | Scope::Keys | Scope::None | Scope::Script => false,
    }
}

/// Whether a command runs scripts, or a transaction with such. Scripts run one at a time: only so may each of them lock shards that it did not ask
/// for at first.
#[inline]
pub(super) fn runs_scripts(session: &Session, command: &Command) -> bool {
    match command.scope {
        Scope::Script => true,
        Scope::Exec => session.multi.as_ref().is_some_and(|queue| queue.has_scripts()),
        _ => false,
    }
}
