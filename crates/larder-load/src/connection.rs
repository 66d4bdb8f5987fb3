//! A connection to a server: commands into a buffer, replies out of a socket.

use crate::error::{Error, Result};
use crate::security::Security;
use larder_resp::{Value, ValueLimits, encode_command};
use larder_tls::PeerLink;
use std::io::{self, BufRead, BufReader};
use std::net::TcpStream;
use std::time::Duration;

/// Reading or writing for longer than this is an error.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Payloads and keys are shorter than a gigabyte, and arrays are not deep.
const LIMITS: ValueLimits = ValueLimits { depth: 8, len_max: 1 << 30 };
/// The reply to most commands.
pub const OK: &[u8] = b"+OK\r\n";

/// The text of a string, or the error.
pub fn text_of(reply: &Value) -> String {
    match reply {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Status(text) | Value::Error(text) => text.clone(),
        _ => String::new(),
    }
}

/// A connection.
pub struct Connection {
    stream: BufReader<PeerLink>,
    address: String,
}

impl Connection {
    /// Connects to `host:port`.
    pub fn open(address: &str, security: &Security) -> Result<Self> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let open = || -> io::Result<PeerLink> {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            security.link(stream, host, TIMEOUT)
        };
        let stream = open().map_err(|error| Error::Target(format!("{address}: {error}")))?;
        Ok(Connection { stream: BufReader::with_capacity(64 << 10, stream), address: address.to_owned() })
    }

    /// Sends what is in a buffer.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let sent = self.stream.get_ref().write_all(bytes);
        sent.map_err(|error| self.broken(&error))
    }

    /// Reads one reply.
    pub fn reply(&mut self) -> Result<Value> {
        Value::read(&mut self.stream, LIMITS).map_err(|error| self.broken(&error))
    }

    /// Takes this reply if it comes next, and has come whole.
    pub fn take(&mut self, reply: &[u8]) -> Result<bool> {
        let is_it = match self.stream.fill_buf() {
            Ok(bytes) => bytes.starts_with(reply),
            Err(error) => return Err(self.broken(&error)),
        };
        if is_it {
            self.stream.consume(reply.len());
        }
        Ok(is_it)
    }

    /// Takes this reply as often as it comes next, `max` times at most, out of what has come; returns how often.
    pub fn take_run(&mut self, reply: &[u8], max: usize) -> Result<usize> {
        let mut taken = 0;
        while taken < max {
            let bytes = self.stream.fill_buf().map_err(|error| broken(&self.address, &error))?;
            let run =
                bytes.chunks_exact(reply.len()).take(max - taken).take_while(|&next| next == reply).count();
            self.stream.consume(run * reply.len());
            taken += run;
            if run == 0 {
                break;
            }
        }
        Ok(taken)
    }

    /// One command and its reply.
    pub fn ask(&mut self, words: &[&[u8]]) -> Result<Value> {
        let mut request = Vec::new();
        command(&mut request, words);
        self.send(&request)?;
        self.reply()
    }

    fn broken(&self, error: &io::Error) -> Error {
        broken(&self.address, error)
    }
}

/// What is said of a connection that fails.
fn broken(address: &str, error: &io::Error) -> Error {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
        io::ErrorKind::WouldBlock => "no reply for five minutes".to_owned(),
        _ => error.to_string(),
    };
    Error::Target(format!("{address}: {what}"))
}

/// Appends a command.
pub fn command(to: &mut Vec<u8>, words: &[&[u8]]) {
    encode_command(to, words.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_and_what_is_none() {
        let read = |bytes: &[u8]| Value::read(&mut &bytes[..], LIMITS).ok();
        let whole = b"*3\r\n$2\r\nab\r\n:5\r\n*1\r\n$-1\r\n";
        let inner = Value::Array(vec![Value::Null]);
        assert_eq!(read(whole), Some(Value::Array(vec![Value::Bytes(b"ab".to_vec()), Value::Int(5), inner])));
        (0..whole.len()).for_each(|len| assert_eq!(read(&whole[..len]), None));
        let deep = b"*1\r\n".repeat(100);
        for bad in [&b"x\r\n"[..], b"$99999999999\r\n", b"*99999999999\r\n", b"$x\r\n", b"$-2\r\n", &deep] {
            assert_eq!(read(bad), None);
        }
    }

    #[test]
    fn runs_of_a_reply_end_where_another_comes() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut connection = Connection::open(&address, &Security::default()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        io::Write::write_all(&mut server, b"+OK\r\n+OK\r\n+OK\r\n-ERR x\r\n+OK\r\n+O").unwrap();
        let mut taken = Vec::new();
        while taken.iter().sum::<usize>() < 2 {
            let left = 2 - taken.iter().sum::<usize>();
            taken.push(connection.take_run(OK, left).unwrap());
        }
        assert_eq!(connection.reply().unwrap(), Value::Status("OK".to_owned()));
        assert_eq!(connection.take_run(OK, 5).unwrap(), 0);
        assert_eq!(connection.reply().unwrap(), Value::Error("ERR x".to_owned()));
        drop(server);
        assert_eq!(connection.take_run(OK, 1).unwrap(), 1);
        assert_eq!(connection.take_run(OK, 1).unwrap(), 0);
        assert!(connection.reply().is_err());
    }

    #[test]
    fn commands() {
        let mut request = Vec::new();
        command(&mut request, &[b"GET", b""]);
        assert_eq!(request, b"*2\r\n$3\r\nGET\r\n$0\r\n\r\n");
    }
}
