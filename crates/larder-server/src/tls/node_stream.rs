//! A connection between two nodes of a cluster, plain or TLS, on a socket that does not block. One thread has it, whichever side began it.
//!
//! Nothing can be written before the handshake is over. The side that dialled takes its steps with [`NodeStream::greet`], the other one
//! by reading.

use larder_tls::session::{Room, Session};
use mio::net::TcpStream;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;
use rustls::{ClientConfig, ServerConfig};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::IpAddr;
use std::sync::Arc;

/// The connection.
pub struct NodeStream {
    socket: TcpStream,
    side: Side,
}

enum Side {
    Plain,
    Accepted(Box<Session<UnbufferedServerConnection>>),
    Dialled(Box<Session<UnbufferedClientConnection>>),
}

impl NodeStream {
    /// Without TLS.
    pub fn plain(socket: TcpStream) -> NodeStream {
        NodeStream { socket, side: Side::Plain }
    }

    /// Of a socket that was accepted.
    ///
    /// # Errors
    /// rustls refuses the configuration.
    pub fn accepted(socket: TcpStream, config: Arc<ServerConfig>) -> io::Result<NodeStream> {
        let connection = UnbufferedServerConnection::new(config).map_err(io::Error::other)?;
        Ok(NodeStream { socket, side: Side::Accepted(Box::new(Session::new(connection))) })
    }

    /// Of a socket that connects, or is to, to this address.
    ///
    /// # Errors
    /// rustls refuses the configuration.
    pub fn dialled(socket: TcpStream, config: Arc<ClientConfig>, ip: IpAddr) -> io::Result<NodeStream> {
        let connection =
            UnbufferedClientConnection::new(config, ServerName::from(ip)).map_err(io::Error::other)?;
        Ok(NodeStream { socket, side: Side::Dialled(Box::new(Session::new(connection))) })
    }

    /// The socket below.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The same, to be registered.
    pub fn socket_mut(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Whether the handshake is not over, in which nothing is sent.
    pub fn is_handshaking(&self) -> bool {
        match &self.side {
            Side::Plain => false,
            Side::Accepted(session) => session.state().is_handshaking(),
            Side::Dialled(session) => session.state().is_handshaking(),
        }
    }

    /// Goes on with the handshake, as far as the socket allows, if this side dialled. Whether it is over.
    ///
    /// # Errors
    /// The handshake failed, or the connection is over.
    pub fn greet(&mut self) -> io::Result<bool> {
        let Side::Dialled(session) = &mut self.side else { return Ok(!self.is_handshaking()) };
        while session.state().is_handshaking() || session.has_unsent() {
            match session.greet(&mut self.socket) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(!session.state().is_handshaking())
    }

    /// Reads: `Ok(0)` is the end. When it was interrupted, there may be more.
    ///
    /// # Errors
    /// As of a socket that does not block; and of TLS.
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.side {
            Side::Plain => self.socket.read(buf),
            Side::Accepted(session) => session.read(&mut self.socket, &mut Room::Buffer(buf, 0)),
            Side::Dialled(session) => session.read(&mut self.socket, &mut Room::Buffer(buf, 0)),
        }
    }

    /// Writes as much as the socket takes. What it does not say to be written must be offered again, first.
    ///
    /// # Errors
    /// As of a socket that does not block; and of TLS.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.side {
            Side::Plain => self.socket.write(bytes),
            Side::Accepted(session) => session.write(&mut self.socket, &[IoSlice::new(bytes)]),
            Side::Dialled(session) => session.write(&mut self.socket, &[IoSlice::new(bytes)]),
        }
    }
}

impl Drop for NodeStream {
    /// Says goodbye, if that can be done at once.
    fn drop(&mut self) {
        match &mut self.side {
            Side::Plain => {}
            Side::Accepted(session) => session.close(&mut self.socket),
            Side::Dialled(session) => session.close(&mut self.socket),
        }
    }
}
