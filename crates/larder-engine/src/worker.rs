//! A worker: one thread's handle on the engine. It takes commands one by one and writes their replies.

mod ahead;

use crate::aof::effects::Effects;
use crate::aof::log::Ends;
use crate::clients::access::Access;
use crate::clients::login;
use crate::clients::registrations::Registration;
use crate::clients::session::{ClientShared, ConnInfo, Session, client_flags};
use crate::clock::Clock;
use crate::cluster::migration::MigrationState;
use crate::command::lookup_cache::Recent;
use crate::commands;
use crate::context::WorkerState;
use crate::context::beside::Beside;
use crate::context::flow::Flow;
use crate::context::postponed::{LongState, Place};
use crate::delivery::invalidation::Invalidation;
use crate::delivery::invalidations::Invalidations;
use crate::delivery::mailbox::{Mail, Mailbox, Told, Wake};
use crate::delivery::unblock::Answers;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::eviction::Evictor;
use crate::execution::authorization;
use crate::execution::dispatch::{self, Outcome};
use crate::execution::tracking as execution_tracking;
use crate::execution::{blocking, slot_stats, transaction};
use crate::keyspace::access::AccessRules;
use crate::keyspace::encoding_limits::{Thresholds, list_options};
use crate::keyspace::known_hashes::{KnownHashes, PIPELINE_MAX};
use crate::keyspace::recent_keys::RecentKeys;
use crate::keyspace::waiting::Waiter;
use crate::stats::counters::ThreadStats;
use larder_resp::{Args, Reply};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Keys prefetched at once.
pub const PREFETCH_MAX: usize = PIPELINE_MAX;
/// How long threads that serve no clients wait before they try again.
pub(crate) const PATIENCE: Duration = Duration::from_micros(200);

/// Why an import has failed whose connection has ended.
const SOURCE_LOST: &str =
    "Connection lost to source. Check CLUSTER GETSLOTMIGRATIONS on the source node for more information.";

/// One thread's handle on the engine.
pub struct Worker {
    pub(crate) engine: Arc<Engine>,
    pub(crate) state: WorkerState,
}

impl Engine {
    /// The next worker. `index` counts from 0 in the order of the calls; `wake` makes its event loop look at its mail.
    pub fn worker(self: &Arc<Self>, index: usize, wake: Wake) -> Worker {
        let (mailbox, stats) = (self.mailboxes.add(wake), self.stats.add());
        assert_eq!(self.stats.len(), index + 1, "workers are made in order");
        Worker::new(Arc::clone(self), index, mailbox, stats)
    }
}

/// No worker has this number: what is done by it concerns the clients of all.
pub(crate) const NO_WORKER: usize = usize::MAX;

impl Worker {
    /// For a thread that has no clients of its own, and so no mail.
    pub(crate) fn without_clients(engine: &Arc<Engine>, stats: Arc<ThreadStats>) -> Self {
        Worker::new(Arc::clone(engine), NO_WORKER, Arc::new(Mailbox::new(Box::new(|| {}))), stats)
    }

    /// For a thread to which those that serve clients give commands that take long. After the workers are made.
    pub fn for_long_commands(engine: &Arc<Engine>) -> Self {
        let mut worker = Worker::without_clients(engine, engine.stats.add_long());
        worker.state.long.place = Place::Long;
        worker
    }

    pub(crate) fn new(
        engine: Arc<Engine>,
        index: usize,
        mailbox: Arc<Mailbox>,
        stats: Arc<ThreadStats>,
    ) -> Self {
        let state = WorkerState {
            handlers: crate::commands::handlers(),
            index,
            stats,
            mailbox,
            clock: Clock::new(engine.started),
            rng: fastrand::Rng::new(),
            list_options: list_options(&engine.config.hot),
            access: AccessRules::load(&engine.config.hot),
            evictor: Evictor::default(),
            thresholds: Thresholds::load(&engine.config.hot),
            scratch: Vec::new(),
            wants_hash: false,
            hash: None,
            invalidations: Invalidations::default(),
            recent: Recent::default(),
            known_hashes: KnownHashes::default(),
            recent_keys: RecentKeys::default(),
            command_hashes: KnownHashes::default(),
            had_several: false,
            absent: None,
            checked_hash: None,
            called_slot: None,
            slot_map: None,
            admitted: None,
            puts_aside: false,
            long: LongState::default(),
            script_keys: Vec::new(),
            effects: Effects::default(),
            flushed: false,
            returned_errors: Cell::new(false),
            heard_itself: Cell::new(false),
            answers: Answers::default(),
            written: Ends::NO_EFFECT,
            unit: None,
            served: None,
        };
        Worker { engine, state }
    }

