//! The TLS connection of a client: a socket that does not block, and the session on it. A second handle shares the session: a worker
//! reads from a replica while another thread writes a snapshot to it. Its lock is held for one call, which does not wait.
//! What workers call for every read and write is kept out of their code: plain connections pay for nothing but the question.

use larder_tls::session::{Room, Session};
use mio::net::TcpStream;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::server::UnbufferedServerConnection;
use std::io::{self, IoSlice};
use std::net;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// The socket with its session.
pub struct TlsStream {
    socket: TcpStream,
    session: Arc<Mutex<Session<UnbufferedServerConnection>>>,
}

impl TlsStream {
    /// Of a socket that has been accepted, before anything is read.
    pub fn accept(socket: TcpStream, config: Arc<ServerConfig>) -> io::Result<TlsStream> {
        let connection = UnbufferedServerConnection::new(config).map_err(io::Error::other)?;
        Ok(TlsStream { socket, session: Arc::new(Mutex::new(Session::new(connection))) })
    }

    /// The socket below.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The same, to be registered.
    pub fn socket_mut(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// See [`Session::read`].
    #[inline(never)]
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.session.lock().read(&mut self.socket, &mut Room::Buffer(buf, 0))
    }

    /// The same, to the end of a vector, by at most `room`.
    pub fn read_to_end_of(&mut self, buffer: &mut Vec<u8>, room: usize) -> io::Result<usize> {
        self.session.lock().read(&mut self.socket, &mut Room::End(buffer, room))
    }

    /// See [`Session::write`].
    #[inline(never)]
    pub fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.session.lock().write(&mut self.socket, slices)
    }

    /// See [`Session::offer`].
    pub fn offer(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.session.lock().offer(&mut self.socket, bytes)
    }

    /// See [`Session::may_have_more`].
    #[inline(never)]
    pub fn may_have_more(&self) -> bool {
        self.session.lock().may_have_more()
    }

    /// Whether something of the session itself waits for the socket.
    pub fn has_unsent(&self) -> bool {
        self.session.lock().has_unsent()
    }

    /// Whether nothing but the handshake has happened yet.
    pub fn is_handshaking(&self) -> bool {
        self.session.lock().state().is_handshaking()
    }

    /// The client's certificate, if it has shown one that is valid.
    pub fn certificate(&self) -> Option<CertificateDer<'static>> {
        let session = self.session.lock();
        session.state().peer_certificates()?.first().map(|certificate| certificate.clone().into_owned())
    }

    /// A second handle.
    pub fn duplicate(&self) -> io::Result<TlsStream> {
        let socket = self.socket.as_fd().try_clone_to_owned()?;
        let socket = TcpStream::from_std(net::TcpStream::from(socket));
        Ok(TlsStream { socket, session: Arc::clone(&self.session) })
    }
}

impl AsFd for TlsStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for TlsStream {
    /// The last handle says goodbye.
    fn drop(&mut self) {
        if Arc::strong_count(&self.session) == 1 {
            self.session.lock().close(&mut self.socket);
        }
    }
}
