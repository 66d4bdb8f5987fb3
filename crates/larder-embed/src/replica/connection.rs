//! The connection on which writes go to the primary.

use super::url::Address;
use crate::error::{Error, Result};
use crate::reply::{self, Reply};
use larder_resp::encode_command;
use std::io::{self, BufReader, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A connection that is logged in and works in the database of the address.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects. No address, no read and no write is waited for longer than `timeout`; looking the name up
    /// may take longer.
    pub fn open(address: &Address, timeout: Duration) -> Result<Connection> {
        let mut error = io::Error::new(io::ErrorKind::NotFound, "the primary's name has no address");
        for place in (address.host.as_str(), address.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&place, timeout) {
                Ok(stream) => return Connection::introduce(stream, address, timeout),
                Err(reason) => error = reason,
            }
        }
        Err(Error::Connection(error))
    }

    fn introduce(stream: TcpStream, address: &Address, timeout: Duration) -> Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let mut connection = Connection { stream: BufReader::new(stream) };
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
        let socket = self.stream.get_ref();
        let is_silent = || {
            socket.set_nonblocking(true).is_ok()
                && socket.peek(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        self.stream.buffer().is_empty() && is_silent() && socket.set_nonblocking(false).is_ok()
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
        Ok(self.stream.get_mut().write_all(&bytes)?)
    }

    /// Waits for one reply.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub fn reply(&mut self) -> Result<Reply> {
        Ok(reply::read(&mut self.stream)?)
    }
}
