//! Which shards a command needs, and the turn of the scripts.

use crate::clients::session::Session;
use crate::command::key_finders::sorts_by_other_keys;
use crate::command::keys;
use crate::command::spec::{Command, Found, Scope, flags};
use crate::engine::Engine;
use crate::keyspace::key::Key;
use crate::keyspace::known_hashes::KnownHashes;
use crate::keyspace::locks::{Busy, Held, ScriptTurn};
use larder_resp::Args;

/// Locks what the command needs. While clients wait to move elements from one of these shards to another list, all
/// shards are locked, since serving them needs the other list's shard. `key` is the only one, where the table says so; else the hashes
/// of the keys are noted in `several`.
pub(super) fn acquire<'e>(
    engine: &'e Engine,
    session: &Session,
    found: Found,
    (key, several): (Option<&Key<'_>>, &mut KnownHashes),
    args: Args<'_>,
) -> Result<Held<'e>, Busy> {
    let (shards, command) = (&engine.shards, found.command);
    let held = match command.scope {
        Scope::None | Scope::Walk => return Ok(Held::None),
        Scope::All => return shards.try_lock_all(),
        Scope::Sort if sorts_by_other_keys(args) => return shards.try_lock_all(),
        Scope::Keys | Scope::Script | Scope::Sort => match key {
            Some(key) => Held::One(key.shard(), shards.try_lock_one(key.shard())?),
            None => {
                let keys = keys::collect(command, args);
                let hashed = keys.into_iter().map(|key| engine.key(key));
                // The names of what a script calls lie elsewhere.
                let is_kept = command.scope != Scope::Script;
                let noted = hashed.inspect(|key| {
                    if is_kept {
                        several.add(key);
                    }
                });
                shards.try_lock_many(noted.map(|key| key.shard()).collect())?
            }
        },
        Scope::Exec => acquire_queued(engine, session)?,
    };
    if held.any(|data| data.waiting.has_movers()) && !held.is_all() && !command.has(flags::READONLY) {
        drop(held);
        return if session.in_batch { shards.try_lock_all_in_batch() } else { shards.try_lock_all() };
    }
    Ok(held)
}

/// Locks what the queued commands and the watched keys need.
fn acquire_queued<'e>(engine: &'e Engine, session: &Session) -> Result<Held<'e>, Busy> {
    let queued = session.multi.as_ref().map_or(&[][..], |queue| &queue.commands);
    if queued.iter().any(|(found, args)| needs_all(found.command, args.as_args())) {
        return engine.shards.try_lock_all();
    }
    let mut wanted: Vec<usize> = session.watched.iter().map(|w| engine.key(&w.key).shard()).collect();
    wanted.reserve(queued.len());
    for (found, args) in queued {
        add_shards(engine, *found, args.as_args(), &mut wanted);
    }
    engine.shards.try_lock_many(wanted)
}

/// Whether a command that runs inside a transaction or a script needs all shards.
pub(crate) fn needs_all(command: &Command, args: Args<'_>) -> bool {
    match command.scope {
        Scope::All | Scope::Walk => true,
        Scope::Sort => sorts_by_other_keys(args),
        Scope::Exec | Scope::Keys | Scope::None | Scope::Script => false,
    }
}

/// Scripts run one at a time: only so may each of them lock shards that it did not ask for at first.
#[inline]
pub(super) fn take_turn<'e>(
    engine: &'e Engine,
    session: &Session,
    command: &Command,
) -> Result<Option<ScriptTurn<'e>>, Busy> {
    if !runs_scripts(session, command) {
        return Ok(None);
    }
    engine.shards.take_turn(None).map(Some)
}

/// Whether a command runs scripts, or a transaction with such.
#[inline]
pub(super) fn runs_scripts(session: &Session, command: &Command) -> bool {
    match command.scope {
        Scope::Script => true,
        Scope::Exec => session.multi.as_ref().is_some_and(|queue| queue.has_scripts()),
        _ => false,
    }
}

/// Adds the shards of the keys of a command.
fn add_shards(engine: &Engine, found: Found, args: Args<'_>, wanted: &mut Vec<usize>) {
    match found.single_key {
        Some(at) => wanted.push(engine.key(&args[usize::from(at)]).shard()),
        None => {
            wanted.extend(keys::collect(found.command, args).into_iter().map(|key| engine.key(key).shard()));
        }
    }
}