    /// Reads the clocks and the options; once an iteration of the event loop, before the commands.
    pub fn tick(&mut self) {
        self.state.clock.tick();
        self.begin_round();
    }

    /// The same for a round of one command: clocks that were read a moment ago are not read again.
    pub(crate) fn tick_for_one(&mut self) {
        /// What may pass until the time of day is looked at, which somebody may have set.
        const CLOCKS_LAST_NS: u64 = 1_000_000;
        self.state.clock.tick_after(CLOCKS_LAST_NS);
        self.begin_round();
    }

    fn begin_round(&mut self) {
        self.state.read_options(&self.engine);
        self.state.stats.loops.add(1);
    }

    /// Monotonic milliseconds: the clock of deadlines. As of the last tick or command.
    pub fn now_ms(&self) -> u64 {
        self.state.clock.mono_ms()
    }

    /// Milliseconds since 1970, as of the last tick or command.
    pub fn wall_ms(&self) -> u64 {
        self.state.clock.wall_ms()
    }

    /// Where in the log the effects end that this thread's replies show.
    #[inline]
    pub fn log_end(&self) -> u64 {
        self.state.written.file()
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The counters of this thread.
    pub fn stats(&self) -> &ThreadStats {
        &self.state.stats
    }

    /// Bytes have come from a client.
    pub fn note_received(&self, session: &Session, bytes: usize) {
        self.stats().net_in.add(bytes as u64);
        session.shared.add_net_in(bytes);
        session.shared.last_active_ms.store(self.state.clock.wall_ms(), Relaxed);
        if session.import.is_some() {
            self.engine.cluster.migrations.bytes_in.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// A new connection.
    pub fn connect(&mut self, info: ConnInfo) -> Session {
        let shared = Arc::new(ClientShared::new(info, self.state.index, self.state.clock.wall_ms()));
        self.engine.clients.add(Arc::clone(&shared));
        self.state.stats.connections.add(1);
        Session::new(shared, &self.engine.acl, Access::of_new(&self.engine.acl))
    }

    /// A connection has shown a certificate that is valid and names these users: it becomes that of the first one who is enabled. False:
    /// it stays what it was.
    pub fn log_in_by_certificate(&mut self, session: &mut Session, names: &[Vec<u8>]) -> bool {
        authorization::authenticate_by_certificate(&self.engine, session, names)
    }

    /// Executes one command and appends its reply to `out`.
    #[inline]
    pub fn execute(&mut self, session: &mut Session, args: &Args<'_>, out: &mut Vec<u8>) -> Flow {
        dispatch::execute(&self.engine, &mut self.state, session, args, out)
    }

    /// Executes a command that [`Worker::execute`] has answered with [`Flow::Script`]. When a script runs for longer than
    /// `busy-reply-threshold`, `beside` makes a round every now and then, for other clients to be told so: with another
    /// worker, from [`Worker::spare`].
    pub fn execute_script(
        &mut self,
        session: &mut Session,
        args: Args<'_>,
        out: &mut Vec<u8>,
        beside: &mut dyn Beside,
    ) -> Flow {
        dispatch::execute_script(&self.engine, &mut self.state, session, &args, out, beside)
    }

    /// Executes a command that another worker has answered with [`Flow::Long`], on a thread that serves no clients. The session is that of its
    /// client, which its own worker must not use meanwhile.
    pub fn execute_long(&mut self, session: &mut Session, args: Args<'_>, out: &mut Vec<u8>) -> Flow {
        self.state.clock.tick();
        self.state.read_options(&self.engine);
        let flow = loop {
            let mut flow = self.execute(session, &args, out);
            if flow == Flow::Script {
                flow = self.execute_script(session, args, out, &mut ());
            }
            match self.state.long.wanted.take() {
                Some(wanted) => self.state.long.made = Some(wanted.make(args)),
                None => break flow,
            }
        };
        self.state.long.spent = None;
        if let Some(made) = self.state.long.made.take() {
            made.keys.into_iter().for_each(|key| {
                self.engine.stale.forget(&self.engine.shards, Registration::Watched(key));
            });
        }
        self.finish_round();
        flow
    }

    /// Executes a command of a thread that has nothing else to do: while a script that runs for too long holds what it needs, it is tried
    /// again, for as long as `may_go_on`. The reply takes the place of what `out` had. False: it was not executed.
    pub(crate) fn execute_patiently(
        &mut self,
        session: &mut Session,
        args: Args<'_>,
        out: &mut Vec<u8>,
        may_go_on: impl Fn(&Engine) -> bool,
    ) -> bool {
        loop {
            out.clear();
            let mut flow = self.execute(session, &args, out);
            if flow == Flow::Script {
                flow = self.execute_script(session, args, out, &mut ());
            }
            if flow != Flow::Retry {
                return true;
            }
            match session.is_of_primary {
                true => self.keep_link_waiting(),
                false => std::thread::sleep(PATIENCE),
            }
            if !may_go_on(&self.engine) {
                return false;
            }
            self.tick();
        }
    }

    /// Waits for a moment until what the link has read can be applied; clients of the replica do not wait for it meanwhile.
    pub(crate) fn keep_link_waiting(&self) {
        let reception = &self.engine.replication.reception;
        reception.set_kept(true);
        std::thread::sleep(PATIENCE);
        reception.set_kept(false);
    }

    /// A second worker for the same thread, for the rounds of [`Worker::execute_script`].
    pub fn spare(&self) -> Worker {
        let (mailbox, stats) = (Arc::clone(&self.state.mailbox), Arc::clone(&self.state.stats));
        let mut spare = Worker::new(Arc::clone(&self.engine), self.state.index, mailbox, stats);
        spare.state.puts_aside = self.state.puts_aside;
        spare
    }

    /// The thread serves many clients: a command whose keys somebody keeps for long is answered with [`Flow::Retry`], so that the others
    /// need not wait with it. [`Mail::Retry`] says when to try again.
    pub fn put_aside(&mut self) {
        self.state.puts_aside = true;
    }

    /// There are threads for commands that take long: such a command is answered with [`Flow::Long`], so that the other clients need not wait
    /// for it.
    pub fn give_away(&mut self) {
        self.state.long.place = Place::Serving;
    }

    /// Moves the messages for this worker's clients to the end of `into`.
    pub fn drain(&mut self, into: &mut Vec<Mail>) {
        if self.state.mailbox.has_mail() {
            self.state.evictor.note_growth(&self.engine);
            self.state.mailbox.drain(into);
        }
    }

    /// Says that the messages taken so far are delivered: sent, or left in the outputs of clients who do not read. Until
    /// then they do not count against `maxmemory`.
    ///
    /// Returns whether there were any: those who hold replies back for them are to be woken.
    pub fn delivered(&mut self) -> bool {
        if self.state.mailbox.has_taken() {
            // First what was freed is made known, then that it counts again.
            self.state.evictor.note_growth(&self.engine);
            self.state.mailbox.delivered();
        }
        self.state.mailbox.note_done()
    }

    /// What other workers have been told since the last call, and are to deliver before the replies of this one leave: invalidations of
    /// what clients cache.
    #[inline]
    pub fn take_told(&mut self) -> Vec<Told> {
        self.state.invalidations.take_told()
    }

    /// Whether these messages are delivered.
    pub fn are_delivered(&self, told: &[Told]) -> bool {
        told.iter().all(|&told| self.engine.mailboxes.is_delivered(told))
    }

    /// A command that was put off will be tried again: its client is not blocked by a pause that has ended.
    pub fn end_pause(&self, session: &Session) {
        if !self.engine.pause.in_force(self.state.clock.wall_ms()) && session.waiter.is_none() {
            session.shared.set_flag(client_flags::BLOCKED, false);
        }
    }

    /// Leaves what the commands of an iteration have for other clients in the mail. To be called after them, before
    /// the worker looks at its own mail again.
    pub fn finish_round(&mut self) {
        self.state.finish_round(&self.engine);
    }

    /// Tells a client that keys have changed, if it still wants to know; or has another one told.
    pub fn invalidate(&mut self, session: &mut Session, what: &Arc<Invalidation>, out: &mut Vec<u8>) {
        execution_tracking::invalidate(&self.engine, self.state.index, session, what, out);
    }

    /// Tells a client that keys have changed for another.
    pub fn invalidate_for_other(&self, session: &Session, what: &Invalidation, out: &mut Vec<u8>) {
        execution_tracking::invalidate_for_other(session, what, out);
    }

    /// A channel of the shard is not this node's any more: its subscriber is told so, if it still is one.
    pub fn leave_shard_channel(&mut self, session: &mut Session, channel: &[u8], out: &mut Vec<u8>) {
        commands::pubsub::leave_shard_channel(&self.engine, session, channel, out);
    }

    /// Whether a connection may go on after the rights of its user have changed; if not, it is to be closed.
    pub fn may_stay(&mut self, session: &mut Session) -> bool {
        login::may_stay(&self.engine.acl, session)
    }

    /// Whether there are messages for this worker's clients: it must not sleep before it has looked at them.
    pub fn has_mail(&self) -> bool {
        self.state.mailbox.has_mail()
    }

    /// The reply to a blocking command has come, with the end of the effects that it shows: the connection continues. Returns
    /// whether the reply is to be sent to the client.
    pub fn resume(&mut self, session: &mut Session, reply: &[u8], ends: Ends) -> bool {
        self.state.written = self.state.written.and(ends);
        session.written = session.written.and(ends);
        let failed = reply.first() == Some(&b'-');
        if failed {
            self.state.stats.errors.add(1);
        }
        if let Some(waiter) = end_wait(session) {
            self.leave_lines(&waiter);
            let outcome = match failed {
                true if reply.starts_with(b"-UNBLOCKED ") => Outcome::Rejected,
                true => Outcome::Failed,
                false => Outcome::Done,
            };
            if let Some(suspended) = &session.suspended
                && slot_stats::is_on(&self.engine)
            {
                slot_stats::note_served(&self.state, suspended.found, suspended.args.as_args(), reply.len());
            }
            self.record_suspended(session, outcome, reply.len());
        }
        !std::mem::take(&mut session.mutes_wait)
    }

    /// The deadline of a blocked connection has come. True: it gave up, and its reply was written. False: it has been
    /// served, and the mail is on its way.
    pub fn block_timeout(&mut self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        let Some(waiter) = session.waiter.clone() else { return false };
        if !waiter.take() {
            return false;
        }
        end_wait(session);
        self.leave_lines(&waiter);
        let start = out.len();
        blocking::write_timeout(&self.engine, &waiter, &mut Reply::new(out, waiter.protocol));
        self.record_suspended(session, Outcome::Done, out.len() - start);
        if std::mem::take(&mut session.mutes_wait) {
            out.truncate(start);
        }
        true
    }

    /// Ends the wait of a client that may not be there any more. False: the reply is on its way, or another thread makes it.
    pub fn stop_waiting(&mut self, session: &mut Session) -> bool {
        let Some(waiter) = session.waiter.clone() else { return true };
        if waiter.op.ends_by_itself() || !waiter.dismiss() {
            return false;
        }
        end_wait(session);
        self.leave_lines(&waiter);
        (session.suspended, session.mutes_wait) = (None, false);
        true
    }

    /// The input breaks the protocol; the server answers and closes.
    pub fn protocol_error(&mut self, session: &mut Session, text: &str) {
        self.state.stats.errors.add(1);
        self.engine.errors.count(&CommandError::Fixed("ERR "));
        let line = format!("Protocol error from client {}: {text}", session.shared.addr);
        self.engine.host.log(crate::host::LogLevel::Verbose, &line);
    }

    /// The connection is gone, and its buffers are freed.
    pub fn disconnect(&mut self, mut session: Session) {
        // Made known before they count no more as something that is about to go.
        self.state.evictor.note_growth(&self.engine);
        if let Some(waiter) = end_wait(&mut session) {
            waiter.take();
            self.leave_lines(&waiter);
        }
        if let Some(import) = session.import.take() {
            // What has been granted is the bus's to finish.
            if import.state() != MigrationState::FailoverGranted && import.fail(SOURCE_LOST) {
                self.engine.cluster.wake();
            }
        }
        transaction::forget(&self.engine, &mut session);
        commands::pubsub::forget(&self.engine, &mut session);
        crate::clients::tracking::turn_off(&self.engine.trackers, &mut session);
        if let Some(replica) = session.replica.take() {
            self.engine.remove_replica(&replica);
            self.engine.append_log.trim_stream(|| self.state.evictor.note_growth(&self.engine));
        }
        self.engine.clients.remove(&session.shared);
        self.engine.uncount_client(&session.shared);
    }

    /// Takes a waiter out of the lines of all its keys.
    fn leave_lines(&self, waiter: &Arc<Waiter>) {
        for at in 0..waiter.keys.len() {
            self.engine.stale.forget(&self.engine.shards, Registration::Waiting(Arc::clone(waiter), at));
        }
    }

    fn record_suspended(&self, session: &mut Session, outcome: Outcome, reply_bytes: usize) {
        if let Some(suspended) = session.suspended.take() {
            dispatch::record_suspended(&self.engine, &self.state, session, &suspended, outcome, reply_bytes);
        }
    }
}

fn end_wait(session: &mut Session) -> Option<Arc<Waiter>> {
    let waiter = session.waiter.take()?;
    session.shared.set_flag(client_flags::BLOCKED, false);
    *session.shared.waiter.lock() = None;
    *session.shared.suspended.lock() = None;
    session.shared.args_bytes.store(0, Relaxed);
    Some(waiter)
}
