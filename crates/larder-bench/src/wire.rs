//! A connection on which requests and replies take turns.

use crate::connect::connect;
use crate::resp::Replies;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// A connection that sends bytes and keeps the bytes of the replies.
pub struct Wire {
    stream: TcpStream,
    replies: Replies,
    input: Vec<u8>,
    buffer: Vec<u8>,
}

impl Wire {
    /// Connects to a port of this machine.
    pub fn connect(port: u16) -> io::Result<Self> {
        let stream = connect(port)?;
        let (replies, input, buffer) = (Replies::default(), Vec::new(), vec![0; 64 << 10]);
        Ok(Wire { stream, replies, input, buffer })
    }

    /// Sends a request and waits for this many replies; their bytes. An error reply is an error.
    pub fn exchange(&mut self, request: &[u8], replies: usize) -> io::Result<&[u8]> {
        self.stream.write_all(request)?;
        self.replies.expect(replies as u64);
        self.input.clear();
        while self.replies.owed() > 0 {
            let n = self.stream.read(&mut self.buffer)?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.replies.feed(&self.buffer[..n]);
            self.input.extend_from_slice(&self.buffer[..n]);
        }
        self.replies.take_error().map_or(Ok(()), |error| Err(io::Error::other(error)))?;
        Ok(&self.input)
    }
}
