//! Clients without sockets: a thread of the process has commands executed for somebody who asks in another way, with that one's rights.
//!
//! Such a client is in CLIENT LIST and can be killed like any other. It gets the answer to each command at
//! once: one that would wait has waited in vain, unless the caller allows it to wait (`may_wait`), and what
//! would turn the connection into something else than questions and answers is refused ([`Permit`]).
//!
//! Tested by `larder-server/tests/console.rs` and the tests of `larder-embed`.

mod connection;
mod listen;
mod rules;
mod search;

pub use connection::Delivery;
pub use rules::{Permit, is_about_connection};
pub use search::{Filter as KeyFilter, FoundKey, Level, Order, Place, Slice, Wanted};

use crate::acl::{Origin, decide};
use crate::aof::log::Ends;
use crate::clients::session::{ConnInfo, ConnKind, Session};
use crate::command::spec::{Group, flags};
use crate::context::flow::Flow;
use crate::delivery::invalidation::Invalidation;
use crate::delivery::mailbox::{Mail, Mailbox, Wake};
use crate::engine::Engine;
use crate::error::CommandError;
use crate::execution::{authorization, lookup};
use crate::worker::Worker;
use larder_collections::hash::Hash;
use larder_resp::{Args, OwnedArgs, Protocol, Reply};
use rules::{is_harmless, name_of, rule_of};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a command is tried again that is put off, by a pause or a script.
const PATIENCE: Duration = Duration::from_secs(2);
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

const NOT_NOW: &[u8] = b"BUSY The command is put off; try again later";
const WAITED: &[u8] = b"ERR The command would block, which this client does not support";

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It is answered.
    Answered,
    /// The answer will be in the mail.
    Waits {
        /// When the client gives up, on the clock of [`LocalWorker::now_ms`].
        deadline_ms: Option<u64>,
    },
    /// The client is to be closed.
    Closed,
}

/// A thread's handle on its clients.
pub struct LocalWorker {
    worker: Worker,
    /// Messages that were taken and not given out yet.
    kept: Vec<Mail>,
}

impl Engine {
    /// A worker for a thread that has clients without sockets; it is made after all others. `wake` is called when there is mail.
    pub fn local_worker(self: &Arc<Self>, wake: Wake) -> LocalWorker {
        self.local_worker_of(self.mailboxes.add_numbered(wake))
    }

    /// The worker of a mailbox with this number.
    fn local_worker_of(self: &Arc<Self>, (index, mailbox): (usize, Arc<Mailbox>)) -> LocalWorker {
        let worker = Worker::new(Arc::clone(self), index, mailbox, self.stats.add());
        LocalWorker { worker, kept: Vec::new() }
    }
}

