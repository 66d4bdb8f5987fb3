//! Which commands of the primary may be applied together, and by which thread.
//!
//! A command *shares a batch* if it holds the shards of its keys and nothing else: what it does cannot be told apart from the same
//! a moment later. Those that lock all shards or run scripts are applied alone, and so is what changes more than keys.
//!
//! For several threads the shards are dealt out: thread `i` of `n` owns those whose number is `i` modulo `n`, and applies the units that
//! touch no others, in the order of the stream. A unit whose shards belong to several threads ends the plan. So the units of one
//! shard are applied in order, each by one thread under the locks of all its shards; those of different shards in any order until
//! the end of the batch.

use super::executor::LIMITS;
use crate::clients::session::Session;
use crate::command::key_finders::sorts_by_other_keys;
use crate::command::keys;
use crate::command::spec::{Command, Found, Scope, flags};
use crate::context::WorkerState;
use crate::engine::Engine;
use crate::execution::{lookup, transaction};
use crate::keyspace::key::Key;
use crate::text::number;
use larder_resp::{Args, Parsed, Parser};
use std::ops::Range;

/// The most units of a plan: while they are applied, those who lock all shards wait.
const UNITS_MAX: usize = 4096;

/// Finds a command, if it may be applied in a batch as the next of a session.
pub(super) fn shares_batch(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &Session,
    args: Args<'_>,
) -> Option<Found> {
    let found = lookup::look_up(engine, worker, args).ok()?;
    let shares = match &session.multi {
        None => found.command.name == "multi" || shares(found.command, args),
        Some(_) if transaction::queues(session, found.command) => true,
        Some(queue) => {
            found.command.name == "exec"
                && queue.commands.iter().all(|(found, args)| shares(found.command, args.as_args()))
        }
    };
    (shares && is_plain(found.command)).then_some(found)
}

/// Whether a session of the primary may run a command of the table at any time: nothing else is to be asked.
fn is_plain(command: &Command) -> bool {
    !command.has_any(flags::PROTECTED | flags::NO_MULTI)
}

fn shares(command: &Command, args: Args<'_>) -> bool {
    match command.scope {
        Scope::Keys => true,
        Scope::Sort => !sorts_by_other_keys(args),
        Scope::None => matches!(command.name, "select" | "ping" | "publish" | "spublish"),
        Scope::All | Scope::Exec | Scope::Script | Scope::Walk => false,
    }
}

/// A unit that one thread applies.
pub(super) struct PlannedUnit {
    /// Where it is among the bytes.
    pub at: Range<usize>,
    /// The database that is selected before it.
    pub db: usize,
    /// Its command, if it is one that may run without another look; none of a transaction.
    pub found: Option<Found>,
    /// The hash of its first key.
    pub hash: u64,
    /// The number of the thread.
    pub owner: usize,
}

/// The units at the beginning of a piece of the stream that threads can apply side by side.
#[derive(Default)]
pub(super) struct Plan {
    pub units: Vec<PlannedUnit>,
    /// The bytes that they take.
    pub bytes: usize,
    /// The database that is selected after them.
    pub db: usize,
}

/// What a command is for a plan.
enum Part {
    /// It changes keys of one thread's.
    Keys { found: Found, owner: usize, hash: u64 },
    /// It selects a database.
    Select(usize),
    /// A transaction begins.
    Multi,
    /// It ends.
    Exec,
    /// The plan ends before it.
    Other,
}

impl Plan {
    /// Plans for this many threads what `bytes` begin with; `db` is selected before them. O(bytes).
    pub fn make(
        &mut self,
        engine: &Engine,
        worker: &mut WorkerState,
        db: usize,
        bytes: &[u8],
        threads: usize,
    ) {
        let mut parser = Parser::new();
        (self.bytes, self.db) = (0, db);
        self.units.clear();
        // Of the transaction that is under way: where it begins, and whose it is.
        let mut multi: Option<(usize, Option<(usize, u64)>)> = None;
        let mut at = 0;
        while self.units.len() < UNITS_MAX {
            let Ok(Parsed::Command { args, consumed }) = parser.next(&bytes[at..], &LIMITS) else { break };
            let (from, part) = (at, part_of(engine, worker, args, threads));
            at += consumed;
            match (part, &mut multi) {
                (Part::Keys { found, owner, hash }, None) => {
                    let found = is_plain(found.command).then_some(found);
                    self.units.push(PlannedUnit { at: from..at, db: self.db, found, hash, owner });
                }
                (Part::Keys { owner, hash, .. }, Some((_, of))) => {
                    if of.get_or_insert((owner, hash)).0 != owner {
                        break;
                    }
                    continue;
                }
                (Part::Select(db), None) => self.db = db,
                (Part::Multi, None) => {
                    multi = Some((from, None));
                    continue;
                }
                (Part::Exec, &mut Some((begin, of))) => {
                    let (owner, hash) = of.unwrap_or_default();
                    self.units.push(PlannedUnit { at: begin..at, db: self.db, found: None, hash, owner });
                    multi = None;
                }
                _ => break,
            }
            self.bytes = at;
        }
    }
}

fn part_of(engine: &Engine, worker: &mut WorkerState, args: Args<'_>, threads: usize) -> Part {
    let Ok(found) = lookup::look_up(engine, worker, args) else { return Part::Other };
    match (found.command.scope, found.command.name) {
        (Scope::Keys, _) => owner_of(engine, found, args, threads),
        (Scope::None, "select") => {
            number::database(&args[1], engine.database_count()).map_or(Part::Other, Part::Select)
        }
        (Scope::None, "multi") => Part::Multi,
        (Scope::Exec, "exec") => Part::Exec,
        _ => Part::Other,
    }
}

/// Whose the keys of a command are.
fn owner_of(engine: &Engine, found: Found, args: Args<'_>, threads: usize) -> Part {
    let owner = |key: &Key<'_>| key.shard() % threads;
    if let Some(at) = found.single_key {
        let key = engine.key(&args[usize::from(at)]);
        return Part::Keys { found, owner: owner(&key), hash: key.hash };
    }
    let mut keys = keys::collect(found.command, args).into_iter().map(|key| engine.key(key));
    let Some(first) = keys.next() else { return Part::Other };
    match keys.all(|key| owner(&key) == owner(&first)) {
        true => Part::Keys { found, owner: owner(&first), hash: first.hash },
        false => Part::Other,
    }
}
