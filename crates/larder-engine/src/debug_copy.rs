//! Sessions of SCRIPT DEBUG YES: on a copy of the data, in a thread of their own.
//!
//! Where a server that can fork would fork, the thread makes an engine of its own and fills it from a snapshot. Keys and
//! short values are copied; collections and long strings share their blocks with the originals, and the thread that writes copies
//! the block that it writes to. So nothing that the script does reaches anybody, and the server goes on meanwhile.
//!
//! Cost: a key takes what it takes in the keyspace, and about 0.2 us to copy; the figures are in `docs/design/scripting.md`.

use crate::clients::access::Access;
use crate::clients::session::Mode;
use crate::clients::session::{ConnInfo, ConnKind, Session, client_flags};
use crate::context::beside::Beside;
use crate::context::flow::Flow;
use crate::engine::Engine;
use crate::keyspace::locks::MayWait;
use crate::snapshot::Snapshot;
use crate::snapshot::load::{Loader, Overdue};
use larder_resp::{OwnedArgs, Protocol};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The EVAL of a client that wants it debugged on a copy, and who the client is: all that its thread needs.
pub struct Twin {
    engine: Arc<Engine>,
    args: OwnedArgs,
    info: ConnInfo,
    access: Access,
    authenticated: bool,
    db: usize,
    protocol: Protocol,
}

impl Twin {
    /// Of a command that [`Worker::execute`](crate::Worker::execute) has answered with [`Flow::Debug`].
    pub fn new(engine: &Arc<Engine>, session: &Session, args: OwnedArgs) -> Twin {
        let shared = &session.shared;
        let kind = if shared.has(client_flags::UNIX) { ConnKind::Unix } else { ConnKind::Tcp };
        Twin {
            engine: Arc::clone(engine),
            args,
            info: ConnInfo {
                id: shared.id,
                addr: shared.addr.to_string(),
                laddr: shared.laddr.to_string(),
                fd: shared.fd,
                kind,
            },
            access: session.access.clone(),
            authenticated: session.authenticated,
            db: session.db,
            protocol: session.protocol,
        }
    }

    /// Begins the snapshot that the copy is made from; `None` while another one is read.
    pub fn snapshot(&self, may_wait: &MayWait) -> Option<Snapshot> {
        let turn = self.engine.take_turn(may_wait);
        self.engine.snapshot(&turn, || ())
    }

    /// Copies the data, as a snapshot shows it.
    pub fn copy(self, snapshot: &Snapshot, may_wait: &MayWait) -> Copy {
        let growth_before = self.engine.host.thread_growth();
        let mut not_counted = NotCounted { engine: Arc::clone(&self.engine), bytes: 0 };
        let engine = self.engine.without_data();
        let mut loader = Loader::new(&engine, may_wait, Overdue::Keep, &engine.persistence.load);
        for database in snapshot.databases() {
            let copied: Result<(), Infallible> = snapshot.for_each(database.index, |record| {
                loader.copy(database.index, &record);
                // Keys are evicted while the copy is made, too.
                not_counted.set(self.engine.host.thread_growth() - growth_before);
                Ok(())
            });
            copied.unwrap_or_else(|never| match never {});
        }
        drop(loader);
        not_counted.set(self.engine.host.thread_growth() - growth_before);
        Copy { twin: self, engine, not_counted }
    }
}

/// A session that can begin.
pub struct Copy {
    twin: Twin,
    engine: Arc<Engine>,
    not_counted: NotCounted,
}

impl Copy {
    /// Runs the session; returns what the client gets last.
    pub fn run(self, beside: &mut dyn Beside) -> Vec<u8> {
        let Copy { twin, engine, not_counted } = self;
        let mut worker = engine.worker(0, Box::new(|| ()));
        worker.tick();
        let mut session = worker.connect(twin.info);
        session.access = twin.access;
        session.authenticated = twin.authenticated;
        session.db = twin.db;
        session.protocol = twin.protocol;
        session.debugging = Mode::InPlace;
        let mut reply = Vec::new();
        let args = twin.args.as_args();
        if worker.execute(&mut session, &args, &mut reply) == Flow::Script {
            worker.execute_script(&mut session, args, &mut reply, beside);
        }
        worker.disconnect(session);
        drop((worker, engine));
        drop(not_counted);
        reply
    }
}

/// The memory of a copy does not count against `maxmemory`: keys would be evicted for it.
struct NotCounted {
    engine: Arc<Engine>,
    bytes: i64,
}

impl NotCounted {
    /// From now on, this number of bytes does not count.
    fn set(&mut self, bytes: i64) {
        let more = bytes - std::mem::replace(&mut self.bytes, bytes);
        self.engine.eviction.copies.fetch_add(more, Relaxed);
    }
}

impl Drop for NotCounted {
    fn drop(&mut self) {
        self.engine.eviction.copies.fetch_sub(self.bytes, Relaxed);
    }
}
