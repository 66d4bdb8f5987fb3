//! Which commands of the primary may be applied together, and by which thread.
//!
//! A command *shares a batch* if it holds the shards of its keys and nothing else: what it does cannot be told apart from the same
//! a moment later. Those that lock all shards or run scripts are applied alone, and so is what changes more than keys.
//!
//! A [`Plan`] is what is known of the units at the beginning of a piece of the stream, before any is
//! executed: commands have been parsed, looked up, and their keys hashed, once. It ends before what does not
//! share a batch, and before a transaction that has not arrived whole, which is then queued command by
//! command. 16 bytes an argument, 32 a command, 64 a unit, one a shard of a unit; at most [`UNITS_MAX`]
//! units.
//!
//! For several threads the shards are dealt out: thread `i` of `n` owns those whose number is `i` modulo `n`, and applies the units that
//! touch no others, in the order of the stream. A unit whose shards belong to several threads ends the plan. So the units of one
//! shard are applied in order, each by one thread under the locks of all its shards; those of different shards in any order until
//! the end of the batch.

use crate::clients::session::Session;
use crate::command::key_finders::sorts_by_other_keys;
use crate::command::keys;
use crate::command::spec::{Command, Found, Scope, flags};
use crate::context::WorkerState;
use crate::engine::Engine;
use crate::execution::unit::{Frame, Planned};
use crate::execution::{lookup, transaction};
use crate::keyspace::key::Key;
use crate::text::number;
use larder_resp::{Args, Limits, Parsed, Parser, Span};
use std::ops::Range;

/// What comes from the primary may be of any size.
pub(super) const LIMITS: Limits = Limits { bulk_bytes_max: u64::MAX >> 1, authenticated: true };
/// The most units of a plan: while they are applied, those who lock all shards wait.
pub(super) const UNITS_MAX: usize = 4096;
/// The most commands of a transaction in a plan; a longer one is queued.
const TRANSACTION_MAX: usize = 4096;
/// The most arguments of a command in a plan.
const ARGS_MAX: usize = 4096;
/// Arguments for which room is kept from one plan to the next.
const SPANS_KEPT: usize = 1 << 16;

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
        Some(_) if transaction::queues(session, found) => true,
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
    /// The database that is selected before it.
    pub db: usize,
    /// The number of the thread.
    pub owner: usize,
    /// Set for a transaction.
    frame: Option<Frame>,
    /// Its commands; never none.
    commands: Range<usize>,
    /// The shards of their keys.
    shards: Range<usize>,
}

impl PlannedUnit {
    /// How many commands it has, MULTI and EXEC not counted.
    pub fn len(&self) -> usize {
        self.commands.len()
    }
}

/// A command of a unit.
struct PlannedCommand {
    found: Found,
    spans: Range<usize>,
    /// The hash of its first key.
    hash: u64,
}

/// The units at the beginning of a piece of the stream that threads can apply side by side.
#[derive(Default)]
pub(super) struct Plan {
    pub units: Vec<PlannedUnit>,
    /// The bytes that they take.
    pub bytes: usize,
    /// The database that is selected after them.
    pub db: usize,
    parser: Parser,
    commands: Vec<PlannedCommand>,
    shards: Vec<u8>,
    /// Where the arguments lie among the bytes.
    spans: Vec<Span>,
}

/// What a command is for a plan.
enum Part {
    /// It changes keys.
    Keys(Found),
    /// It selects a database.
    Select(usize),
    /// A transaction begins.
    Multi(Found),
    /// It ends.
    Exec(Found),
    /// The plan ends before it.
    Other,
}

/// A transaction that is being planned: MULTI, and where its commands and their shards begin.
struct Open {
    multi: Found,
    commands: usize,
    shards: usize,
}

