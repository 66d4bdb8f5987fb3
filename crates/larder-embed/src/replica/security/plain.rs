//! Sockets as they are.

use crate::error::Result;
use crate::replica::options::ReplicaOptions;
use crate::replica::url::Address;
use larder_link::Wire;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// Nothing but that.
#[derive(Clone, Default)]
pub struct Security;

impl Security {
    /// An address by TLS is none here.
    ///
    /// # Errors
    /// None.
    pub fn of(_address: &Address, _options: &ReplicaOptions) -> Result<Security> {
        Ok(Security)
    }

    /// A socket that is connected, as it is.
    ///
    /// # Errors
    /// None.
    pub fn channel(
        &self,
        socket: TcpStream,
        _host: &str,
        _timeout: Duration,
        _goes_on: &dyn Fn() -> bool,
    ) -> io::Result<Channel> {
        Ok(Channel(socket))
    }
}

/// A connection.
pub struct Channel(TcpStream);

impl Channel {
    /// Whether nothing has come that nobody asked for, and the connection is open.
    pub fn is_quiet(&self) -> bool {
        let is_silent = || {
            self.0.set_nonblocking(true).is_ok()
                && self.0.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        is_silent() && self.0.set_nonblocking(false).is_ok()
    }
}

impl Wire for Channel {
    fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(buf)
    }

    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
