//! One TLS connection, on bytes: what arrives goes in, plaintext comes out, and the reverse. rustls keeps no buffers of its own here
//! (its "unbuffered" interface); those that the work takes belong to the thread, so that an idle connection has none.
//!
//! ```text
//!   socket --read--> wire (the thread's) --records--> the caller's buffer, what does not fit: `plain`
//!                      ^ the rest: `incoming`                  (alerts, handshake: `outgoing`)
//!   socket <--write-- wire (the thread's) <--encrypt-- the caller's bytes
//!                      | what the socket does not take: `outgoing`
//! ```
//!
//! Writing works as on a plain socket: bytes that are said to be written are on their way, others are to be offered again. Bytes that are
//! encrypted, but of which the socket has not taken everything, are not written yet: they are `owed`, and the caller, who offers them
//! again because it must, has them skipped. So outputs and limits count plaintext, and a call that falls short has found the socket full.
//!
//! Cost: rustls's state, about 1 KB a connection; while something waits also `incoming` (at most a record, or
//! a handshake's message, 64 KiB), `plain` (at most [`WIRE_BYTES`]) and `outgoing` (at most [`CHUNK_BYTES`]
//! and what encryption adds, and [`UNSENT_BYTES_MAX`] of other messages).
//!
//! Invariants:
//! - I1: `incoming` is what rustls has been shown last and not used: it is always shown again as the beginning of what comes next.
//! - I2: `owed` is what the last write has encrypted and not said to be written: at most [`CHUNK_BYTES`]. A read may have sent it since.
//! - I3: nothing is read while more than [`UNSENT_BYTES_MAX`] of `outgoing` waits.
//! - I4: `is_drained` is said by a call that has read the socket, never by one that hands out what was held: the event of what came in between
//!   has been, and there is no other.
//!
//! Tested with generated sizes, and by `larder-server/tests/tls`.

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus, WriteTraffic};
use rustls::{CommonState, Error};
use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::ops::Deref;

/// Bytes that are read, or sent, at once: some records, and the beginning of another one.
const WIRE_BYTES: usize = 96 << 10;
/// Bytes that are encrypted at once.
const CHUNK_BYTES: usize = 64 << 10;
/// A record holds at most this many bytes, and makes at most [`OVERHEAD_BYTES`] more of them.
const RECORD_BYTES: usize = 16 << 10;
const OVERHEAD_BYTES: usize = 64;
/// Of what is not data: a peer that reads none of it is not listened to either.
const UNSENT_BYTES_MAX: usize = 64 << 10;
/// Reads in one call that bring no data.
const FRUITLESS_READS_MAX: usize = 8;

thread_local! {
    /// What the thread has just read, and what it is about to send.
    static WIRE: RefCell<[Vec<u8>; 2]> = RefCell::new([vec![0; WIRE_BYTES], vec![0; WIRE_BYTES]]);
}

/// rustls's side of a connection.
pub trait Records: Deref<Target: Deref<Target = CommonState>> {
    /// The kind of side.
    type Data;

    /// Processes what has arrived.
    fn records<'c, 'w>(&'c mut self, wire: &'w mut [u8]) -> UnbufferedStatus<'c, 'w, Self::Data>;
}

impl Records for UnbufferedServerConnection {
    type Data = rustls::server::ServerConnectionData;

    fn records<'c, 'w>(&'c mut self, wire: &'w mut [u8]) -> UnbufferedStatus<'c, 'w, Self::Data> {
        self.process_tls_records(wire)
    }
}

impl Records for UnbufferedClientConnection {
    type Data = rustls::client::ClientConnectionData;

    fn records<'c, 'w>(&'c mut self, wire: &'w mut [u8]) -> UnbufferedStatus<'c, 'w, Self::Data> {
        self.process_tls_records(wire)
    }
}

