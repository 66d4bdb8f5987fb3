//! A connection to another server, plain or TLS, on a socket that blocks with timeouts. Threads share it by reference: one reads while
//! another one writes.
//!
//! The session of TLS is behind a lock that nobody holds while waiting for the socket: a reader waits for bytes before it takes the lock,
//! a writer encrypts under it and sends afterwards, `writing` keeping the records in order.

use crate::session::{Room, Session};
use crate::wait::wait_for_socket;
use larder_link::Wire;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes that are encrypted before they are sent.
const PIECE_BYTES: usize = 64 << 10;

/// The connection.
pub struct PeerLink {
    socket: TcpStream,
    tls: Option<Arc<Tls>>,
}

struct Tls {
    session: Mutex<Session<UnbufferedClientConnection>>,
    /// Held from encrypting until all is sent.
    writing: Mutex<()>,
}

/// A socket for [`Session`]: reads come from it, and what is written is gathered.
struct Gathering<'s> {
    socket: &'s TcpStream,
    out: Vec<u8>,
}

impl Read for Gathering<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buf)
    }
}

impl Write for Gathering<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// As [`PeerLink::read`].
impl Read for PeerLink {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        PeerLink::read(self, buf)
    }
}

impl PeerLink {
    /// Of a socket that is connected.
    pub fn plain(socket: TcpStream) -> PeerLink {
        PeerLink { socket, tls: None }
    }

    /// Makes a socket that is connected one of TLS: to `host`, which is told to the server if it is a name. The handshake is over
    /// within `timeout`, or when `goes_on` says that it is not to go on.
    pub fn secure(
        socket: TcpStream,
        config: Arc<ClientConfig>,
        host: &str,
        timeout: Duration,
        mut goes_on: impl FnMut() -> bool,
    ) -> io::Result<PeerLink> {
        let name = match ServerName::try_from(host) {
            Ok(name) => name.to_owned(),
            // What is no name is not sent. Who compares it with the certificate compares the address.
            Err(_) => ServerName::from(socket.peer_addr()?.ip()),
        };
        let connection = UnbufferedClientConnection::new(config, name).map_err(io::Error::other)?;
        let tls = Tls { session: Mutex::new(Session::new(connection)), writing: Mutex::new(()) };
        let begun = Instant::now();
        socket.set_write_timeout(Some(timeout))?;
        {
            let mut session = tls.session.lock();
            while session.state().is_handshaking() || session.has_unsent() {
                match session.greet(&mut &socket) {
                    Err(error) if is_patience(&error) => {}
                    outcome => outcome?,
                }
                if begun.elapsed() >= timeout || !goes_on() {
                    return Err(ErrorKind::TimedOut.into());
                }
            }
        }
        Ok(PeerLink { socket, tls: Some(Arc::new(tls)) })
    }

    /// A second handle.
    pub fn try_clone(&self) -> io::Result<PeerLink> {
        Ok(PeerLink { socket: self.socket.try_clone()?, tls: self.tls.clone() })
    }

    /// Reads what has come, or waits for it: for as long as the read timeout says. `Ok(0)` is the end.
    pub fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &self.tls else { return (&self.socket).read(buf) };
        let patience = self.socket.read_timeout()?.unwrap_or(Duration::MAX);
        let begun = Instant::now();
        loop {
            let left = patience.saturating_sub(begun.elapsed());
            if !tls.session.lock().holds_data() && !wait_for_socket(&self.socket, false, left) {
                return Err(ErrorKind::WouldBlock.into());
            }
            let mut socket = Gathering { socket: &self.socket, out: Vec::new() };
            let outcome = tls.session.lock().read_once(&mut socket, &mut Room::Buffer(buf, 0));
            if !socket.out.is_empty() {
                let _writing = tls.writing.lock();
                (&self.socket).write_all(&socket.out)?;
            }
            match outcome {
                // A message of TLS itself.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    /// Sends everything, or fails.
    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &self.tls else { return (&self.socket).write_all(bytes) };
        let _writing = tls.writing.lock();
        for piece in bytes.chunks(PIECE_BYTES) {
            let mut socket = Gathering { socket: &self.socket, out: Vec::new() };
            tls.session.lock().write(&mut socket, &[IoSlice::new(piece)])?;
            (&self.socket).write_all(&socket.out)?;
        }
        Ok(())
    }

    /// Whether nothing has come that nobody asked for, and the connection is open. Not to be called while others use it.
    pub fn is_quiet(&self) -> bool {
        let holds_data = self.tls.as_ref().is_some_and(|tls| tls.session.lock().holds_data());
        let is_silent = || {
            self.socket.set_nonblocking(true).is_ok()
                && self.socket.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        !holds_data && is_silent() && self.socket.set_nonblocking(false).is_ok()
    }

    /// How long a read waits.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)
    }

    /// How long a write waits until the socket takes something.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_write_timeout(timeout)
    }

    /// Ends the connection for all who use it.
    pub fn shutdown(&self) {
        // It may have ended already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// The address of the other server.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// The address of this one.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

impl Drop for PeerLink {
    /// The last handle says goodbye, if that can be done at once.
    fn drop(&mut self) {
        if let Some(tls) = &self.tls
            && Arc::strong_count(tls) == 1
            && self.socket.set_nonblocking(true).is_ok()
        {
            tls.session.lock().close(&mut &self.socket);
        }
    }
}

impl Wire for PeerLink {
    fn wait(&self) -> io::Result<()> {
        let patience = self.socket.read_timeout()?.unwrap_or(Duration::MAX);
        let holds_data = self.tls.as_ref().is_some_and(|tls| tls.session.lock().holds_data());
        match holds_data || wait_for_socket(&self.socket, false, patience) {
            true => Ok(()),
            false => Err(ErrorKind::WouldBlock.into()),
        }
    }

    fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        PeerLink::read(self, buf)
    }

    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        PeerLink::write_all(self, bytes)
    }

    fn peer_addr(&self) -> io::Result<SocketAddr> {
        PeerLink::peer_addr(self)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        PeerLink::local_addr(self)
    }

    fn fd(&self) -> RawFd {
        self.as_raw_fd()
    }
}

impl PeerLink {
    /// Bytes that have come, as the socket has them, and have not been read.
    pub fn unread(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.socket).unwrap_or(0)
    }
}

impl AsRawFd for PeerLink {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Read for &PeerLink {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        PeerLink::read(self, buf)
    }
}

fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
