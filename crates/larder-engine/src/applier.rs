//! Executing what the primary sends.
//!
//! The stream is a sequence of units: a command, or a transaction from MULTI to EXEC. A unit is executed as a client's would be, but for
//! what a replica must take from its primary as it is: nothing is refused, nothing expires by itself, nothing is answered. Its bytes go into
//! this server's own stream as they are.
//!
//! Most units are applied in *batches*: their bytes go into the
//! server's own stream at the end of the batch, which tells its replicas, and the file, that they are done. Until then nobody may look
//! at the data and the stream together: those who do lock all shards, and wait for the end of the batch first. A unit that does not
//! suit a batch ([`plan`] says which) puts its bytes into the stream itself, while its shards are held. So a
//! snapshot for a replica of this one has a unit and counts it, or neither.
//!
//! Invariant: the end of the stream is how much of the primary's stream has been applied. A unit that the link's end cuts off is thrown away.
//!
//! The units of a batch are planned first, as many as there are ([`plan`]): then each is executed under the locks of all its shards, without
//! another look, and a transaction needs no queue. What cannot be planned is taken command by command.
//!
//! A server with several threads applies with several ([`team`]), if a piece of the stream has enough units. Clients may then see a later
//! unit before an earlier one of other keys, for the time of a batch.
//!
//! An applier belongs to a link, and a link ends when the server's role changes. The thread that changes the role holds all shards, and
//! commands of an applier look at the epoch with shards held, or in a batch: so none is applied later.

mod executor;
mod plan;
mod selection;
mod team;

use crate::clients::session::Closing;
use crate::clients::session::ConnInfo;
use crate::command::spec::Found;
use crate::engine::Engine;
use crate::execution::lookup;
use crate::replication::unit::Unit;
use crate::text::patterns::Patterns;
use crate::text::word::is_word;
use crate::worker::PREFETCH_MAX;
use executor::Executor;
use larder_resp::{Args, Parsed, Parser, ProtocolError};
use plan::{LIMITS, Plan, shares_batch};
use selection::{Verdict, judge};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use team::Team;

/// The most commands of a batch that one thread applies: while they are, those who lock all shards wait.
const BATCH_COMMANDS_MAX: usize = 1024;
/// Fewer bytes are applied by one thread.
const TEAM_BYTES_MIN: usize = 16 << 10;
/// After a piece of the stream that did not suit several threads, this many looks at whether the next one
/// does are left out.
const LOOKS_WITHOUT_TEAM: usize = 4;
/// The most units that one thread plans: what the plan takes stays in the cache.
const SOLO_UNITS_MAX: usize = 256;
/// After a command that cannot be planned, this many others are not tried.
const COMMANDS_WITHOUT_PLAN: usize = 16;

/// Why the applier returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// No whole command is left.
    Everything,
    /// The primary wants to know how far this server has come: what the stream's end was before.
    Asked(u64),
    /// The role has changed: nothing of this link is applied any more.
    Over,
    /// A command cannot be executed without keys that [are not held](Applier::hold_only): a snapshot is needed.
    Unfit,
}

/// What comes after a batch.
enum Next {
    /// Another one.
    Batch,
    /// A command that does not suit one.
    Alone,
    /// The same after a while: the server ends, or does not, after all.
    Patience,
    /// No whole command is left.
    Nothing,
    /// The link is over.
    Over,
    /// See [`Applied::Unfit`].
    Unfit,
}

/// Executes the stream of a link.
pub struct Applier {
    own: Executor,
    parser: Parser,
    /// The unit that is coming, as far as it has been taken; the worker has it while it is executed alone.
    unit: Option<Box<Unit>>,
    plan: Plan,
    team: Option<Team>,
    /// Commands to go until it is tried again to plan some.
    without_plan: usize,
    /// Plans to go until it is tried again to make one for several threads.
    without_team: usize,
    /// The keys that are held; `None` for all.
    patterns: Option<Arc<Patterns>>,
    epoch: u64,
}

