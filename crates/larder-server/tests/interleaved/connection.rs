//! Connections that are read without waiting.

use super::runner::{hangs, may_be_offloaded};
use larder_testkit::{Value, parse};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// A connection and the bytes that it has received and nobody has compared yet.
pub struct Connection {
    stream: Option<TcpStream>,
    /// The address of this end.
    pub address: String,
    /// Bytes that are written with the next [`flush`](Self::flush).
    pub pending: Vec<u8>,
    /// Bytes received.
    pub received: Vec<u8>,
    /// Whether the server has closed it.
    pub is_closed: bool,
    /// Whether `CLIENT REPLY` was sent, and after it what may close the connection: `QUIT`, `CLIENT KILL` or `ACL`.
    pub quits_unheard: (bool, bool),
    /// Commands without a reply, as far as is known: some get several, some none.
    pub owed: usize,
    /// The last reply to what was sent last, if there is one.
    pub last_reply: Option<Value>,
    /// Whether a pause holds up commands of it, as far as is known.
    pub is_held: bool,
    /// Whether it is in a transaction, as far as is known.
    pub queues: bool,
    /// Whether a command was sent that moves an element when there is one, and may wait.
    pub moves: bool,
    /// Whether a command was sent that takes rights from users, and what it is part of may not have ended.
    pub takes_rights: bool,
    /// Whether a script or a transaction was sent and may not have ended.
    pub carries_script: bool,
    /// Whether a script that hangs was sent and may not have ended.
    pub carries_hang: bool,
    /// Whether that script was sent behind commands without a reply.
    pub hang_waits: bool,
}

impl Connection {
    /// Connects to a port of this machine.
    pub fn open(port: u16) -> Connection {
        let mut connection = Connection::open_waiting(port, Duration::from_secs(1));
        connection.set_polled();
        connection
    }

    /// From now on nothing waits for what arrives.
    pub fn set_polled(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.set_nonblocking(true).expect("the socket takes the option");
        }
    }

    /// Connects to a port of this machine; what reads from the connection waits for so long.
    pub fn open_waiting(port: u16, patience: Duration) -> Connection {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) else { return Connection::none() };
        stream.set_nodelay(true).expect("the socket takes the option");
        stream.set_read_timeout(Some(patience)).expect("the socket takes the option");
        let address = stream.local_addr().expect("it has an address").to_string();
        let stream = Some(stream);
        Connection {
            stream,
            address,
            pending: Vec::new(),
            received: Vec::new(),
            is_closed: false,
            quits_unheard: (false, false),
            owed: 0,
            last_reply: None,
            is_held: false,
            queues: false,
            moves: false,
            takes_rights: false,
            carries_script: false,
            carries_hang: false,
            hang_waits: false,
        }
    }

    /// The connection to a server that has ended.
    fn none() -> Connection {
        Connection {
            stream: None,
            address: String::new(),
            pending: Vec::new(),
            received: Vec::new(),
            is_closed: true,
            quits_unheard: (false, false),
            owed: 0,
            last_reply: None,
            is_held: false,
            queues: false,
            moves: false,
            takes_rights: false,
            carries_script: false,
            carries_hang: false,
            hang_waits: false,
        }
    }

    /// Sends bytes, unless the server has closed the connection.
    pub fn send(&mut self, mut bytes: &[u8]) {
        let Some(stream) = &mut self.stream else { return };
        while !bytes.is_empty() && !self.is_closed {
            match stream.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                // What the server sent before is still to be read.
                Err(_) => return,
            }
        }
    }

    /// Notes a command that is sent.
    pub fn note(&mut self, args: &[Vec<u8>]) {
        let is = |at: usize, word: &str| {
            args.get(at).is_some_and(|arg: &Vec<u8>| arg.eq_ignore_ascii_case(word.as_bytes()))
        };
        let (silenced, quits) = &mut self.quits_unheard;
        *silenced |= is(0, "CLIENT") && is(1, "REPLY");
        *quits |= *silenced && (is(0, "QUIT") || is(0, "ACL") || is(0, "CLIENT") && is(1, "KILL"));
        self.owed += 1;
        self.last_reply = None;
        self.queues =
            is(0, "MULTI") || self.queues && !["EXEC", "DISCARD", "RESET"].iter().any(|end| is(0, end));
        self.moves |= is(0, "BLMOVE") || is(0, "BRPOPLPUSH");
        self.takes_rights |= is(0, "ACL") && (is(1, "SETUSER") || is(1, "DELUSER") || is(1, "LOAD"));
        self.carries_script |= may_be_offloaded(args);
        self.carries_hang |= hangs(args);
        self.hang_waits |= hangs(args) && self.owed > 1;
    }

    /// Notes replies that have arrived.
    pub fn note_replies(&mut self, values: &[Value]) {
        let mut replies = values.iter().filter(|value| !matches!(value, Value::Push(_)));
        self.owed = self.owed.saturating_sub(replies.clone().count());
        self.last_reply = replies.next_back().cloned().or(self.last_reply.take());
        self.moves &= self.owed > 0 || self.queues;
        self.takes_rights &= self.owed > 0 || self.queues;
        self.carries_script &= self.owed > 0;
        self.carries_hang &= self.owed > 0 || self.queues;
        self.hang_waits &= self.carries_hang;
    }

    /// Sends the pending bytes.
    pub fn flush(&mut self) {
        let bytes = std::mem::take(&mut self.pending);
        self.send(&bytes);
    }

    /// Waits for something to arrive, and reads that.
    pub fn read(&mut self) {
        let mut buffer = [0; 16 << 10];
        let Some(stream) = &mut self.stream else { return };
        match stream.read(&mut buffer) {
            Ok(0) => self.is_closed = true,
            Ok(len) => self.received.extend_from_slice(&buffer[..len]),
            Err(error) => {
                let kinds = [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted];
                self.is_closed |= !kinds.contains(&error.kind());
            }
        }
    }

    /// Reads what has arrived.
    pub fn poll(&mut self) {
        let mut buffer = [0; 16 << 10];
        let Some(stream) = &mut self.stream else { return };
        while !self.is_closed {
            match stream.read(&mut buffer) {
                Ok(0) => self.is_closed = true,
                Ok(len) => self.received.extend_from_slice(&buffer[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.is_closed = true,
            }
        }
    }

    /// Takes the next reply if it has been read.
    pub fn take_read(&mut self) -> Option<Value> {
        let (value, len) = parse(&self.received).expect("a server sends replies")?;
        self.received.drain(..len);
        Some(value)
    }

    /// Takes the next reply if it has arrived.
    pub fn take(&mut self) -> Option<Value> {
        self.poll();
        self.take_read()
    }

    /// Waits for the next reply; `None` after `patience`, or when the server has closed the connection.
    pub fn wait(&mut self, patience: Duration) -> Option<Value> {
        let deadline = Instant::now() + patience;
        loop {
            match self.take_read() {
                None if !self.is_closed && Instant::now() < deadline => self.read(),
                reply => return reply,
            }
        }
    }

    /// Ends the connection from this side; the server closes it when it notices.
    pub fn end(&mut self) {
        if let Some(stream) = &self.stream {
            let _ = stream.shutdown(Shutdown::Write);
        }
    }
}