/// Where plaintext goes.
pub enum Room<'r> {
    /// A buffer, of which the beginning is full.
    Buffer(&'r mut [u8], usize),
    /// The end of a vector, which may grow by this much.
    End(&'r mut Vec<u8>, usize),
}

impl Room<'_> {
    fn left(&self) -> usize {
        match self {
            Room::Buffer(buffer, filled) => buffer.len() - filled,
            Room::End(_, left) => *left,
        }
    }

    /// Takes what fits; says how much that was.
    fn put(&mut self, bytes: &[u8]) -> usize {
        let n = bytes.len().min(self.left());
        match self {
            Room::Buffer(buffer, filled) => {
                buffer[*filled..*filled + n].copy_from_slice(&bytes[..n]);
                *filled += n;
            }
            Room::End(vec, left) => {
                vec.extend_from_slice(&bytes[..n]);
                *left -= n;
            }
        }
        n
    }
}

/// A connection.
pub struct Session<C> {
    connection: C,
    incoming: Vec<u8>,
    /// There may be whole records in `incoming`: the caller had no room for more.
    is_stalled: bool,
    plain: Vec<u8>,
    outgoing: Vec<u8>,
    /// Bytes of `outgoing` that have been sent.
    sent: usize,
    owed: usize,
    /// The last call read the socket, and did not fill its buffer.
    is_drained: bool,
    /// The peer sends no more.
    is_over: bool,
    /// Something has come that is TLS.
    has_heard: bool,
    failure: Option<Error>,
}

impl<C: Records> Session<C> {
    /// At its beginning.
    pub fn new(connection: C) -> Session<C> {
        Session {
            connection,
            incoming: Vec::new(),
            is_stalled: false,
            plain: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            owed: 0,
            is_drained: false,
            is_over: false,
            has_heard: false,
            failure: None,
        }
    }

    /// What has been agreed.
    pub fn state(&self) -> &CommonState {
        &self.connection
    }

