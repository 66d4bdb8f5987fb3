//! A connection to a server: commands into a buffer, replies out of a socket.

use crate::error::{Error, Result};
use larder_resp::encode_command;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// No reply takes longer than this.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The longest string, or array, that is read of a reply: payloads have at most 512 MB. Memory is taken as the bytes arrive.
const REPLY_BYTES_MAX: i64 = 1 << 30;
/// The reply to most commands.
const OK: &[u8] = b"+OK\r\n";
/// Arrays within arrays.
const DEPTH_MAX: u32 = 8;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An array.
    Array(Vec<Reply>),
    /// An error.
    Error(String),
    /// A number.
    Int(i64),
    /// Nothing.
    Null,
    /// A string of either form.
    Text(Vec<u8>),
}

impl Reply {
    /// The text of a string, or the error.
    pub fn text(&self) -> String {
        match self {
            Reply::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Reply::Error(error) => error.clone(),
            _ => String::new(),
        }
    }
}

/// A connection.
pub struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Connection {
    /// Connects to `host:port`.
    pub fn open(address: &str) -> Result<Self> {
        let open = || -> io::Result<TcpStream> {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            Ok(stream)
        };
        let stream = open().map_err(|error| Error::Target(format!("{address}: {error}")))?;
        Ok(Connection { stream: BufReader::with_capacity(64 << 10, stream), address: address.to_owned() })
    }

    /// Sends what is in a buffer.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let sent = self.stream.get_mut().write_all(bytes);
        sent.map_err(|error| self.broken(&error))
    }

    /// Reads one reply.
    pub fn reply(&mut self) -> Result<Reply> {
        read_reply(&mut self.stream, DEPTH_MAX).map_err(|error| self.broken(&error))
    }

    /// Takes the reply `OK` if it comes next, and has come whole.
    pub fn take_ok(&mut self) -> Result<bool> {
        let is_ok = match self.stream.fill_buf() {
            Ok(bytes) => bytes.starts_with(OK),
            Err(error) => return Err(self.broken(&error)),
        };
        if is_ok {
            self.stream.consume(OK.len());
        }
        Ok(is_ok)
    }

    /// One command and its reply.
    pub fn ask(&mut self, words: &[&[u8]]) -> Result<Reply> {
        let mut request = Vec::new();
        command(&mut request, words);
        self.send(&request)?;
        self.reply()
    }

    fn broken(&self, error: &io::Error) -> Error {
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the server has closed the connection".to_owned(),
            io::ErrorKind::WouldBlock => "no reply for five minutes".to_owned(),
            _ => error.to_string(),
        };
        Error::Target(format!("{}: {what}", self.address))
    }
}

/// Appends a command.
pub fn command(to: &mut Vec<u8>, words: &[&[u8]]) {
    encode_command(to, words.iter().copied());
}

fn read_reply(source: &mut impl BufRead, depth: u32) -> io::Result<Reply> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "not a reply of the protocol");
    let mut line = Vec::new();
    source.by_ref().take(64 << 10).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.strip_suffix(b"\r\n").ok_or_else(odd)?;
    let (&mark, rest) = line.split_first().ok_or_else(odd)?;
    let text = || String::from_utf8_lossy(rest).into_owned();
    let number = || text().parse::<i64>().map_err(|_| odd());
    Ok(match mark {
        b'+' => Reply::Text(rest.to_vec()),
        b'-' => Reply::Error(text()),
        b':' => Reply::Int(number()?),
        b'$' | b'*' if number()? == -1 => Reply::Null,
        b'$' => {
            let len = Some(number()?).filter(|len| (0..=REPLY_BYTES_MAX).contains(len)).ok_or_else(odd)?;
            let mut bytes = Vec::new();
            source.by_ref().take(len as u64 + 2).read_to_end(&mut bytes)?;
            if bytes.len() as i64 != len + 2 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes.truncate(len as usize);
            Reply::Text(bytes)
        }
        b'*' if depth > 0 => {
            let len = Some(number()?).filter(|len| (0..=REPLY_BYTES_MAX).contains(len)).ok_or_else(odd)?;
            Reply::Array((0..len).map(|_| read_reply(source, depth - 1)).collect::<io::Result<_>>()?)
        }
        _ => return Err(odd()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_and_what_is_none() {
        let read = |bytes: &[u8]| read_reply(&mut &bytes[..], DEPTH_MAX).ok();
        let whole = b"*3\r\n$2\r\nab\r\n:5\r\n*1\r\n$-1\r\n";
        let inner = Reply::Array(vec![Reply::Null]);
        assert_eq!(read(whole), Some(Reply::Array(vec![Reply::Text(b"ab".to_vec()), Reply::Int(5), inner])));
        (0..whole.len()).for_each(|len| assert_eq!(read(&whole[..len]), None));
        let deep = b"*1\r\n".repeat(100);
        for bad in [&b"x\r\n"[..], b"$99999999999\r\n", b"*99999999999\r\n", b"$x\r\n", b"$-2\r\n", &deep] {
            assert_eq!(read(bad), None);
        }
    }

    #[test]
    fn commands() {
        let mut request = Vec::new();
        command(&mut request, &[b"GET", b""]);
        assert_eq!(request, b"*2\r\n$3\r\nGET\r\n$0\r\n\r\n");
    }
}
