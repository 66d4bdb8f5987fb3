//! One connection that pours commands into a server; a thread of its own reads and counts the replies.

use crate::resp::{self, Replies};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;

/// Bytes collected before they are written.
const FLUSH_AT: usize = 256 << 10;

/// A pipelined load.
pub struct Loader {
    stream: TcpStream,
    buffer: Vec<u8>,
    commands: u64,
    reader: JoinHandle<io::Result<Replies>>,
}

impl Loader {
    /// Connects.
    pub fn connect(port: u16) -> io::Result<Self> {
        let stream = crate::connect::connect(port)?;
        let replies = stream.try_clone()?;
        let reader = std::thread::spawn(move || read_all(replies));
        Ok(Loader { stream, buffer: Vec::with_capacity(2 * FLUSH_AT), commands: 0, reader })
    }

    /// Sends a command, sooner or later.
    pub fn send(&mut self, args: &[&[u8]]) -> io::Result<()> {
        resp::command(&mut self.buffer, args);
        self.sent()
    }

    /// Sends the command that this appends, sooner or later.
    pub fn send_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        write(&mut self.buffer);
        self.sent()
    }

    /// Pushes items to a list, this many with a command; returns how many there were.
    pub fn push_all<T: AsRef<[u8]>>(
        &mut self,
        key: &str,
        items: impl Iterator<Item = T>,
        batch: usize,
    ) -> io::Result<u64> {
        self.send_all("RPUSH", key, items, batch)
    }

    /// Sends items with this command and key, this many with a command; returns how many there were.
    pub fn send_all<T: AsRef<[u8]>>(
        &mut self,
        verb: &str,
        key: &str,
        items: impl Iterator<Item = T>,
        batch: usize,
    ) -> io::Result<u64> {
        let (mut body, mut held, mut total) = (Vec::new(), 0, 0);
        for item in items {
            resp::bulk(&mut body, item.as_ref());
            held += 1;
            total += 1;
            if held == batch {
                self.send_batch(verb, key, held, &mut body)?;
                held = 0;
            }
        }
        if held > 0 {
            self.send_batch(verb, key, held, &mut body)?;
        }
        Ok(total)
    }

    /// Sets fields of a hash with one command; returns how many there were.
    pub fn set_fields<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        key: &str,
        pairs: impl Iterator<Item = (F, V)>,
    ) -> io::Result<u64> {
        let (mut body, mut count) = (Vec::new(), 0);
        for (field, value) in pairs {
            resp::bulk(&mut body, field.as_ref());
            resp::bulk(&mut body, value.as_ref());
            count += 1;
        }
        resp::array(&mut self.buffer, 2 * count + 2);
        resp::bulk(&mut self.buffer, b"HSET");
        resp::bulk(&mut self.buffer, key.as_bytes());
        self.buffer.append(&mut body);
        self.sent()?;
        Ok(count as u64)
    }

    fn send_batch(&mut self, verb: &str, key: &str, items: usize, body: &mut Vec<u8>) -> io::Result<()> {
        resp::array(&mut self.buffer, items + 2);
        resp::bulk(&mut self.buffer, verb.as_bytes());
        resp::bulk(&mut self.buffer, key.as_bytes());
        self.buffer.append(body);
        self.sent()
    }

    fn sent(&mut self) -> io::Result<()> {
        self.commands += 1;
        if self.buffer.len() >= FLUSH_AT { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Waits for the replies to all of it; an error when one was an error or is missing.
    pub fn finish(mut self) -> io::Result<()> {
        // The server closes the connection after its reply to this, which ends the reader.
        resp::command(&mut self.buffer, &[b"QUIT"]);
        self.flush()?;
        let mut replies = self.reader.join().expect("the reader does not panic")?;
        if let Some(error) = replies.take_error() {
            return Err(io::Error::other(format!("the load was refused: {error}")));
        }
        let arrived = u64::MAX - replies.owed();
        if arrived != self.commands + 1 {
            return Err(io::Error::other(format!("{arrived} replies to {} commands", self.commands + 1)));
        }
        Ok(())
    }
}

/// Reads until the server closes the connection.
fn read_all(mut stream: TcpStream) -> io::Result<Replies> {
    let (mut replies, mut buffer) = (Replies::default(), vec![0; 64 << 10]);
    replies.expect(u64::MAX);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(replies),
            n => replies.feed(&buffer[..n]),
        }
    }
}