    /// Whether something waits for the socket.
    pub fn has_unsent(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Whether a read may bring something, also without an event of the socket.
    pub fn may_have_more(&self) -> bool {
        !self.is_drained || self.holds_data()
    }

    /// Whether a read would not wait for the socket.
    pub fn holds_data(&self) -> bool {
        !self.plain.is_empty() || self.is_stalled || self.is_over || self.failure.is_some()
    }

    /// Reads plaintext: `Ok(0)` is the end. As on a socket, there is nothing more for now when it would block; when it was interrupted,
    /// there may be.
    pub fn read(&mut self, socket: &mut (impl Read + Write), room: &mut Room<'_>) -> io::Result<usize> {
        for _ in 0..FRUITLESS_READS_MAX {
            match self.read_once(socket, room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
        Err(ErrorKind::Interrupted.into())
    }

    /// The same with one read of the socket, which is "interrupted" when that brings no plaintext.
    pub fn read_once(&mut self, socket: &mut (impl Read + Write), room: &mut Room<'_>) -> io::Result<usize> {
        let before = room.left();
        // Only a read of the socket knows that it is empty: since the last one more may have come, of which the event is past.
        self.is_drained = false;
        if !self.plain.is_empty() {
            let n = room.put(&self.plain);
            self.plain.drain(..n);
            release(&mut self.plain);
            return Ok(n);
        }
        if let Some(error) = &self.failure {
            return Err(io::Error::new(ErrorKind::InvalidData, error.clone()));
        }
        if self.is_over {
            return Ok(0);
        }
        if !self.flush(socket)? && self.outgoing.len() - self.sent > UNSENT_BYTES_MAX {
            return Err(ErrorKind::WouldBlock.into());
        }
        let received = WIRE.with_borrow_mut(|[wire, _]| self.receive(socket, wire, room));
        // What has come counts, also if the peer takes nothing any more: the next call finds that out.
        let _ = self.flush(socket);
        match before - room.left() {
            0 => received.and(Err(ErrorKind::Interrupted.into())),
            n => Ok(n),
        }
    }

    /// A step of a handshake that this side begins: it may wait for the socket.
    pub fn greet(&mut self, socket: &mut (impl Read + Write)) -> io::Result<()> {
        let mut early = Vec::new();
        // The first message.
        let mut incoming = std::mem::take(&mut self.incoming);
        let used = self.take_records(&mut incoming, &mut Room::End(&mut early, RECORD_BYTES));
        incoming.drain(..used);
        self.incoming = incoming;
        if self.flush(socket)? && self.connection.is_handshaking() {
            match self.read_once(socket, &mut Room::End(&mut early, RECORD_BYTES)) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        self.plain.splice(0..0, early);
        Ok(())
    }

    /// One read of the socket, unless there are records still, and what it brings.
    fn receive(&mut self, socket: &mut impl Read, wire: &mut [u8], room: &mut Room<'_>) -> io::Result<()> {
        let held = self.incoming.len();
        let Some(free) = wire.len().checked_sub(held).filter(|free| *free > 0) else {
            // rustls refuses messages that are longer.
            return Err(io::Error::other("a TLS message that is too long"));
        };
        wire[..held].copy_from_slice(&self.incoming);
        let mut end = held;
        if !self.is_stalled {
            let n = socket.read(&mut wire[held..])?;
            self.is_over = n == 0;
            self.is_drained = n < free;
            end += n;
        }
        let used = self.take_records(&mut wire[..end], room);
        self.incoming.clear();
        self.incoming.extend_from_slice(&wire[used..end]);
        release(&mut self.incoming);
        Ok(())
    }

    /// Takes the records of `wire` while there is room for what they hold; says how many bytes are used.
    fn take_records(&mut self, wire: &mut [u8], room: &mut Room<'_>) -> usize {
        let mut used = 0;
        self.is_stalled = false;
        // What has failed would fail again, and for another reason: it is decrypted in its place.
        while self.failure.is_none() {
            if room.left() == 0 {
                self.is_stalled = used < wire.len();
                return used;
            }
            let status = self.connection.records(&mut wire[used..]);
            used += status.discard;
            match status.state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(Ok(record)) = traffic.next_record() {
                        used += record.discard;
                        let n = room.put(record.payload);
                        self.plain.extend_from_slice(&record.payload[n..]);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    self.has_heard = true;
                    append(&mut self.outgoing, |room| data.encode(room));
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.is_over = true,
                Ok(_) => return used,
                Err(error) => self.fail(error, &mut wire[used..]),
            }
        }
        used
    }

    /// The connection is broken. The peer is told why, unless it does not speak TLS at all.
    fn fail(&mut self, error: Error, wire: &mut [u8]) {
        let is_other_protocol = !self.has_heard && matches!(error, Error::InvalidMessage(_));
        let mut used = 0;
        // Only while there is something to be sent: rustls would look at what is broken again, and raise a second alert.
        while self.connection.wants_write() {
            let UnbufferedStatus { discard, state: Ok(ConnectionState::EncodeTlsData(mut data)) } =
                self.connection.records(&mut wire[used..])
            else {
                break;
            };
            used += discard;
            append(&mut self.outgoing, |room| data.encode(room));
        }
        if is_other_protocol {
            self.outgoing.clear();
            self.sent = 0;
        }
        self.failure = Some(error);
    }

    /// Sends what waits; `false`: the socket does not take everything.
    pub fn flush(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        while self.sent < self.outgoing.len() {
            match socket.write(&self.outgoing[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.outgoing.clear();
        release(&mut self.outgoing);
        self.sent = 0;
        Ok(true)
    }

    /// Writes plaintext, as much as the socket takes. What it does not say to be written must be offered again, first.
    pub fn write(&mut self, socket: &mut impl Write, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let total = slices.iter().map(|slice| slice.len()).sum();
        let mut done = 0;
        loop {
            if !self.flush(socket)? {
                return if done > 0 { Ok(done) } else { Err(ErrorKind::WouldBlock.into()) };
            }
            done += std::mem::take(&mut self.owed);
            debug_assert!(done <= total, "what was offered before is offered again");
            if done >= total {
                return Ok(total);
            }
            self.owed = self.send(socket, slices, done)?;
            if self.owed == 0 {
                // The handshake is not over.
                return if done > 0 { Ok(done) } else { Err(ErrorKind::WouldBlock.into()) };
            }
        }
    }

    /// Writes plaintext that need not arrive: nothing if something else waits.
    pub fn offer(&mut self, socket: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        if self.flush(socket)? {
            self.send(socket, &[IoSlice::new(bytes)], 0)?;
        }
        Ok(())
    }

    /// Encrypts what comes after the first `skip` bytes, up to [`CHUNK_BYTES`] of it, and sends as much of that as the socket takes. Says
    /// how many bytes were encrypted: none before the handshake is over. Nothing waits for the socket before.
    fn send(
        &mut self,
        socket: &mut impl Write,
        slices: &[IoSlice<'_>],
        mut skip: usize,
    ) -> io::Result<usize> {
        WIRE.with_borrow_mut(|[_, wire]| {
            let (mut plain, mut end) = (0, 0);
            for slice in slices {
                if skip >= slice.len() {
                    skip -= slice.len();
                    continue;
                }
                let left = &slice[std::mem::take(&mut skip)..];
                let part = &left[..left.len().min(CHUNK_BYTES - plain)];
                let grown = part.len() + OVERHEAD_BYTES * (part.len() / RECORD_BYTES + 2);
                if part.is_empty() || end + grown > wire.len() {
                    break;
                }
                let Some(n) = self.encrypt(part, &mut wire[end..])? else { break };
                plain += part.len();
                end += n;
            }
            // What rustls has said of itself meanwhile, to stalled records perhaps, goes first.
            let n = if self.outgoing.is_empty() { write_some(socket, &wire[..end])? } else { 0 };
            self.outgoing.extend_from_slice(&wire[n..end]);
            Ok(plain)
        })
    }

    /// Takes the records that were left for want of room. rustls must not be asked for anything else before: what it answers is numbered.
    fn take_stalled(&mut self) {
        let (mut incoming, mut plain) = (std::mem::take(&mut self.incoming), std::mem::take(&mut self.plain));
        let used = self.take_records(&mut incoming, &mut Room::End(&mut plain, usize::MAX));
        incoming.drain(..used);
        (self.incoming, self.plain) = (incoming, plain);
    }

    /// Encrypts bytes; `None` before the handshake is over.
    fn encrypt(&mut self, bytes: &[u8], out: &mut [u8]) -> io::Result<Option<usize>> {
        self.with_traffic(|traffic| traffic.encrypt(bytes, out))?.transpose().map_err(io::Error::other)
    }

    /// Calls `write` when rustls takes data, else not: before the handshake is over. What rustls wants to say of itself before is put into
    /// `outgoing`: the last read may have ended with that unsaid, when its caller had no more room.
    fn with_traffic<R>(
        &mut self,
        write: impl FnOnce(&mut WriteTraffic<'_, C::Data>) -> R,
    ) -> io::Result<Option<R>> {
        if let Some(error) = &self.failure {
            return Err(io::Error::other(error.clone()));
        }
        if self.is_stalled {
            self.take_stalled();
        }
        loop {
            // Nothing is used of what is shown again (I1).
            match self.connection.records(&mut self.incoming).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => return Ok(Some(write(&mut traffic))),
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    append(&mut self.outgoing, |room| data.encode(room));
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(_) => return Ok(None),
                Err(error) => {
                    self.failure = Some(error.clone());
                    return Err(io::Error::other(error));
                }
            }
        }
    }

    /// Says goodbye to the peer, if it may be told, and if the socket takes it.
    pub fn close(&mut self, socket: &mut impl Write) {
        // After a record of which the peer has a part, it could not tell what this is.
        if !self.connection.is_handshaking() && self.owed == 0 {
            let mut alert = [0; 2 * OVERHEAD_BYTES];
            let queued = self.with_traffic(|traffic| traffic.queue_close_notify(&mut alert));
            if let Ok(Some(Ok(n))) = queued {
                self.outgoing.extend_from_slice(&alert[..n]);
            }
        }
        let _ = self.flush(socket);
    }
}

/// Appends what `encode` makes to a vector.
fn append(out: &mut Vec<u8>, mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>) {
    let start = out.len();
    let mut room = RECORD_BYTES / 16;
    loop {
        out.resize(start + room, 0);
        match encode(&mut out[start..]) {
            Ok(n) => return out.truncate(start + n),
            Err(EncodeError::InsufficientSize(wanted)) => room = wanted.required_size,
            Err(EncodeError::AlreadyEncoded) => return out.truncate(start),
        }
    }
}

/// Writes as much as the socket takes at once.
fn write_some(socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    match socket.write(bytes) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
        outcome => outcome,
    }
}

/// Gives the memory of an empty buffer back.
fn release(buffer: &mut Vec<u8>) {
    if buffer.is_empty() && buffer.capacity() > 0 {
        *buffer = Vec::new();
    }
}

#[cfg(test)]
mod tests;