impl LocalWorker {
    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        self.worker.engine()
    }

    /// Reads the clocks and the options; before each request.
    pub fn begin(&mut self) {
        self.worker.engine().sleep_along();
        self.worker.tick_for_one();
    }

    /// Leaves what commands have for other clients in the mail, and lets replicas know of what is new; after each request. Returns where in
    /// the log the effects end.
    pub fn end(&mut self) -> u64 {
        self.worker.finish_round();
        self.worker.engine().wake_senders(None);
        self.worker.log_end()
    }

    /// A new client of an address, which has not said who it is. It speaks RESP3.
    pub fn open(&mut self, addr: &str, laddr: &str) -> Session {
        let id = self.worker.engine().next_client_id();
        let (addr, laddr) = (addr.to_owned(), laddr.to_owned());
        let mut session = self.worker.connect(ConnInfo { id, addr, laddr, fd: -1, kind: ConnKind::Tcp });
        session.protocol = Protocol::Resp3;
        session.has_own_thread = true;
        session
    }

    /// A client that is the process itself. Its commands never wait: those that would answer as they do in a script.
    pub fn open_own(&mut self) -> Session {
        let mut session = self.open("", "");
        session.never_waits = true;
        session
    }

    /// A client that is told of every change, by [`Mail::Invalidate`]. `None` if the default user may not ask for that.
    pub fn open_listener(&mut self) -> Option<Session> {
        let mut session = self.open_own();
        let words = [&b"CLIENT"[..], b"TRACKING", b"ON", b"BCAST"];
        let args: OwnedArgs = words.into_iter().collect();
        let mut reply = Vec::new();
        self.execute(&mut session, args.as_args(), &mut reply);
        if reply == b"+OK\r\n" {
            return Some(session);
        }
        self.close(session);
        None
    }

    /// Appends what a listener is told: a push message with the names of keys, or null for all.
    pub fn invalidate(&mut self, session: &mut Session, what: &Arc<Invalidation>, out: &mut Vec<u8>) {
        self.worker.invalidate(session, what, out);
    }

    /// Another client of the same user.
    pub fn open_as(&mut self, other: &Session) -> Session {
        let mut session = self.open(&other.shared.addr, &other.shared.laddr);
        session.access = other.access.clone();
        session.authenticated = other.authenticated;
        let user = other.shared.names.lock().user.clone();
        session.shared.names.lock().user = user;
        session
    }

    /// Makes a client a user's, if the password is right. If not, ACL LOG notes it.
    pub fn log_in(&mut self, session: &mut Session, user: &[u8], password: &[u8]) -> bool {
        let engine = self.worker.engine();
        authorization::authenticate(engine, session, user, password, Origin::TopLevel, b"AUTH")
    }

    /// Whether a client's user may call a command. A refusal is not noted in ACL LOG.
    pub fn may(&mut self, session: &mut Session, args: Args<'_>) -> bool {
        let Worker { engine, state } = &mut self.worker;
        let Some(found) = lookup::find_command(engine, state, args) else { return false };
        authorization::is_unrestricted(engine, session)
            || decide(session.access.rights(), found, args, session.db, engine.database_count()).is_ok()
    }

    /// The name of the client's user.
    pub fn user_of(&self, session: &Session) -> Vec<u8> {
        session.access.user().name().to_vec()
    }

    /// Executes a command of a client in a database, and appends the reply to `out`. One that would wait has waited in vain, unless
    /// `may_wait`.
    pub fn run(
        &mut self,
        session: &mut Session,
        (db, permit): (usize, Permit),
        args: Args<'_>,
        may_wait: bool,
        out: &mut Vec<u8>,
    ) -> Ran {
        let mark = out.len();
        if let Err(error) = self.permit(db, permit, args) {
            Reply::new(out, Protocol::Resp3).error(&error.wire());
            return Ran::Answered;
        }
        session.select(db);
        self.run_permitted(session, args, may_wait, mark, out)
    }

    fn run_permitted(
        &mut self,
        session: &mut Session,
        args: Args<'_>,
        may_wait: bool,
        mark: usize,
        out: &mut Vec<u8>,
    ) -> Ran {
        match self.execute(session, args, out) {
            Flow::Next | Flow::Deliver => Ran::Answered,
            Flow::Blocked { deadline_ms } if may_wait => Ran::Waits { deadline_ms },
            Flow::Blocked { .. } => self.end_wait(session, mark, out),
            Flow::Apart | Flow::Debug | Flow::Long | Flow::Retry | Flow::Script => {
                out.truncate(mark);
                Reply::new(out, Protocol::Resp3).error(NOT_NOW);
                Ran::Answered
            }
            // A name that a server hangs up on is only not known here.
            Flow::CloseNow if out.len() == mark && session.never_waits => {
                Reply::new(out, Protocol::Resp3).error(&lookup::unknown_command(args).wire());
                Ran::Answered
            }
            Flow::CloseAfterFlush | Flow::CloseNow | Flow::Replica => Ran::Closed,
        }
    }

    /// Executes `HGETALL` of a client, whose arguments are `args`, and returns the hash itself, in O(1), with the moment in milliseconds up to which its
    /// fields are over. `None` with an empty `out`: there is no such key. An error is appended to `out`.
    pub fn hash(
        &mut self,
        session: &mut Session,
        db: usize,
        args: Args<'_>,
        out: &mut Vec<u8>,
    ) -> Option<(Hash, u64)> {
        self.worker.state.wants_hash = true;
        self.run(session, (db, Permit::Data), args, false, out);
        self.worker.state.wants_hash = false;
        self.worker.state.hash.take()
    }

    /// Executes commands of a client as one transaction, and appends what EXEC replies: an array with the reply to each, or the error of the
    /// first command that may not be called; then none is executed.
    pub fn run_transaction(
        &mut self,
        session: &mut Session,
        (db, permit): (usize, Permit),
        commands: &[OwnedArgs],
        out: &mut Vec<u8>,
    ) {
        let mark = out.len();
        for command in commands {
            if let Err(error) = self.permit(db, permit, command.as_args()) {
                return Reply::new(out, Protocol::Resp3).error(&error.wire());
            }
        }
        session.select(db);
        let (multi, exec) = (word(b"MULTI"), word(b"EXEC"));
        let queued = std::iter::once((&multi, &b"+OK\r\n"[..]));
        let queued = queued.chain(commands.iter().map(|command| (command, &b"+QUEUED\r\n"[..])));
        for (command, wanted) in queued {
            self.execute(session, command.as_args(), out);
            if &out[mark..] != wanted {
                crate::execution::transaction::forget(&self.worker.engine, session);
                if out.len() == mark {
                    Reply::new(out, Protocol::Resp3)
                        .error(&lookup::unknown_command(command.as_args()).wire());
                }
                return;
            }
            out.truncate(mark);
        }
        if self.execute(session, exec.as_args(), out) == Flow::Retry {
            crate::execution::transaction::forget(&self.worker.engine, session);
            out.truncate(mark);
            Reply::new(out, Protocol::Resp3).error(NOT_NOW);
        }
    }

    /// Whether a command may run a script, and does not end one: those take a stack of [`larder_lua::STACK_BYTES_MIN`].
    pub fn may_run_script(&mut self, args: Args<'_>) -> bool {
        let found = lookup::find_command(&self.worker.engine, &mut self.worker.state, args);
        found.is_some_and(|found| {
            found.command.group == Group::Scripting && !found.command.has(flags::ALLOW_BUSY)
        })
    }

    fn execute(&mut self, session: &mut Session, args: Args<'_>, out: &mut Vec<u8>) -> Flow {
        let mark = out.len();
        let mut begun = None;
        loop {
            let mut flow = self.worker.execute(session, &args, out);
            if flow == Flow::Script {
                flow = self.worker.execute_script(session, args, out, &mut ());
            }
            if flow != Flow::Retry || is_over(*begun.get_or_insert_with(crate::clock::instant)) {
                return flow;
            }
            out.truncate(mark);
            std::thread::sleep(BETWEEN_TRIES);
            self.worker.tick();
        }
    }

    /// A command waits, and its client cannot: it has waited in vain, unless it has been served already. Then the reply is on its way.
    fn end_wait(&mut self, session: &mut Session, mark: usize, out: &mut Vec<u8>) -> Ran {
        out.truncate(mark);
        if self.worker.block_timeout(session, out) {
            out.truncate(mark);
            Reply::new(out, Protocol::Resp3).error(WAITED);
            return Ran::Answered;
        }
        loop {
            self.worker.drain(&mut self.kept);
            let is_it =
                |mail: &Mail| matches!(mail, Mail::Unblocked { client, .. } if *client == session.id());
            if let Some(at) = self.kept.iter().position(is_it)
                && let Mail::Unblocked { reply, ends, .. } = self.kept.remove(at)
            {
                if self.worker.resume(session, &reply, ends) {
                    out.extend_from_slice(&reply);
                }
                return Ran::Answered;
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
    }

    /// Whether clients may call a command; those that there are not get their error when they are executed.
    fn permit(&mut self, db: usize, permit: Permit, args: Args<'_>) -> Result<(), CommandError> {
        let Worker { engine, state } = &mut self.worker;
        if db >= engine.database_count() {
            return Err(CommandError::Fixed("ERR DB index is out of range"));
        }
        let Some(found) = lookup::find_command(engine, state, args) else { return Ok(()) };
        let rule = rule_of(found);
        if let Permit::Connection { files } = permit {
            let is_allowed = rule.is_of_connections || rule.is_about_data || files && rule.is_about_files;
            let refused = || {
                CommandError::text(format!(
                    "ERR '{}' is about a server, and there is none here",
                    name_of(found)
                ))
            };
            return if is_allowed { Ok(()) } else { Err(refused()) };
        }
        if rule.never {
            return Err(CommandError::text(format!(
                "ERR '{}' is about a connection, and there is none here",
                name_of(found)
            )));
        }
        match permit {
            Permit::All | Permit::Connection { .. } => {}
            Permit::Data | Permit::DataAndFiles if rule.is_about_data => {}
            Permit::DataAndFiles if rule.is_about_files => {}
            Permit::Data | Permit::DataAndFiles => {
                return Err(CommandError::text(format!(
                    "ERR '{}' is not about data, and there is no server here",
                    name_of(found)
                )));
            }
            Permit::Reading => {
                let name = name_of(found);
                if !is_harmless(found, &name, args) {
                    return Err(CommandError::text(format!(
                        "ERR '{name}' may change something, and only reading is allowed here"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The reply to a command that waited has come, with the end of the effects that it shows: the client continues. Returns
    /// whether the client is to get the reply.
    pub fn resume(&mut self, session: &mut Session, reply: &[u8], ends: Ends) -> bool {
        self.worker.resume(session, reply, ends)
    }

    /// Whether a client may go on after the rights of its user have changed.
    pub fn may_stay(&mut self, session: &mut Session) -> bool {
        self.worker.may_stay(session)
    }

    /// Takes the messages for the clients.
    pub fn mail(&mut self) -> Vec<Mail> {
        let mut mail = std::mem::take(&mut self.kept);
        self.worker.drain(&mut mail);
        self.worker.delivered();
        mail
    }

    /// A client has gone.
    pub fn close(&mut self, session: Session) {
        self.worker.disconnect(session);
    }
}

fn word(name: &[u8]) -> OwnedArgs {
    std::iter::once(name).collect()
}

fn is_over(begun: Instant) -> bool {
    begun.elapsed() >= PATIENCE
}