impl Plan {
    /// Plans for this many threads what `bytes` begin with, at most `units_max` units; `db` is selected before them. O(bytes).
    pub fn make(
        &mut self,
        engine: &Engine,
        worker: &mut WorkerState,
        db: usize,
        bytes: &[u8],
        (threads, units_max): (usize, usize),
    ) {
        self.begin(db);
        let mut parser = std::mem::take(&mut self.parser);
        let mut open: Option<Open> = None;
        let mut at = 0;
        // What is no array has its arguments elsewhere.
        while self.units.len() < units_max && bytes.get(at) == Some(&b'*') {
            let Ok(Parsed::Command { args, consumed }) = parser.next(&bytes[at..], &LIMITS) else { break };
            match (part_of(engine, worker, args), &open) {
                (Part::Keys(found), _) => {
                    let shards = self.shards.len();
                    if !self.add_command(engine, found, args, at) {
                        break;
                    }
                    if open.is_none() && !self.add_unit(None, self.commands.len() - 1, shards, threads) {
                        break;
                    }
                }
                (Part::Select(db), None) => self.db = db,
                (Part::Multi(multi), None) => {
                    open = Some(Open { multi, commands: self.commands.len(), shards: self.shards.len() });
                }
                (Part::Exec(exec), Some(Open { multi, commands, shards })) => {
                    let frame = Frame { multi: *multi, exec };
                    if !self.add_unit(Some(frame), *commands, *shards, threads) {
                        break;
                    }
                    open = None;
                }
                _ => break,
            }
            at += consumed;
            match &open {
                None => self.bytes = at,
                Some(open) if self.commands.len() - open.commands > TRANSACTION_MAX => break,
                Some(_) => {}
            }
        }
        // One that has begun a command belongs to these bytes.
        self.parser = if parser.is_pending() { Parser::new() } else { parser };
    }

    fn begin(&mut self, db: usize) {
        (self.bytes, self.db) = (0, db);
        self.units.clear();
        self.commands.clear();
        self.shards.clear();
        self.spans.clear();
        self.spans.shrink_to(SPANS_KEPT);
    }

    /// Adds a command whose bytes begin at `at`; false if it does not suit a plan.
    fn add_command(&mut self, engine: &Engine, found: Found, args: Args<'_>, at: usize) -> bool {
        if args.len() > ARGS_MAX {
            return false;
        }
        let begin = self.spans.len();
        let moved = |span: &Span| Span { start: span.start + at, end: span.end + at };
        self.spans.extend(args.spans().iter().map(moved));
        let spans = begin..self.spans.len();
        let first = self.shards.len();
        let hashes = keys::of(found, args).map(|key| self.add_key(engine.key(key)));
        let hash = hashes.reduce(|first, _| first).unwrap_or_default();
        self.commands.push(PlannedCommand { found, spans, hash });
        self.shards.len() > first
    }

    fn add_key(&mut self, key: Key<'_>) -> u64 {
        self.shards.push(u8::try_from(key.shard()).expect("256 shards"));
        key.hash
    }

    /// Makes a unit of the commands and shards from these on; false if it has none, or several threads own its shards.
    fn add_unit(&mut self, frame: Option<Frame>, commands: usize, shards: usize, threads: usize) -> bool {
        let owner = |shard: &u8| usize::from(*shard) % threads;
        let Some(first) = self.shards.get(shards) else { return false };
        let first = owner(first);
        let is_one = self.shards[shards..].iter().all(|shard| owner(shard) == first);
        if is_one {
            let (commands, shards) = (commands..self.commands.len(), shards..self.shards.len());
            self.units.push(PlannedUnit { db: self.db, owner: first, frame, commands, shards });
        }
        is_one
    }

    /// How many commands the units have, MULTI and EXEC not counted.
    pub fn command_count(&self) -> usize {
        self.units.iter().map(PlannedUnit::len).sum()
    }

    /// What is executed of a unit: its commands, their shards, and MULTI and EXEC around them. `bytes` are those that were planned.
    pub fn commands<'a>(
        &'a self,
        unit: &PlannedUnit,
        bytes: &'a [u8],
    ) -> (impl Iterator<Item = Planned<'a>> + Clone, &'a [u8], Option<Frame>) {
        let commands = self.commands[unit.commands.clone()].iter().map(move |command| {
            let args = Args::new(bytes, &self.spans[command.spans.clone()]);
            let found = command.found;
            let key = found.only_key(args.len()).map(|at| Key { bytes: args.at(at), hash: command.hash });
            Planned { found, args, key }
        });
        (commands, &self.shards[unit.shards.clone()], unit.frame)
    }

    /// The hashes of the first keys of the commands of a unit.
    pub fn hashes(&self, unit: &PlannedUnit) -> impl Iterator<Item = u64> {
        self.commands[unit.commands.clone()].iter().map(|command| command.hash)
    }
}

fn part_of(engine: &Engine, worker: &mut WorkerState, args: Args<'_>) -> Part {
    let Ok(found) = lookup::look_up(engine, worker, args) else { return Part::Other };
    match (found.command.scope, found.command.name) {
        (Scope::Keys, _) if is_plain(found.command) => Part::Keys(found),
        (Scope::None, "select") => {
            number::database(&args[1], engine.database_count()).map_or(Part::Other, Part::Select)
        }
        (Scope::None, "multi") => Part::Multi(found),
        (Scope::Exec, "exec") => Part::Exec(found),
        _ => Part::Other,
    }
}
