//! Executing what the primary sends.
//!
//! The stream is a sequence of units: a command, or a transaction from MULTI to EXEC. A unit is executed as a client's would be, but for
//! what a replica must take from its primary as it is: nothing is refused, nothing expires by itself, nothing is answered. Its bytes go into
//! this server's own stream while its shards are held, so that a snapshot for a replica of this one has either both or neither.
//!
//! Invariant: the end of the stream is how much of the primary's stream has been applied. A unit that the link's end cuts off is thrown away.

use crate::clients::session::{ConnInfo, ConnKind, Session};
use crate::context::flow::Flow;
use crate::delivery::mailbox::Mailbox;
use crate::engine::Engine;
use crate::execution::lookup::look_up;
use crate::replication::unit::Unit;
use crate::text::word::is_word;
use crate::worker::Worker;
use larder_resp::Args;
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for a script that holds what a unit needs, before it is tried again.
const PATIENCE: Duration = Duration::from_micros(200);
/// No worker has this number: what is done here concerns the clients of all.
const NO_WORKER: usize = usize::MAX;

/// What has become of a command of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is a part of a unit that goes on.
    Begun,
    /// The unit is done.
    Done,
    /// The primary wants to know how far this server has come: what the stream's end was before.
    Asked(u64),
    /// The role has changed: nothing of this link is applied any more.
    Over,
}

/// Executes the stream of a link.
pub struct Applier {
    worker: Worker,
    session: Session,
    reply: Vec<u8>,
    unit: Vec<u8>,
    epoch: u64,
}

impl Applier {
    /// For a link that was begun at this epoch of the state, whose stream goes on in database `db`.
    pub fn new(engine: &Arc<Engine>, epoch: u64, db: usize) -> Applier {
        let mailbox = Arc::new(Mailbox::new(Box::new(|| {})));
        let worker = Worker::new(Arc::clone(engine), NO_WORKER, mailbox, engine.stats.of_applier());
        let info =
            ConnInfo { id: 0, addr: String::new(), laddr: String::new(), fd: -1, kind: ConnKind::Unix };
        let mut session = Session::for_replay(info, &engine.acl);
        session.db = db;
        Applier { worker, session, reply: Vec::new(), unit: Vec::new(), epoch }
    }

    /// Reads clocks and options: for every piece of the stream.
    pub fn tick(&mut self) {
        self.worker.tick();
    }

    /// Sends what the commands since have for clients: for the end of every piece.
    pub fn finish_piece(&mut self) {
        self.worker.finish_round();
        self.worker.engine.wake_senders(None);
    }

    /// The database that is selected.
    pub fn db(&self) -> usize {
        self.session.db
    }

    /// Takes the next command. `bytes` are those that it came in.
    pub fn apply(&mut self, args: Args<'_>, bytes: &[u8]) -> Applied {
        let name = args.get(0).unwrap_or(b"");
        let in_transaction = self.session.multi.is_some();
        self.unit.extend_from_slice(bytes);
        if is_word(name, "replconf") && args.get(1).is_some_and(|option| is_word(option, "getack")) {
            let end = self.worker.engine.append_log.stream_end();
            return if self.pass_on() { Applied::Asked(end) } else { Applied::Over };
        }
        if is_word(name, "multi") || in_transaction && !is_word(name, "exec") {
            self.note_unknown(args);
            self.run(args, None);
            return Applied::Begun;
        }
        self.note_unknown(args);
        let unit = Unit { bytes: std::mem::take(&mut self.unit), epoch: self.epoch };
        if let Some(unit) = self.run(args, Some(Box::new(unit))) {
            // Nothing was executed: the bytes count all the same.
            self.unit = unit.bytes;
            return if self.pass_on() { Applied::Done } else { Applied::Over };
        }
        Applied::Done
    }

    /// Puts the bytes of the unit into the stream; false if the role has changed.
    fn pass_on(&mut self) -> bool {
        let passed = self.worker.engine.append_log.append_verbatim(&self.unit, self.session.db, self.epoch);
        self.unit.clear();
        passed
    }

    /// A command of a newer primary that is not known here: the data will not be the same.
    fn note_unknown(&mut self, args: Args<'_>) {
        let Worker { engine, state } = &mut self.worker;
        if look_up(engine, state, args).is_err() {
            engine.replication.unknown_commands.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let name = String::from_utf8_lossy(args.get(0).unwrap_or(b"")).into_owned();
            engine.log_warning(&format!(
                "== CRITICAL == The primary has sent the command '{name}', which is not known here: the data is not the same any more"
            ));
        }
    }

    /// Executes a command, however long a script makes it wait. Returns the unit if nobody has put it into the stream.
    fn run(&mut self, args: Args<'_>, unit: Option<Box<Unit>>) -> Option<Box<Unit>> {
        self.worker.state.unit = unit;
        loop {
            self.reply.clear();
            let mut flow = self.worker.execute(&mut self.session, args, &mut self.reply);
            if flow == Flow::Script {
                flow = self.worker.execute_script(&mut self.session, args, &mut self.reply, &mut ());
            }
            if flow != Flow::Retry {
                return self.worker.state.unit.take();
            }
            std::thread::sleep(PATIENCE);
            if self.worker.engine.replication.epoch() != self.epoch {
                return self.worker.state.unit.take();
            }
            self.worker.tick();
        }
    }
}
