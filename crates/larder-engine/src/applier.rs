//! Executing what the primary sends.
//!
//! The stream is a sequence of units: a command, or a transaction from MULTI to EXEC. A unit is executed as a client's would be, but for
//! what a replica must take from its primary as it is: nothing is refused, nothing expires by itself, nothing is answered. Its bytes go into
//! this server's own stream while its shards are held, so that a snapshot for a replica of this one has either both or neither.
//!
//! Invariant: the end of the stream is how much of the primary's stream has been applied. A unit that the link's end cuts off is thrown away.

use crate::clients::session::{ClientShared, ConnInfo, Session, client_flags};
use crate::delivery::mailbox::Mailbox;
use crate::engine::Engine;
use crate::replication::unit::Unit;
use crate::text::word::is_word;
use crate::worker::Worker;
use larder_resp::{Args, KeyHints};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of a unit for which room is kept.
const UNIT_BYTES_KEPT: usize = 64 << 10;
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
    /// The unit that is coming; the worker has it while it is executed.
    unit: Option<Box<Unit>>,
    epoch: u64,
}

impl Applier {
    /// For a link that was begun at this epoch of the state, whose stream goes on in database `db`. As long as the applier lives, the
    /// link is among the clients, as what `info` says.
    pub fn new(engine: &Arc<Engine>, info: ConnInfo, epoch: u64, db: usize) -> Applier {
        let mailbox = Arc::new(Mailbox::new(Box::new(|| {})));
        let worker = Worker::new(Arc::clone(engine), NO_WORKER, mailbox, engine.stats.of_applier());
        let shared = Arc::new(ClientShared::new(info, NO_WORKER, crate::clock::wall_ms()));
        shared.set_flag(client_flags::PRIMARY, true);
        let mut session = Session::for_replay(Arc::clone(&shared), &engine.acl);
        session.db = db;
        shared.db.store(db as u32, Relaxed);
        session.is_of_primary = true;
        engine.clients.add(shared);
        Applier { worker, session, reply: Vec::new(), unit: None, epoch }
    }

    /// Bytes have come from the primary.
    pub fn note_received(&self, bytes: u64) {
        let shared = &self.session.shared;
        shared.net_in.store(shared.net_in.load(Relaxed) + bytes, Relaxed);
        self.worker.engine.replication.bytes_in.fetch_add(bytes, Relaxed);
    }

    /// Whether a client has asked that the link be closed (CLIENT KILL).
    pub fn is_killed(&self) -> bool {
        self.session.shared.kill.load(Relaxed)
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

    /// Notes in the append-only file how far the primary's stream is applied.
    pub fn note_place(&self) {
        if self.session.multi.is_none() {
            self.worker.engine.note_place(Some(self.epoch));
        }
    }

    /// The database that is selected.
    pub fn db(&self) -> usize {
        self.session.db
    }

    /// Has the processor load what the commands in `bytes` will read, while it is still busy.
    ///
    /// It looks at the first [`PREFETCH_MAX`](crate::PREFETCH_MAX) of them.
    pub fn prefetch(&mut self, bytes: &[u8]) {
        self.worker.prefetch(&self.session, KeyHints::new(bytes));
    }

    /// Takes the next command. `bytes` are those that it came in.
    pub fn apply(&mut self, args: Args<'_>, bytes: &[u8]) -> Applied {
        let name = args.get(0).unwrap_or(b"");
        let in_transaction = self.session.multi.is_some();
        self.unit().bytes.extend_from_slice(bytes);
        if is_word(name, "replconf") && args.get(1).is_some_and(|option| is_word(option, "getack")) {
            let end = self.worker.engine.append_log.stream_end();
            return if self.pass_on() { Applied::Asked(end) } else { Applied::Over };
        }
        if is_word(name, "multi") || in_transaction && !is_word(name, "exec") {
            self.run(args);
            return Applied::Begun;
        }
        self.worker.state.unit = self.unit.take();
        self.run(args);
        self.unit = self.worker.state.unit.take();
        // When nothing was executed, the bytes count all the same.
        if self.unit().is_passed_on || self.pass_on() {
            self.begin_unit();
            return Applied::Done;
        }
        Applied::Over
    }

    /// The unit that is coming.
    fn unit(&mut self) -> &mut Unit {
        let epoch = self.epoch;
        self.unit.get_or_insert_with(|| Box::new(Unit { bytes: Vec::new(), epoch, is_passed_on: false }))
    }

    fn begin_unit(&mut self) {
        let unit = self.unit();
        unit.bytes.clear();
        unit.bytes.shrink_to(UNIT_BYTES_KEPT);
        unit.is_passed_on = false;
    }

    /// Puts the bytes of the unit into the stream, and begins the next one; false if the role has changed.
    fn pass_on(&mut self) -> bool {
        let (db, epoch) = (self.session.db, self.epoch);
        let bytes = std::mem::take(&mut self.unit().bytes);
        let passed = self.worker.engine.append_log.append_verbatim(&bytes, db, epoch);
        self.unit().bytes = bytes;
        self.begin_unit();
        passed
    }

    /// Executes a command, however long a script makes it wait.
    fn run(&mut self, args: Args<'_>) {
        let epoch = self.epoch;
        let is_current = |engine: &Engine| engine.replication.epoch() == epoch;
        self.worker.execute_patiently(&mut self.session, args, &mut self.reply, is_current);
    }
}

impl Drop for Applier {
    fn drop(&mut self) {
        self.worker.engine.clients.remove(&self.session.shared);
    }
}
