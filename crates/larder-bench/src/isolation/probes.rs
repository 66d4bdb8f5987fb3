//! The probes: clients of other keys, who are asked how long they wait.
//!
//! Four kinds of requests, each sent 5,000 times a second, whatever becomes of those before (an open loop): the next one is due 50 us after
//! the last one of any kind, and its latency is counted from the moment when it was due to the moment when its reply has been read. Who
//! cannot send in time, because this machine or the server is busy, counts that as well: a server that stands still for a second delays
//! all requests of that second, and not one for each connection.
//!
//! One thread drives all connections. Each kind has connections on every thread of the server: those are dealt out in turn, so that a
//! number of connections which is a multiple of the threads, opened one after the other, gives every thread as many. The thread that executes
//! the heavy command is among them.

use crate::connect::connect;
use crate::resp::Replies;
use crate::rows::data::DataSet;
use crate::rows::template::Commands;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The kinds: name and command.
pub const KINDS: [(&str, &str); 4] = [
    ("GET", "GET probe:get:{c%4096}"),
    ("SET", "SET probe:set:{c%4096} {v:20}"),
    ("HGET", "HGET probe:hash:{c%1024} field:{any:10}"),
    ("PING", "PING"),
];
/// Requests a second of each kind.
pub const RATE: u64 = 5000;
/// What they read and write: 16 strings of each kind and 4 hashes for every shard of the keyspace.
pub const DATA: [DataSet; 3] = [
    DataSet::exactly("strings of GET", "SET probe:get:{c} {v:20}", 4096),
    DataSet::exactly("strings of SET", "SET probe:set:{c} {v:20}", 4096),
    DataSet::exactly("small hashes", "HSET probe:hash:{c} 10*field:{i},{v:16}", 1024),
];
/// The keys of all that.
pub const KEYS: u64 = 4096 + 4096 + 1024;
/// Connections of each kind, or more, so that they are a multiple of the server's threads.
const CONNECTIONS: usize = 4;
/// Between one request and the next of any kind.
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / (RATE * KINDS.len() as u64));
/// The longest wait for a reply when nothing is sent any more.
const PATIENCE: Duration = Duration::from_secs(300);
/// Bytes of one read.
const READ_BYTES: usize = 16 << 10;

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Its place in `KINDS`.
    pub kind: usize,
    /// When it was to be sent.
    pub due: Instant,
    /// From then until its reply had been read.
    pub latency: Duration,
    /// From then until it was sent: what is this program's own part, or of a socket that takes no more.
    pub late: Duration,
}

/// What the thread of the probes and the one that has it run tell each other.
pub struct Control {
    /// Requests that are due from then on are counted.
    from: Instant,
    /// Replies to them so far.
    answered: AtomicU64,
    /// When no more are sent.
    end: OnceLock<Instant>,
}

impl Control {
    /// Counts replies to requests that are due at a moment or later.
    pub fn counting_from(from: Instant) -> Self {
        Control { from, answered: AtomicU64::new(0), end: OnceLock::new() }
    }

    /// Replies so far that are counted.
    pub fn answered(&self) -> u64 {
        self.answered.load(Relaxed)
    }

    /// Nothing is sent that is due after this moment. Only the first call counts.
    pub fn end_at(&self, moment: Instant) {
        self.end.get_or_init(|| moment);
    }
}

/// Connections to one server.
pub struct Probes {
    connections: Vec<Connection>,
    /// Connections of each kind.
    each: usize,
    commands: Vec<Commands>,
    buffer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    kind: usize,
    /// What the socket has not taken.
    output: Vec<u8>,
    replies: Replies,
    /// Requests without a reply: when they were due, and how late they were sent.
    sent: VecDeque<(Instant, Duration)>,
}

