//! Clients that debug a script.
//!
//! With SYNC the script runs in the event loop, as all do, and talks to its client's socket in between. With YES the
//! connection leaves the loop: a thread of its own makes a copy of the data, runs the script on it, and closes the socket.
//! See `docs/design/scripting.md`.

use super::EventLoop;
use crate::connection::{Connection, Stream};
use larder_engine::{
    Beside, Flow, LogLevel, MayWait, Received, STACK_BYTES_MIN, Twin, spawn_background_with_stack,
};
use larder_persist::Persist;
use larder_resp::Args;
use larder_tls::wait_for_socket;
use std::borrow::BorrowMut;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes read at once.
const READ_BYTES: usize = 4096;
/// What a client has not read of the dialogue: one that reads no more is given up.
const UNSENT_BYTES_MAX: usize = 64 << 20;
/// How long a session that has ended waits for its client to read the rest.
const FINISH_MAX: Duration = Duration::from_secs(1);
/// How long a thread waits before it looks again whether another snapshot is still read.
const SNAPSHOT_LOOK: Duration = Duration::from_millis(10);

/// The socket of a client that debugs: `S` is a [`Stream`], or a borrowed one.
pub(super) struct Dialogue<S> {
    stream: S,
    /// What the client sent before the session began.
    early: Vec<u8>,
    unsent: Vec<u8>,
    is_gone: bool,
}

/// The socket of a client whose script runs in the event loop.
pub(super) type DebuggingClient<'a> = Dialogue<&'a mut Stream>;

impl<S: BorrowMut<Stream>> Dialogue<S> {
    pub(super) fn new(stream: S, early: &[u8]) -> Dialogue<S> {
        Dialogue { stream, early: early.to_vec(), unsent: Vec::new(), is_gone: false }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        self.write();
    }

    /// Sends as much as the socket takes.
    fn write(&mut self) {
        while !self.unsent.is_empty() && !self.is_gone {
            match self.stream.borrow_mut().write(&self.unsent) {
                Ok(0) => self.is_gone = true,
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.is_gone = true,
            }
        }
        self.is_gone |= self.unsent.len() > UNSENT_BYTES_MAX;
    }

    /// Waits for bytes, at most this long.
    pub(super) fn receive(&mut self, into: &mut Vec<u8>, patience: Duration) -> Received {
        if !self.early.is_empty() {
            into.append(&mut self.early);
            return Received::Bytes;
        }
        self.write();
        let received = self.read(into);
        if received != Received::Nothing || patience.is_zero() {
            return received;
        }
        wait_for_socket(&*self.stream.borrow_mut(), !self.unsent.is_empty(), patience);
        self.write();
        self.read(into)
    }

    fn read(&mut self, into: &mut Vec<u8>) -> Received {
        if self.is_gone {
            return Received::Gone;
        }
        let mut buffer = [0; READ_BYTES];
        match self.stream.borrow_mut().read(&mut buffer) {
            Ok(0) => self.is_gone = true,
            Ok(n) => {
                into.extend_from_slice(&buffer[..n]);
                return Received::Bytes;
            }
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
                return Received::Nothing;
            }
            Err(_) => self.is_gone = true,
        }
        Received::Gone
    }

    /// Sends the rest, if the client reads it.
    pub(super) fn finish(&mut self) {
        let end = Instant::now() + FINISH_MAX;
        self.write();
        while !self.unsent.is_empty() && !self.is_gone && Instant::now() < end {
            wait_for_socket(&*self.stream.borrow_mut(), true, end.saturating_duration_since(Instant::now()));
            self.write();
        }
    }
}

/// For a script that has a thread of its own: there is nobody else.
impl Beside for Dialogue<Stream> {
    fn round(&mut self, _patience: Duration) {}

    fn send(&mut self, bytes: &[u8]) {
        Dialogue::send(self, bytes);
    }

    fn receive(&mut self, into: &mut Vec<u8>, patience: Duration) -> Received {
        Dialogue::receive(self, into, patience)
    }
}

impl EventLoop {
    /// Hands a client over to a thread of its own, which debugs its script. The connection is closed here.
    pub(super) fn debug_on_copy(&mut self, connection: &mut Connection, args: Args<'_>, rest: &[u8]) -> Flow {
        let begun = connection.stream.duplicate().and_then(|stream| {
            let twin = Twin::new(self.worker.engine(), &connection.session, args.to_owned());
            let persist = Arc::clone(&self.persist);
            let client = Dialogue::new(stream, rest);
            let run = move |may_wait: &MayWait| debug(&persist, twin, client, may_wait);
            spawn_background_with_stack("larder-debug", STACK_BYTES_MIN, run)
        });
        match begun {
            Ok(_) => {
                if let Err(error) = connection.stream.deregister(self.poll.registry()) {
                    self.shared.log.warning(&format!("Failed to deregister a client connection: {error}"));
                }
                Flow::CloseNow
            }
            Err(error) => self.refuse_debugging(connection, &error),
        }
    }

    fn refuse_debugging(&self, connection: &mut Connection, error: &io::Error) -> Flow {
        self.shared.log.warning(&format!("Failed to start the script debugger: {error}"));
        let text = format!("-ERR Failed to start the script debugger: {error}\r\n");
        connection.output.tail.extend_from_slice(text.as_bytes());
        Flow::CloseAfterFlush
    }
}

/// A session from its beginning to its end.
fn debug(persist: &Persist, twin: Twin, mut client: Dialogue<Stream>, may_wait: &MayWait) {
    persist.say(LogLevel::Notice, "Started debugging a script on a snapshot of the data");
    let snapshot = loop {
        let _reading = persist.read_alone();
        match twin.snapshot(may_wait) {
            Some(snapshot) => break twin.copy(&snapshot, may_wait),
            None => std::thread::sleep(SNAPSHOT_LOOK),
        }
    };
    let reply = snapshot.run(&mut client);
    client.send(&reply);
    client.finish();
    persist.say(LogLevel::Notice, "The debugged script has ended");
}
