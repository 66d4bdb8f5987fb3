//! A TCP or unix socket.

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
}

impl Stream {
    /// Reads what is there, up to the size of `buf`.
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => socket.read(buf),
            Stream::Unix(socket) => socket.read(buf),
        }
    }

    /// Writes as much as fits.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => socket.write(bytes),
            Stream::Unix(socket) => socket.write(bytes),
        }
    }

    /// Writes as much of several buffers as fits.
    pub fn write_vectored(&mut self, slices: &[IoSlice]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => socket.write_vectored(slices),
            Stream::Unix(socket) => socket.write_vectored(slices),
        }
    }

    /// Adds the socket to an event loop.
    ///
    /// A TCP socket only says that it is writable after it was not, so both directions are registered once and for
    /// all. A unix socket says so whenever the peer has read something, which would be an event for every reply: it is
    /// asked only while a write is unfinished, see [`Stream::watch_writes`].
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Stream::Tcp(socket) => registry.register(socket, token, Interest::READABLE | Interest::WRITABLE),
            Stream::Unix(socket) => registry.register(socket, token, Interest::READABLE),
        }
    }

    /// Has small writes sent at once, or gathered for a moment. Nothing to a unix socket.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        match self {
            Stream::Tcp(socket) => socket.set_nodelay(on),
            Stream::Unix(_) => Ok(()),
        }
    }

    /// Adds a duplicate to an event loop of its own.
    pub fn watch(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        match self {
            Stream::Tcp(socket) => registry.register(socket, token, interests),
            Stream::Unix(socket) => registry.register(socket, token, interests),
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
        })
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(socket) => socket.as_fd(),
            Stream::Unix(socket) => socket.as_fd(),
        }
    }
}