impl Probes {
    /// Connects to a server with this many threads.
    pub fn connect(port: u16, threads: usize) -> io::Result<Self> {
        let each = CONNECTIONS.next_multiple_of(threads.max(1));
        let kinds = (0..KINDS.len()).flat_map(|kind| std::iter::repeat_n(kind, each));
        let connections = kinds.map(|kind| Connection::open(port, kind)).collect::<io::Result<_>>()?;
        let commands = KINDS.iter().map(|(_, template)| Commands::new(template, 1.0));
        let commands = commands.collect::<Result<_, _>>().map_err(io::Error::other)?;
        Ok(Probes { connections, each, commands, buffer: vec![0; READ_BYTES] })
    }

    /// Sends requests until another thread has told the end, and waits for the replies to all that were due by then.
    ///
    /// # Errors
    /// A connection has failed, a reply is an error, or none has come for five minutes.
    pub fn run(&mut self, samples: &mut Vec<Sample>, control: &Control) -> io::Result<()> {
        let mut next = Instant::now();
        let mut count = 0;
        loop {
            let end = control.end.get().copied();
            let now = Instant::now();
            while next <= now && end.is_none_or(|end| next <= end) {
                self.send(count, next)?;
                next += PERIOD;
                count += 1;
            }
            let has_ended = end.is_some_and(|end| next > end);
            if has_ended && self.connections.iter().all(|connection| connection.sent.is_empty()) {
                return self.complaint();
            }
            if end.is_some_and(|end| now > end + PATIENCE) {
                return Err(ErrorKind::TimedOut.into());
            }
            // Who waits for the last replies looks at the time now and then.
            let timeout =
                if has_ended { Duration::from_millis(100) } else { next.saturating_duration_since(now) };
            let seen = samples.len();
            self.receive(timeout, samples)?;
            let counted = samples[seen..].iter().filter(|sample| sample.due >= control.from).count();
            control.answered.fetch_add(counted as u64, Relaxed);
        }
    }

    /// Null replies so far.
    pub fn nulls(&self) -> u64 {
        self.connections.iter().map(|connection| connection.replies.nulls()).sum()
    }

    /// Sends the request of this number, counted from 0.
    fn send(&mut self, number: usize, due: Instant) -> io::Result<()> {
        let (kind, turn) = (number % KINDS.len(), number / KINDS.len());
        let connection = &mut self.connections[kind * self.each + turn % self.each];
        self.commands[kind].write(&mut connection.output);
        connection.replies.expect(1);
        connection.write()?;
        connection.sent.push_back((due, due.elapsed()));
        Ok(())
    }

    /// Waits for sockets, no longer than this, and reads what has come.
    fn receive(&mut self, timeout: Duration, samples: &mut Vec<Sample>) -> io::Result<()> {
        let wanted = |connection: &Connection| {
            if connection.output.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT }
        };
        let mut ready: Vec<PollFd<'_>> = self
            .connections
            .iter()
            .map(|connection| PollFd::new(&connection.stream, wanted(connection)))
            .collect();
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        match poll(&mut ready, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let events: Vec<PollFlags> = ready.iter().map(PollFd::revents).collect();
        for (connection, events) in self.connections.iter_mut().zip(events) {
            if events.contains(PollFlags::OUT) {
                connection.write()?;
            }
            if events.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
                connection.read(&mut self.buffer, samples)?;
            }
        }
        Ok(())
    }

    /// The first reply that was an error.
    fn complaint(&mut self) -> io::Result<()> {
        for connection in &mut self.connections {
            if let Some(error) = connection.replies.take_error() {
                let kind = KINDS[connection.kind].0;
                return Err(io::Error::other(format!("{kind} of the probes was refused: {error}")));
            }
        }
        Ok(())
    }
}

impl Connection {
    fn open(port: u16, kind: usize) -> io::Result<Self> {
        let stream = connect(port)?;
        stream.set_nonblocking(true)?;
        Ok(Connection {
            stream,
            kind,
            output: Vec::new(),
            replies: Replies::default(),
            sent: VecDeque::new(),
        })
    }

