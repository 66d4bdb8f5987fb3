//! The connection to the primary, and what has been read of it.

use crate::attempt::{LOOK, Link, LinkError, Wire, is_patience};
use crate::compression::{Damaged, Decoder};
use crate::dial;
use larder_engine::config::LinkCompression;
use socket2::Protocol;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// No line that is expected is longer.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The primary's end of the link, and what has been read of it.
pub struct Peer {
    socket: Arc<dyn Wire>,
    bytes: Vec<u8>,
    /// What comes from now on is compressed.
    decoder: Option<Decoder>,
}

impl Peer {
    /// Connects.
    pub fn connect(link: &Link, host: &str, port: u16) -> Result<Peer, LinkError> {
        let timeout = link.timeout();
        let mut error = io::Error::new(io::ErrorKind::NotFound, "the primary's host name has no address");
        for address in (host, port).to_socket_addrs()? {
            link.check()?;
            match open(address, link, timeout) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    socket.set_read_timeout(Some(LOOK))?;
                    socket.set_write_timeout(Some(timeout))?;
                    let goes_on = || link.check().is_ok();
                    let socket = link.process.secure(socket, host, timeout, &goes_on)?;
                    return Ok(Peer { socket, bytes: Vec::new(), decoder: None });
                }
                Err(reason) => error = reason,
            }
        }
        Err(error.into())
    }

    /// The socket, what has been read and not used, and what takes compressed bytes apart.
    pub fn into_parts(self) -> (Arc<dyn Wire>, Vec<u8>, Option<Decoder>) {
        (self.socket, self.bytes, self.decoder)
    }

    /// What comes after the last line is compressed.
    ///
    /// # Errors
    /// What has come already is no compressed message.
    pub fn expand(&mut self, compression: LinkCompression) -> Result<(), LinkError> {
        self.decoder = Decoder::new(compression);
        if let Some(decoder) = &mut self.decoder {
            let come = std::mem::take(&mut self.bytes);
            decoder.decode(&come, &mut self.bytes).map_err(|Damaged| LinkError::damaged_message())?;
        }
        Ok(())
    }

    /// The socket.
    pub fn socket(&self) -> &Arc<dyn Wire> {
        &self.socket
    }

    /// Puts back what was read beyond what was wanted.
    pub fn unread(&mut self, mut bytes: Vec<u8>) {
        bytes.append(&mut self.bytes);
        self.bytes = bytes;
    }

    /// The next bytes: at least one. An error after `repl-timeout` without any, or when the role changes.
    pub fn read(&mut self, link: &Link, into: &mut [u8]) -> Result<usize, LinkError> {
        if !self.bytes.is_empty() {
            let n = self.bytes.len().min(into.len());
            into[..n].copy_from_slice(&self.bytes[..n]);
            self.bytes.drain(..n);
            return Ok(n);
        }
        let begun = Instant::now();
        loop {
            let has_message = self.decoder.as_ref().is_some_and(Decoder::has_message);
            let come = match if has_message { Ok(0) } else { self.socket.read(into) } {
                Ok(0) if !has_message => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(come) => come,
                Err(error) if is_patience(&error) => {
                    link.check()?;
                    if begun.elapsed() >= link.timeout() {
                        return Err(io::Error::from(io::ErrorKind::TimedOut).into());
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Some(decoder) = &mut self.decoder else { return Ok(come) };
            let expanded = decoder.decode(&into[..come], &mut self.bytes);
            expanded.map_err(|Damaged| LinkError::damaged_message())?;
            if !self.bytes.is_empty() {
                return self.read(link, into);
            }
        }
    }

    /// The next line that is not empty, without its end. Empty ones are signs of life.
    pub fn line(&mut self, link: &Link) -> Result<String, LinkError> {
        let mut line = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let n = self.read(link, &mut piece)?;
            let Some(end) = piece[..n].iter().position(|&byte| byte == b'\n') else {
                line.extend_from_slice(&piece[..n]);
                if line.len() > LINE_BYTES_MAX {
                    return Err(LinkError::Refused("The primary sent a line that is too long".to_owned()));
                }
                continue;
            };
            line.extend_from_slice(&piece[..end]);
            self.unread(piece[end + 1..n].to_vec());
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if !text.is_empty() {
                return Ok(text);
            }
            line.clear();
        }
    }

    /// Sends a command and returns the line that answers it.
    pub fn ask(&mut self, link: &Link, words: &[&str]) -> Result<String, LinkError> {
        send(&*self.socket, words)?;
        self.line(link)
    }
}

/// Sends a command.
pub fn send(socket: &dyn Wire, words: &[&str]) -> io::Result<()> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        bytes += &format!("${}\r\n{word}\r\n", word.len());
    }
    socket.write_all(bytes.as_bytes())
}

fn open(address: SocketAddr, link: &Link, timeout: Duration) -> io::Result<TcpStream> {
    let config = link.config();
    let protocol = if config.is_yes("repl-mptcp") { Protocol::MPTCP } else { Protocol::TCP };
    let socket = dial::socket(address, dial::source(config), protocol)?;
    socket.connect_timeout(&address.into(), timeout)?;
    Ok(socket.into())
}