impl Applier {
    /// For a link that was begun at this epoch of the state, whose stream goes on in database `db`. As long as the applier lives, the
    /// link is among the clients, as what `info` says.
    pub fn new(engine: &Arc<Engine>, info: ConnInfo, epoch: u64, db: usize) -> Applier {
        let team = Team::new(engine, &info, epoch);
        let mut own = Executor::new(engine, info, epoch, engine.stats.of_applier(0));
        own.select(db);
        engine.clients.add(Arc::clone(&own.session.shared));
        Applier {
            own,
            parser: Parser::new(),
            unit: None,
            plan: Plan::default(),
            team,
            without_plan: 0,
            without_team: 0,
            patterns: None,
            epoch,
        }
    }

    /// Applies what concerns keys that match patterns, and passes over the rest. Nothing is planned then: one thread takes command by
    /// command.
    pub fn hold_only(&mut self, patterns: Arc<Patterns>) {
        self.patterns = Some(patterns);
    }

    /// Bytes have come from the primary.
    pub fn note_received(&self, bytes: u64) {
        let shared = &self.own.session.shared;
        shared.net_in.store(shared.net_in.load(Relaxed) + bytes, Relaxed);
        self.engine().replication.bytes_in.fetch_add(bytes, Relaxed);
    }

    /// Whether a client has asked that the link be closed (CLIENT KILL).
    pub fn is_killed(&self) -> bool {
        self.own.session.shared.closing() != Closing::No
    }

    /// Reads clocks and options: for every piece of the stream.
    pub fn tick(&mut self) {
        self.own.worker.tick();
    }

    /// Sends what the commands since have for clients: for the end of every piece.
    pub fn finish_piece(&mut self) {
        self.own.worker.finish_round();
        self.engine().wake_senders(None);
    }

    /// Notes in the append-only file how far the primary's stream is applied.
    pub fn note_place(&self) {
        if self.own.session.multi.is_none() {
            self.engine().note_place(Some(self.epoch));
        }
    }

    /// The database that is selected.
    pub fn db(&self) -> usize {
        self.own.session.db
    }

    /// Applies the whole commands that `bytes` begin with; says how many bytes they took. The next call is to begin with the rest.
    ///
    /// # Errors
    /// The bytes after those that were applied are no command.
    pub fn apply(&mut self, bytes: &[u8]) -> Result<(usize, Applied), ProtocolError> {
        let engine = Arc::clone(self.engine());
        let mut at = 0;
        loop {
            let (used, next) = self.apply_batch(&engine, &bytes[at..])?;
            at += used;
            match next {
                Next::Batch => {}
                Next::Patience => {
                    self.own.worker.keep_link_waiting();
                    self.tick();
                }
                Next::Nothing => return Ok((at, Applied::Everything)),
                Next::Over => return Ok((at, Applied::Over)),
                Next::Unfit => return Ok((at, Applied::Unfit)),
                Next::Alone => {
                    let (used, outcome) = self.apply_alone(&bytes[at..])?;
                    at += used;
                    if let Some(outcome) = outcome {
                        return Ok((at, outcome));
                    }
                }
            }
        }
    }

    fn engine(&self) -> &Arc<Engine> {
        &self.own.worker.engine
    }

    /// Applies the commands at the beginning of `bytes` that suit a batch.
    fn apply_batch(&mut self, engine: &Engine, bytes: &[u8]) -> Result<(usize, Next), ProtocolError> {
        let batch = engine.shards.begin_batch();
        if engine.replication.epoch() != self.epoch {
            return Ok((0, Next::Over));
        }
        // What is saved at the end says where the stream ends: nothing may follow. And what is replaced must be there first.
        if engine.gate.is_closing() || engine.gate.is_loading() {
            return Ok((0, Next::Patience));
        }
        self.own.session.in_batch = true;
        let (used, whole, next) = self.execute_batch(engine, bytes);
        self.own.session.in_batch = false;
        let is_current = self.pass_on_batch(engine, &bytes[..used], whole);
        drop(batch);
        let next = next?;
        Ok((used, if is_current { next } else { Next::Over }))
    }