    /// Writes what the socket takes.
    fn write(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(count) => drop(self.output.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what has come; each reply is a sample.
    fn read(&mut self, buffer: &mut [u8], samples: &mut Vec<Sample>) -> io::Result<()> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    let now = Instant::now();
                    let owed = self.replies.owed();
                    self.replies.feed(&buffer[..count]);
                    for (due, late) in self.sent.drain(..(owed - self.replies.owed()) as usize) {
                        samples.push(Sample { kind: self.kind, due, latency: now - due, late });
                    }
                    if count < buffer.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// A server that answers every request with the same bytes.
    struct Constant<'a> {
        listener: TcpListener,
        reply: &'a [u8],
        /// Set when there has been a request.
        heard: OnceLock<()>,
        /// Nothing is answered before this is set.
        answers: OnceLock<()>,
    }

    impl Constant<'_> {
        fn new(reply: &[u8]) -> Constant<'_> {
            let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
            Constant { listener, reply, heard: OnceLock::new(), answers: OnceLock::new() }
        }

        fn port(&self) -> u16 {
            self.listener.local_addr().expect("it is bound").port()
        }

        /// Serves this many connections until they are closed.
        fn serve(&self, connections: usize) {
            thread::scope(|scope| {
                for _ in 0..connections {
                    let (stream, _) = self.listener.accept().expect("it connects");
                    scope.spawn(|| self.answer(stream));
                }
            });
        }

        fn answer(&self, mut stream: TcpStream) {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                self.heard.get_or_init(|| ());
                self.answers.wait();
                let requests = buffer[..count].iter().filter(|&&byte| byte == b'*').count();
                if stream.write_all(&self.reply.repeat(requests)).is_err() {
                    break;
                }
            }
        }
    }

    /// A server that stands still delays all requests that are due meanwhile, and not only those that wait for a reply.
    #[test]
    fn who_stands_still_is_not_forgiven() {
        let (server, control) = (Constant::new(b"+OK\r\n"), Control::counting_from(Instant::now()));
        thread::scope(|scope| {
            scope.spawn(|| server.serve(KINDS.len() * 6));
            let mut probes = Probes::connect(server.port(), 3).expect("it connects");
            scope.spawn(|| {
                server.heard.wait();
                // The server stands still this long.
                thread::sleep(Duration::from_millis(60));
                control.end_at(Instant::now());
                server.answers.set(()).expect("once");
            });
            let mut samples = Vec::new();
            probes.run(&mut samples, &control).expect("all is answered");
            let end = *control.end.get().expect("it is set");
            assert_eq!(control.answered(), samples.len() as u64);
            let begin = samples.iter().map(|sample| sample.due).min().expect("there are samples");
            // As many as were due, whatever the machine has done meanwhile.
            assert_eq!(samples.len() as u128, (end - begin).as_nanos() / PERIOD.as_nanos() + 1);
            for kind in 0..KINDS.len() {
                let own = samples.iter().filter(|sample| sample.kind == kind).count();
                assert!(own.abs_diff(samples.len() / KINDS.len()) <= 1, "{own} of {}", samples.len());
            }
            let waits = |sample: &Sample| sample.due + sample.latency >= end && sample.latency >= sample.late;
            assert!(samples.iter().all(waits), "none was answered before the end");
        });
    }

    #[test]
    fn errors_are_no_latencies() {
        let (server, control) = (Constant::new(b"-ERR no\r\n"), Control::counting_from(Instant::now()));
        server.answers.set(()).expect("once");
        thread::scope(|scope| {
            scope.spawn(|| server.serve(KINDS.len() * CONNECTIONS));
            let mut probes = Probes::connect(server.port(), 1).expect("it connects");
            scope.spawn(|| {
                server.heard.wait();
                control.end_at(Instant::now());
            });
            let error = probes.run(&mut Vec::new(), &control).expect_err("it was refused").to_string();
            assert!(error.contains("refused: ERR no"), "{error}");
        });
    }
}
