//! Sockets of replicas on which every worker may send the stream.
//!
//! A client that reads from a replica right after its write on the primary should find the write there. The worker that executes the
//! write therefore sends the stream itself before the reply leaves; handing it to the worker of the replica's connection would be later by a
//! thread's way out of sleep.
//!
//! An outlet belongs to one connection and ends with it: the connection owns an [`OpenOutlet`], and dropping that closes the second handle on the
//! socket. Links by TLS and compressed ones have no outlet: they have state of their own, and their worker sends.
//!
//! Rule: whoever sends holds the outlet's lock, from reading the log to moving the cursor, so no byte is sent twice or
//! out of order. A worker that finds the socket full, or broken, leaves the rest to the connection's own worker, which hears from the
//! kernel when there is room.

use crate::connection::Stream;
use larder_engine::{ClientShared, Cursor, Engine, Replica};
use parking_lot::{Mutex, RwLock};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bytes taken from the log at once.
pub const PIECE_BYTES: usize = 64 << 10;
/// Bytes that one replica is sent at once by a worker that has others to serve.
pub const TURN_BYTES: u64 = 1 << 20;

/// All outlets of the server.
#[derive(Default)]
pub struct Outlets {
    open: RwLock<Vec<Arc<Outlet>>>,
    any: AtomicBool,
}

/// The socket of one replica.
pub struct Outlet {
    replica: Arc<Replica>,
    client: Arc<ClientShared>,
    socket: Mutex<Socket>,
}

struct Socket {
    /// `None` once the connection is closed.
    stream: Option<Stream>,
    /// The last write did not fill it.
    takes: bool,
}

/// Of a connection: its outlet, which is closed with it.
pub struct OpenOutlet {
    outlet: Arc<Outlet>,
    all: Arc<Outlets>,
}

/// What a worker may do with an outlet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// It has the connection.
    Own,
    /// It does not, and leaves the connection's worker what does not fit.
    Other,
}

impl Outlets {
    /// Lets all workers send to a replica on a duplicate of its socket.
    pub fn open(
        self: &Arc<Self>,
        stream: &Stream,
        replica: &Arc<Replica>,
        client: &Arc<ClientShared>,
    ) -> io::Result<OpenOutlet> {
        let socket = Mutex::new(Socket { stream: Some(stream.duplicate()?), takes: true });
        let outlet = Arc::new(Outlet { replica: Arc::clone(replica), client: Arc::clone(client), socket });
        self.open.write().push(Arc::clone(&outlet));
        self.any.store(true, Relaxed);
        Ok(OpenOutlet { outlet, all: Arc::clone(self) })
    }

    /// Sends the replicas of other workers what the stream has up to `end`, as far as their sockets take it.
    pub fn send(&self, engine: &Engine, from: usize, end: u64, piece: &mut Vec<u8>) {
        if !self.any.load(Relaxed) {
            return;
        }
        for outlet in self.open.read().iter().filter(|outlet| outlet.replica.worker != from) {
            // The connection's worker finds out what an error means.
            let _ = outlet.send(engine, Sender::Other, end, piece);
        }
    }
}

impl Outlet {
    /// Sends what the stream has up to `end`, at most [`TURN_BYTES`]; says whether the socket takes more.
    pub fn send(&self, engine: &Engine, sender: Sender, end: u64, piece: &mut Vec<u8>) -> io::Result<bool> {
        let mut socket = self.socket.lock();
        let Socket { stream: Some(stream), takes } = &mut *socket else { return Ok(false) };
        if sender == Sender::Own {
            *takes = true;
        }
        let Some(cursor) = self.replica.cursor().filter(|_| self.replica.is_online()) else {
            return Ok(*takes);
        };
        if !*takes {
            return Ok(false);
        }
        let sent = send_from(engine, &cursor, end, piece, |bytes| {
            stream.write(bytes).inspect(|&sent| self.client.add_net_out(sent))
        });
        *takes = matches!(sent, Ok(true));
        sent
    }
}

/// Sends what the stream has from a cursor to `end`, at most [`TURN_BYTES`], by `write`, which says how much the socket took. Returns whether the
/// socket takes more.
///
/// # Errors
/// The socket is broken.
pub fn send_from(
    engine: &Engine,
    cursor: &Cursor,
    end: u64,
    piece: &mut Vec<u8>,
    mut write: impl FnMut(&[u8]) -> io::Result<usize>,
) -> io::Result<bool> {
    let until = end.min(cursor.position() + TURN_BYTES);
    while cursor.position() < until {
        piece.clear();
        engine.append_log().read_stream(cursor.position(), piece, PIECE_BYTES);
        let sent = match write(piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            sent => sent?,
        };
        cursor.advance(sent as u64);
        engine.replication().bytes_out.fetch_add(sent as u64, Relaxed);
        if sent < piece.len() {
            return Ok(false);
        }
    }
    Ok(true)
}

impl OpenOutlet {
    /// The outlet, if it is this replica's.
    pub fn of(&self, replica: &Arc<Replica>) -> Option<&Outlet> {
        Arc::ptr_eq(&self.outlet.replica, replica).then_some(&*self.outlet)
    }

    /// Has `work` done while nobody else sends: the connection's own output goes out.
    pub fn alone<R>(&self, work: impl FnOnce() -> R) -> R {
        let _socket = self.outlet.socket.lock();
        work()
    }
}

impl Drop for OpenOutlet {
    fn drop(&mut self) {
        self.outlet.socket.lock().stream = None;
        let mut open = self.all.open.write();
        open.retain(|other| !Arc::ptr_eq(other, &self.outlet));
        self.all.any.store(!open.is_empty(), Relaxed);
    }
}