    /// Executes the commands of a batch. Returns the bytes that they took, those of whole units, and why it ends.
    fn execute_batch(
        &mut self,
        engine: &Engine,
        bytes: &[u8],
    ) -> (usize, usize, Result<Next, ProtocolError>) {
        let mut parser = std::mem::take(&mut self.parser);
        let (mut at, mut whole) = (0, 0);
        let mut next = Ok(Next::Batch);
        for _ in 0..BATCH_COMMANDS_MAX {
            if !parser.is_pending()
                && let Some(used) = self.apply_planned(&bytes[at..])
            {
                at += used;
                whole = at;
                break;
            }
            if !parser.has_ahead() {
                parser.look_ahead(&bytes[at..], &LIMITS, PREFETCH_MAX);
                let keys = parser.ahead(&bytes[at..]).filter_map(|args| args.get(1));
                self.own.worker.prefetch(&self.own.session, keys);
            }
            let (args, consumed) = match parser.next(&bytes[at..], &LIMITS) {
                Ok(Parsed::Command { args, consumed }) => (args, consumed),
                Ok(Parsed::Incomplete) => {
                    next = Ok(Next::Nothing);
                    break;
                }
                Err(error) => {
                    next = Err(error);
                    break;
                }
            };
            if !args.is_empty() {
                let Executor { worker, session, .. } = &mut self.own;
                let Some(found) = shares_batch(engine, &mut worker.state, session, args) else {
                    next = Ok(Next::Alone);
                    break;
                };
                if !self.run_selected(found, args) {
                    next = Ok(Next::Unfit);
                    break;
                }
            }
            at += consumed;
            if self.own.session.multi.is_none() {
                whole = at;
            }
        }
        parser.forget_ahead();
        self.parser = parser;
        (at, whole, next)
    }

    /// Executes a command of a batch as far as it concerns what is held; false if that cannot be done.
    fn run_selected(&mut self, found: Found, args: Args<'_>) -> bool {
        let verdict =
            self.patterns.as_deref().map_or(Verdict::Execute, |patterns| judge(patterns, found, args));
        match verdict {
            Verdict::Skip => {}
            Verdict::Unfit => return false,
            Verdict::Execute => self.own.run_found(found, args),
            Verdict::ExecuteAndDrop(keys) => {
                self.own.run_found(found, args);
                self.own.drop_keys(&keys);
            }
        }
        true
    }

