//! A server that answers every command with the same bytes: what it costs is what the kernel takes for the calls, and no server that
//! reads and writes sockets as this one does can cost less.
//!
//! `larder-bench floor` is started by the rows that show it, as a process of its own, so that its processor time is measured as that of
//! any server is. It parses nothing: it counts the asterisks of what it reads, of which every command of a row has the same number.
//! What has none is the question of the test kit whether the server is there, and gets a PONG. One thread waits for sockets with epoll,
//! reads what is there, and writes all replies to that with one call.

use lexopt::{Arg, Error, Parser, ValueExt};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;

/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;
/// Bytes of replies that are prepared, unless one reply is longer.
const PREPARED_BYTES: usize = 256 << 10;
/// Sockets of one wait.
const EVENTS: usize = 64;
/// What epoll says of the listening socket; connections have their place in the table.
const LISTENER: u64 = u64::MAX;
const PONG: &[u8] = b"+PONG\r\n";

/// How to answer.
#[derive(Debug, PartialEq)]
struct Options {
    port: u16,
    /// Bytes of a reply, at least those of an empty status.
    reply_bytes: usize,
    /// Asterisks in a command.
    asterisks: usize,
}

/// Serves until the process is ended. Only an error makes it return.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Result<(), Box<dyn std::error::Error>> {
    let options = parse(args)?;
    Floor::new(&options)?.serve()?;
    Ok(())
}

/// Reads the arguments; those of the test kit that make no difference are read over.
fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Options, Error> {
    let mut options = Options { port: 0, reply_bytes: 5, asterisks: 1 };
    let mut parser = Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("port") => options.port = parser.value()?.parse()?,
            Arg::Long("reply-bytes") => options.reply_bytes = parser.value()?.parse()?,
            Arg::Long("asterisks") => options.asterisks = parser.value()?.parse()?,
            Arg::Long("save" | "dir") => drop(parser.value()?),
            unknown => return Err(unknown.unexpected()),
        }
    }
    if options.reply_bytes < 3 || options.asterisks == 0 {
        return Err("--reply-bytes takes 3 or more, --asterisks 1 or more".into());
    }
    Ok(options)
}

struct Floor {
    epoll: OwnedFd,
    listener: TcpListener,
    connections: Vec<Option<Connection>>,
    /// Replies, one after the other.
    replies: Vec<u8>,
    reply_bytes: usize,
    asterisks: usize,
    buffer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// Asterisks that have not made a command yet.
    asterisks: usize,
    /// Bytes of replies still to be written.
    owed: usize,
    /// Whether epoll is asked for room to write.
    waits: bool,
}

impl Floor {
    fn new(options: &Options) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", options.port))?;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let mut reply = vec![b'+'];
        reply.resize(options.reply_bytes - 2, b'x');
        reply.extend_from_slice(b"\r\n");
        let replies = reply.repeat((PREPARED_BYTES / reply.len()).max(1));
        Ok(Floor {
            epoll,
            listener,
            connections: Vec::new(),
            replies,
            reply_bytes: options.reply_bytes,
            asterisks: options.asterisks,
            buffer: vec![0; READ_BYTES],
        })
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                let epoll::Event { data, .. } = event;
                if data.u64() == LISTENER {
                    self.accept()?;
                } else if self.answer(data.u64() as usize).is_err() {
                    // Closing a socket takes it out of the epoll.
                    self.connections[data.u64() as usize] = None;
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let at = self.connections.iter().position(Option::is_none).unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        epoll::add(&self.epoll, &stream, EventData::new_u64(at as u64), EventFlags::IN)?;
        self.connections[at] = Some(Connection { stream, asterisks: 0, owed: 0, waits: false });
        Ok(())
    }

    /// Reads once and writes as much as there is room for; an error when the connection is over.
    fn answer(&mut self, at: usize) -> io::Result<()> {
        let Some(connection) = &mut self.connections[at] else { return Ok(()) };
        let read = match connection.stream.read(&mut self.buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        let found = memchr::memchr_iter(b'*', &self.buffer[..read]).count();
        if read > 0 && found == 0 && connection.owed == 0 && connection.asterisks == 0 && read < 10 {
            return connection.stream.write_all(PONG);
        }
        let asterisks = connection.asterisks + found;
        connection.asterisks = asterisks % self.asterisks;
        connection.owed += asterisks / self.asterisks * self.reply_bytes;
        while connection.owed > 0 {
            // A reply is cut where the write before ended.
            let begin = (self.reply_bytes - connection.owed % self.reply_bytes) % self.reply_bytes;
            let end = self.replies.len().min(begin + connection.owed);
            match connection.stream.write(&self.replies[begin..end]) {
                Ok(written) => connection.owed -= written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let waits = connection.owed > 0;
        if waits != connection.waits {
            connection.waits = waits;
            let flags = if waits { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            epoll::modify(&self.epoll, &connection.stream, EventData::new_u64(at as u64), flags)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;

    /// A floor on a port of its own; its thread ends with the test.
    fn start(reply_bytes: usize, asterisks: usize) -> u16 {
        let mut floor = Floor::new(&Options { port: 0, reply_bytes, asterisks }).expect("it listens");
        let port = floor.listener.local_addr().expect("it has a port").port();
        std::thread::spawn(move || floor.serve());
        port
    }

    #[test]
    fn every_command_gets_the_constant() {
        let mut wire = Wire::connect(start(9, 1)).expect("it accepts");
        assert_eq!(wire.exchange(b"PING\r\n", 1).expect("it answers"), b"+PONG\r\n");
        let request = b"*1\r\n$4\r\nPING\r\n".repeat(100);
        assert_eq!(wire.exchange(&request, 100).expect("it answers"), b"+xxxxxx\r\n".repeat(100));
    }

    #[test]
    fn commands_with_asterisks_are_counted_once() {
        let mut wire = Wire::connect(start(5, 2)).expect("it accepts");
        let request = b"*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\nb\r\n".repeat(3);
        assert_eq!(wire.exchange(&request, 3).expect("it answers"), b"+xx\r\n".repeat(3));
    }

    /// More than sockets take, so that the server has to wait for room.
    #[test]
    fn long_replies_arrive_whole() {
        let size = 1 << 20;
        let mut wire = Wire::connect(start(size, 1)).expect("it accepts");
        let replies = wire.exchange(&b"*1\r\n$4\r\nPING\r\n".repeat(20), 20).expect("it answers");
        assert_eq!(replies.len(), 20 * size);
        assert!(replies.chunks(size).all(|reply| reply.starts_with(b"+x") && reply.ends_with(b"x\r\n")));
    }

    #[test]
    fn arguments_are_read() {
        let parse = |line: &str| parse(line.split_whitespace().map(OsString::from));
        let options = parse("--port 7 --dir x --reply-bytes 100 --asterisks 2").expect("it is right");
        assert_eq!(options, Options { port: 7, reply_bytes: 100, asterisks: 2 });
        for line in ["--port x", "--reply-bytes 2", "--asterisks 0", "--odd"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
