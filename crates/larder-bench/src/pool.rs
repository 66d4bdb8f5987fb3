//! Many connections driven in rounds: every one writes, then every one reads.
//!
//! A round leaves the server with many readable sockets at once, as a busy server has them, and needs no event
//! loop here. A connection's requests of one round must fit into the socket's buffers. Reading begins with the connection
//! that was written last, whose replies come last: the loader sleeps once a round. If it slept for every reply, the server's
//! part in waking it, which on loopback is the server's processor time, would be measured with each of them.

use crate::resp::Replies;
use larder_testkit::tls;
use rustls::ClientConfig;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Connections to one server.
pub struct ConnectionPool {
    connections: Vec<Connection>,
    buffer: Vec<u8>,
}

/// What a connection reads from and writes to.
trait Transport: Read + Write {}

impl<T: Read + Write> Transport for T {}

struct Connection {
    stream: Box<dyn Transport>,
    request: Vec<u8>,
    replies: Replies,
}

impl ConnectionPool {
    /// Connects this many times.
    pub fn connect(port: u16, connections: usize) -> io::Result<Self> {
        ConnectionPool::of(connections, || Ok(Box::new(crate::connect::connect(port)?)))
    }

    /// Connects this many times by TLS.
    pub fn connect_tls(port: u16, connections: usize, config: &Arc<ClientConfig>) -> io::Result<Self> {
        ConnectionPool::of(connections, || Ok(Box::new(tls::stream(port, config)?)))
    }

    fn of(connections: usize, connect: impl Fn() -> io::Result<Box<dyn Transport>>) -> io::Result<Self> {
        let connect =
            |_| Ok(Connection { stream: connect()?, request: Vec::new(), replies: Replies::default() });
        let connections = (0..connections).map(connect).collect::<io::Result<_>>()?;
        Ok(ConnectionPool { connections, buffer: vec![0; 64 << 10] })
    }

    /// Connections in it.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Rounds that carry at least this many operations.
    pub fn rounds(&self, operations: usize, pipeline: usize) -> usize {
        operations.div_ceil(self.len() * pipeline).max(1)
    }

    /// Sends commands in rounds of `pipeline` on each connection and reads the replies; returns the null ones.
    pub fn run(
        &mut self,
        rounds: usize,
        pipeline: usize,
        mut command: impl FnMut(&mut Vec<u8>),
    ) -> io::Result<u64> {
        let nulls = self.nulls();
        for _ in 0..rounds {
            for connection in &mut self.connections {
                connection.request.clear();
                (0..pipeline).for_each(|_| command(&mut connection.request));
            }
            for connection in &mut self.connections {
                connection.stream.write_all(&connection.request)?;
                connection.stream.flush()?;
                connection.replies.expect(pipeline as u64);
            }
            self.connections.iter_mut().rev().try_for_each(|connection| connection.read(&mut self.buffer))?;
        }
        Ok(self.nulls() - nulls)
    }

    fn nulls(&self) -> u64 {
        self.connections.iter().map(|connection| connection.replies.nulls()).sum()
    }
}

impl Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        while self.replies.owed() > 0 {
            match self.stream.read(buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => self.replies.feed(&buffer[..n]),
            }
        }
        self.replies.take_error().map_or(Ok(()), |error| Err(io::Error::other(error)))
    }
}