    /// What becomes of a command that does not suit a batch.
    fn judge_alone<'a>(&mut self, args: Args<'a>) -> Verdict<'a> {
        let engine = Arc::clone(self.engine());
        let Some(patterns) = &self.patterns else { return Verdict::Execute };
        let found = lookup::look_up(&engine, &mut self.own.worker.state, args);
        found.map_or(Verdict::Execute, |found| judge(patterns, found, args))
    }

    /// Applies the units that `bytes` begin with, as far as they can be planned; says how many bytes that were. `None`: the next command is
    /// to be taken by itself.
    fn apply_planned(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.without_plan > 0 {
            self.without_plan -= 1;
            return None;
        }
        if self.patterns.is_some() {
            return None;
        }
        // Those who watch want to see the order of the stream, MULTI and EXEC included.
        if self.own.session.multi.is_some() || self.own.worker.engine.clients.has_monitors() {
            return None;
        }
        if let Some(used) = self.apply_with_team(bytes) {
            return Some(used);
        }
        let Executor { worker, session, .. } = &mut self.own;
        let engine = Arc::clone(&worker.engine);
        self.plan.make(&engine, &mut worker.state, session.db, bytes, (1, SOLO_UNITS_MAX));
        if self.plan.bytes == 0 {
            self.without_plan = COMMANDS_WITHOUT_PLAN;
            return None;
        }
        self.own.run_units(&self.plan, bytes, 0);
        self.own.select(self.plan.db);
        Some(self.plan.bytes)
    }

    /// Has all threads apply what `bytes` begin with; says how many bytes that were. `None`: one thread is to do it.
    fn apply_with_team(&mut self, bytes: &[u8]) -> Option<usize> {
        let team = self.team.as_mut()?;
        if self.without_team > 0 {
            self.without_team -= 1;
            return None;
        }
        let done = (bytes.len() >= TEAM_BYTES_MIN).then(|| team.apply(&mut self.own, bytes)).flatten();
        let Some(done) = done else {
            self.without_team = LOOKS_WITHOUT_TEAM;
            return None;
        };
        self.own.select(done.db);
        let shared = &self.own.session.shared;
        shared.commands.store(shared.commands.load(Relaxed) + done.helped, Relaxed);
        Some(done.bytes)
    }

    /// Puts the units of a batch into the stream: what was taken of the first one before, and the first `whole` of `bytes`. The rest
    /// belongs to a unit that goes on. False if the role has changed.
    fn pass_on_batch(&mut self, engine: &Engine, bytes: &[u8], whole: usize) -> bool {
        let (db, epoch) = (self.own.session.db, self.epoch);
        let unit = self.unit();
        let (done, rest) = bytes.split_at(whole);
        let mut is_current = true;
        if !done.is_empty() {
            for part in [&unit.bytes[..], done].into_iter().filter(|part| !part.is_empty()) {
                is_current = engine.append_log.append_verbatim(part, db, epoch);
            }
            unit.begin();
        }
        unit.bytes.extend_from_slice(rest);
        is_current
    }

    /// Applies the command that `bytes` begin with, which does not suit a batch. An outcome: no more is to be applied now.
    fn apply_alone(&mut self, bytes: &[u8]) -> Result<(usize, Option<Applied>), ProtocolError> {
        let mut parser = std::mem::take(&mut self.parser);
        let outcome = match parser.next(bytes, &LIMITS) {
            Ok(Parsed::Command { args, consumed }) => {
                self.unit().bytes.extend_from_slice(&bytes[..consumed]);
                Ok((consumed, self.execute_alone(args)))
            }
            Ok(Parsed::Incomplete) => Ok((0, Some(Applied::Everything))),
            Err(error) => Err(error),
        };
        self.parser = parser;
        outcome
    }

    fn execute_alone(&mut self, args: Args<'_>) -> Option<Applied> {
        let name = args.get(0).unwrap_or(b"");
        if is_word(name, "replconf") && args.get(1).is_some_and(|option| is_word(option, "getack")) {
            let end = self.engine().append_log.stream_end();
            return Some(if self.pass_on() { Applied::Asked(end) } else { Applied::Over });
        }
        let in_transaction = self.own.session.multi.is_some();
        let verdict = self.judge_alone(args);
        if verdict == Verdict::Unfit {
            return Some(Applied::Unfit);
        }
        if is_word(name, "multi") || in_transaction && !is_word(name, "exec") {
            self.run_judged(args, &verdict);
            return None;
        }
        self.own.worker.state.unit = self.unit.take();
        if !args.is_empty() {
            self.run_judged(args, &verdict);
        }
        self.unit = self.own.worker.state.unit.take();
        // When nothing was executed, the bytes count all the same.
        if self.unit().is_passed_on {
            self.unit().begin();
            return None;
        }
        (!self.pass_on()).then_some(Applied::Over)
    }

    fn run_judged(&mut self, args: Args<'_>, verdict: &Verdict<'_>) {
        if *verdict != Verdict::Skip {
            self.own.run(args);
        }
        if let Verdict::ExecuteAndDrop(keys) = verdict {
            self.own.drop_keys(keys);
        }
    }

    /// The unit that is coming.
    fn unit(&mut self) -> &mut Unit {
        let epoch = self.epoch;
        self.unit.get_or_insert_with(|| Box::new(Unit::new(epoch)))
    }

    /// Puts the bytes of the unit into the stream, and begins the next one; false if the role has changed.
    fn pass_on(&mut self) -> bool {
        let (db, epoch) = (self.own.session.db, self.epoch);
        let engine = Arc::clone(self.engine());
        let unit = self.unit();
        let passed = engine.append_log.append_verbatim(&unit.bytes, db, epoch);
        unit.begin();
        passed
    }
}

impl Drop for Applier {
    fn drop(&mut self) {
        let shared = &self.own.session.shared;
        self.engine().clients.remove(shared);
    }
}
