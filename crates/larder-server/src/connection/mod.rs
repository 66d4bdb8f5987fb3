//! One client's connection: socket, input, output, session, and what its event loop must remember of it.
//!
//! An idle connection is this struct and nothing else: input and output borrow their buffers from the event loop while
//! there is something in them.

mod compressed;
pub mod input;
pub mod output;
mod stream;

pub use compressed::Compressed;
pub use stream::Stream;

use crate::replication::outlets::OpenOutlet;
use input::Input;
use larder_engine::{ConnKind, Session, Told};
use larder_resp::OwnedArgs;
use output::Output;
use std::time::Instant;

/// A connection on its way to its worker.
pub struct Arrival {
    /// The socket.
    pub stream: Stream,
    /// Where the client is, as CLIENT LIST says it.
    pub addr: String,
    /// Where it has connected to.
    pub laddr: String,
    /// How it has come.
    pub kind: ConnKind,
    /// It is to be told this, and closed, once it can be.
    pub refusal: Option<&'static [u8]>,
}

/// What other workers are to deliver before a connection's output leaves.
pub struct Awaited {
    /// The messages.
    pub told: Vec<Told>,
    /// When it leaves anyway.
    pub until: Instant,
}

/// A connected client.
pub struct Connection {
    /// The socket.
    pub stream: Stream,
    /// The engine's view of the client.
    pub session: Session,
    /// Bytes that wait to be executed.
    pub input: Input,
    /// Replies that wait to be sent.
    pub output: Output,
    /// What of the output's memory the engine knows of, as the connection's or as not offered to the socket yet.
    pub noted_bytes: usize,
    /// When a blocked client gives up, in `Worker::now_ms`.
    pub deadline_ms: Option<u64>,
    /// Where in the log the effects end that its output tells of: until they are on the disk it is held back.
    pub hold: u64,
    /// What the event loop knows.
    pub flags: Flags,
    /// See [`Arrival::refusal`].
    pub refusal: Option<&'static [u8]>,
    /// A command that another thread is to execute: the connection is about to leave.
    pub away: Option<Box<OwnedArgs>>,
    /// Where other workers send the stream, if the connection is a replica's.
    pub outlet: Option<OpenOutlet>,
    /// What other workers are to send before its output leaves.
    pub awaited: Option<Box<Awaited>>,
    /// What is sent in place of the stream's own bytes, if the connection is a replica's and its link is compressed.
    pub compressed: Option<Box<Compressed>>,
}

/// What the event loop knows of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags {
    /// The last read did not empty the socket, or an event came since.
    pub readable: bool,
    /// The peer has closed its side: read until the end, however short the reads.
    pub hung_up: bool,
    /// The end has been read: nothing more comes.
    pub half_closed: bool,
    /// There may be a whole command in the input already.
    pub backlog: bool,
    /// The last write did not fill the socket, or an event came since.
    pub writable: bool,
    /// The socket has been asked to say when it takes more.
    pub watches_writes: bool,
    /// Paused: the next command waits for the engine's word.
    pub paused: bool,
    /// Closes when the output is sent; no command is executed any more.
    pub closing: bool,
    /// Is on the list of connections to serve.
    pub listed: bool,
    /// Is on the list of connections to flush.
    pub dirty: bool,
    /// Is on the list of connections whose output is held back.
    pub held: bool,
    /// Is on the list of replicas.
    pub streams: bool,
    /// Its handshake is not over; nothing is executed before.
    pub greets: bool,
    /// Is a replica that is to be sent a snapshot as soon as its output is.
    pub joins: bool,
}

impl Connection {
    /// Whether commands may be executed now.
    pub fn runs(&self) -> bool {
        !self.flags.closing && !self.flags.paused && !self.session.is_blocked() && self.away.is_none()
    }

    /// Whether it is to be closed, and no reply is on its way that it has waited for.
    pub fn ends(&self) -> bool {
        self.flags.closing && !self.session.is_served()
    }

    /// Whether its next command is to be tried again soon, by this thread or another: clients have not been paused.
    pub fn is_put_off(&self) -> bool {
        self.away.is_some() || self.flags.paused && !self.session.waits_for_pause()
    }

    /// For the log.
    pub fn describe(&self) -> String {
        let shared = self.session.shared();
        format!(
            "id={} addr={} laddr={} fd={} qbuf={} omem={}",
            shared.id,
            shared.addr,
            shared.laddr,
            shared.fd,
            self.input.len(),
            self.output.len()
        )
    }
}
