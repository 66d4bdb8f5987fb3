//! A TCP or unix socket, or TLS on a TCP socket.

use crate::sys::read_to_spare;
use crate::tls::TlsStream;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// A connected socket.
pub enum Stream {
    /// By TCP.
    Tcp(TcpStream),
    /// By a file.
    Unix(UnixStream),
    /// By TLS.
    Tls(TlsStream),
}

impl Stream {
    /// Reads what is there, up to the size of `buf`.
    #[inline]
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => socket.read(buf),
            Stream::Unix(socket) => socket.read(buf),
            Stream::Tls(stream) => stream.read(buf),
        }
    }

    /// Reads what is there to the end of a vector, at most `room` bytes, for which it has the capacity.
    pub fn read_to_end_of(&mut self, buffer: &mut Vec<u8>, room: usize) -> io::Result<usize> {
        match self {
            Stream::Tls(stream) => stream.read_to_end_of(buffer, room),
            _ => read_to_spare(self, buffer, room),
        }
    }

    /// Whether a read of `n` bytes, of at most `room`, has left nothing to be read.
    #[inline]
    pub fn is_drained(&self, n: usize, room: usize) -> bool {
        match self {
            Stream::Tls(stream) => !stream.may_have_more(),
            _ => n < room,
        }
    }

    /// Writes as much as fits. What is not written is to be offered again.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => socket.write(bytes),
            Stream::Unix(socket) => socket.write(bytes),
            Stream::Tls(stream) => stream.write(&[IoSlice::new(bytes)]),
        }
    }

    /// Writes as much of several buffers as fits. What is not written is to be offered again.
    #[inline]
    pub fn write_vectored(&mut self, slices: &[IoSlice]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => socket.write_vectored(slices),
            Stream::Unix(socket) => socket.write_vectored(slices),
            Stream::Tls(stream) => stream.write(slices),
        }
    }

    /// Writes a few bytes that need not arrive, if there is room.
    pub fn offer(&mut self, bytes: &[u8]) {
        // Whether it works is found out by the next one that must.
        let _ = match self {
            Stream::Tls(stream) => stream.offer(bytes),
            _ => self.write(bytes).map(drop),
        };
    }

    /// Whether the stream has something of its own to send, which the next read does.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        matches!(self, Stream::Tls(stream) if stream.has_unsent())
    }

    /// Adds the socket to an event loop.
    ///
    /// A TCP socket only says that it is writable after it was not, so both directions are registered once and for
    /// all. A unix socket says so whenever the peer has read something, which would be an event for every reply: it is
    /// asked only while a write is unfinished, see [`Stream::watch_writes`].
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interests = match self {
            Stream::Unix(_) => Interest::READABLE,
            Stream::Tcp(_) | Stream::Tls(_) => Interest::READABLE | Interest::WRITABLE,
        };
        self.watch(registry, token, interests)
    }

    /// Has small writes sent at once, or gathered for a moment. Nothing to a unix socket.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        match self {
            Stream::Tcp(socket) => socket.set_nodelay(on),
            Stream::Unix(_) => Ok(()),
            Stream::Tls(stream) => stream.socket().set_nodelay(on),
        }
    }

    /// Adds the socket, or a duplicate, to an event loop, for events of these kinds.
    pub fn watch(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        match self {
            Stream::Tcp(socket) => registry.register(socket, token, interests),
            Stream::Unix(socket) => registry.register(socket, token, interests),
            Stream::Tls(stream) => registry.register(stream.socket_mut(), token, interests),
        }
    }

    /// Asks for an event when the socket takes more output, or stops asking.
    pub fn watch_writes(&mut self, registry: &Registry, token: Token, on: bool) -> io::Result<()> {
        let Stream::Unix(socket) = self else { return Ok(()) };
        let interests = if on { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        registry.reregister(socket, token, interests)
    }
}

impl Stream {
    /// Takes the socket out of an event loop, for one of which there is a duplicate: closing it would not.
    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Stream::Tcp(socket) => registry.deregister(socket),
            Stream::Unix(socket) => registry.deregister(socket),
            Stream::Tls(stream) => registry.deregister(stream.socket_mut()),
        }
    }

    /// A second handle on the socket, which no event loop watches.
    pub fn duplicate(&self) -> io::Result<Stream> {
        let of = |fd: BorrowedFd<'_>| fd.try_clone_to_owned();
        Ok(match self {
            Stream::Tcp(socket) => {
                Stream::Tcp(TcpStream::from_std(std::net::TcpStream::from(of(socket.as_fd())?)))
            }
            Stream::Unix(socket) => {
                Stream::Unix(UnixStream::from_std(std::os::unix::net::UnixStream::from(of(socket.as_fd())?)))
            }
            Stream::Tls(stream) => Stream::Tls(stream.duplicate()?),
        })
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(socket) => socket.as_fd(),
            Stream::Unix(socket) => socket.as_fd(),
            Stream::Tls(stream) => stream.as_fd(),
        }
    }
}
