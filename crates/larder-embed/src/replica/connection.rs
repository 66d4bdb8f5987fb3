//! The connection on which writes go to the primary.

use super::security::{Channel, Security};
use super::url::Address;
use crate::error::{Error, Result};
use crate::reply::{self, Reply};
use larder_link::Wire;
use larder_resp::encode_command;
use std::io::{self, BufReader, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A connection that is logged in and works in the database of the address.
pub struct Connection {
    stream: BufReader<Source>,
}

/// A channel as a source of bytes.
struct Source(Channel);

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Wire::read(&self.0, buf)
    }
}

impl Connection {
    /// Connects. No address, no read and no write is waited for longer than `timeout`; looking the name up
    /// may take longer.
    pub fn open(address: &Address, security: &Security, timeout: Duration) -> Result<Connection> {
        let mut error = io::Error::new(io::ErrorKind::NotFound, "the primary's host name has no address");
        for place in (address.host.as_str(), address.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&place, timeout) {
                Ok(stream) => return Connection::introduce(stream, address, security, timeout),
                Err(reason) => error = reason,
            }
        }
        Err(Error::Connection(error))
    }

    fn introduce(
        stream: TcpStream,
        address: &Address,
        security: &Security,
        timeout: Duration,
    ) -> Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let channel = security.channel(stream, &address.host, timeout, &|| true);
        let channel = channel.map_err(Error::Connection)?;
        let mut connection = Connection { stream: BufReader::new(Source(channel)) };
        let user = if address.user.is_empty() { "default" } else { &address.user };
        let login = ["AUTH", user, &address.password];
        let login = if address.password.is_empty() { &[][..] } else { &login[..] };
        let db = address.db.to_string();
        for words in [&[&["HELLO", "3"][..], login].concat()[..], &["SELECT", &db]] {
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            connection.send(&[&words])?;
            if let Reply::Error(text) = connection.reply()? {
                return Err(Error::Command(text));
            }
        }
        Ok(connection)
    }

    /// Whether nothing has come that nobody asked for, and the connection is open.
    pub fn is_quiet(&self) -> bool {
        self.stream.buffer().is_empty() && self.stream.get_ref().0.is_quiet()
    }

    /// Sends commands.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub fn send(&mut self, commands: &[&[&[u8]]]) -> Result<()> {
        let mut bytes = Vec::new();
        for words in commands {
            encode_command(&mut bytes, words.iter().copied());
        }
        Ok(Wire::write_all(&self.stream.get_ref().0, &bytes)?)
    }

    /// Waits for one reply.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub fn reply(&mut self) -> Result<Reply> {
        Ok(reply::read(&mut self.stream)?)
    }
}
