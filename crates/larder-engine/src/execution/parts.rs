//! Commands of very many keys: which are given to a thread for long commands, and which of them work there on some of their keys at a time
//! (`context/several.rs`).

use crate::clients::session::Session;
use crate::command::key_finders::sorts_by_other_keys;
use crate::command::spec::{Found, Scope, flags};
use crate::context::WorkerState;
use crate::context::postponed::Place;
use crate::engine::Engine;
use crate::keyspace::known_hashes::{KnownHashes, PART_MAX};
use crate::keyspace::locks::{Held, Lends, ScriptTurn};
use larder_resp::Args;

/// A command on keys with more arguments than this takes longer than a moment.
pub(super) const ARGUMENTS_MOMENT: usize = 5_000;

/// Whether a command that has very many arguments is to be executed by another thread.
#[cold]
pub(super) fn is_given_away(worker: &WorkerState, session: &Session, found: Found) -> bool {
    worker.long.place == Place::Serving
        && !session.is_bound()
        && found.command.scope == Scope::Keys
        && !found.command.has(flags::BLOCKING)
}

/// What a command that goes by parts begins with: the turn, how it goes on, and the shards of its first keys.
pub(super) type FirstPart<'e> = (Option<ScriptTurn<'e>>, Lends<'e>, Held<'e>);

/// Locks the shards of the first keys of a command that looks at or changes very many keys one by one, and notes their hashes in `several`. `None`: it is no
/// such command, this is no thread for long ones, or a script runs.
#[inline]
pub(super) fn acquire_first<'e>(
    engine: &'e Engine,
    worker: &WorkerState,
    session: &Session,
    found: Found,
    several: &mut KnownHashes,
    args: Args<'_>,
) -> Option<FirstPart<'e>> {
    // What a client that caches has read is noted while all of it is held.
    if worker.long.place != Place::Long || session.is_bound() || session.tracking.is_some() {
        return None;
    }
    let (step, first) = parts_of(found, args)?;
    let (turn, mut lending) = engine.shards.lend_nothing()?;
    args.from(1).iter().step_by(step).take(first).for_each(|name| several.add(&engine.key(name)));
    let hashes: Vec<u64> = several.hashes().collect();
    let held = lending.lock(&hashes);
    Some((Some(turn), Lends::ByParts(Box::new(lending)), held))
}

/// Which of the arguments after the name are keys, one of so many, and how many keys are known at first, if a command has very many keys and goes by parts.
fn parts_of(found: Found, args: Args<'_>) -> Option<(usize, usize)> {
    let has_many = args.len() > ARGUMENTS_MOMENT;
    match found.command.name {
        _ if found.parent.is_some() => None,
        "del" | "exists" | "mget" | "touch" | "unlink" if has_many => Some((1, PART_MAX)),
        "mset" | "msetnx" if has_many => Some((2, PART_MAX)),
        // The others are looked up when the elements are known.
        "sort" | "sort_ro" if sorts_by_other_keys(args) => Some((1, 1)),
        _ => None,
    }
}
