//! A small blocking client.

use crate::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a reply may take before a test gives up.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a client reads and writes.
pub trait ClientStream: Read + Write + Send {
    /// Gives up on reads after this long.
    fn set_timeout(&self, timeout: Duration) -> io::Result<()>;
    /// Tells the server that nothing more comes.
    fn end_writing(&self) -> io::Result<()>;
}

impl ClientStream for TcpStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_nodelay(true)?;
        self.set_read_timeout(Some(timeout))
    }

    fn end_writing(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl ClientStream for UnixStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))
    }

    fn end_writing(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// A connection.
pub struct Client {
    stream: BufReader<Box<dyn ClientStream>>,
}

impl Client {
    /// Connects to a port of this machine.
    pub fn connect(port: u16) -> io::Result<Self> {
        Self::over(TcpStream::connect(("127.0.0.1", port))?)
    }

    /// Connects to a port of an address of this machine.
    pub fn connect_to(address: IpAddr, port: u16) -> io::Result<Self> {
        Self::over(TcpStream::connect((address, port))?)
    }

    /// Connects to a unix socket.
    pub fn connect_unix(path: &Path) -> io::Result<Self> {
        Self::over(UnixStream::connect(path)?)
    }

    /// Uses a stream that is connected.
    pub fn over(stream: impl ClientStream + 'static) -> io::Result<Self> {
        stream.set_timeout(TIMEOUT)?;
        Ok(Client { stream: BufReader::with_capacity(64 << 10, Box::new(stream)) })
    }

    /// Ends the connection and waits until the server has closed it too.
    pub fn end(mut self) {
        // One that has failed has ended.
        let ended = self.stream.get_mut().end_writing();
        let _ = ended.and_then(|()| io::copy(&mut self.stream, &mut io::sink()));
    }

    /// Gives up on replies after this long.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.stream.get_mut().set_timeout(timeout).expect("the socket takes a timeout");
    }

    /// Sends a command and returns its reply; panics when the connection fails.
    pub fn cmd<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Value {
        self.send(args);
        self.read().expect("the server replies")
    }

    /// Sends a command and returns its reply.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn try_cmd<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<Value> {
        let mut request = Vec::new();
        encode(&mut request, args);
        self.send_raw(&request)?;
        self.read()
    }

    /// [`cmd`](Self::cmd) for a line split at blanks.
    pub fn ask(&mut self, line: &str) -> Value {
        self.cmd(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Sends a command without waiting for its reply.
    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        let mut request = Vec::new();
        encode(&mut request, args);
        self.send_raw(&request).expect("the server takes the request");
    }

    /// Sends several commands at once.
    pub fn send_all<A: AsRef<[u8]>>(&mut self, commands: &[&[A]]) {
        let mut request = Vec::new();
        commands.iter().for_each(|args| encode(&mut request, args));
        self.send_raw(&request).expect("the server takes the request");
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Whether some of a reply has come: waits for it no longer than a millisecond.
    pub fn has_reply(&mut self) -> bool {
        self.set_timeout(Duration::from_millis(1));
        let came = self.stream.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        self.set_timeout(TIMEOUT);
        came
    }

    /// Reads one reply.
    pub fn read(&mut self) -> io::Result<Value> {
        let line = self.line()?;
        let (kind, rest) = line.split_at_checked(1).ok_or_else(|| broken("an empty line"))?;
        let number = || rest.parse::<i64>().map_err(|_| broken(&line));
        Ok(match kind {
            "+" => Value::Simple(rest.to_owned()),
            "-" => Value::Error(rest.to_owned()),
            ":" => Value::Int(number()?),
            "_" => Value::Null,
            "#" => Value::Bool(rest == "t"),
            "," => Value::Double(rest.to_owned()),
            "(" => Value::BigNumber(rest.to_owned()),
            "$" if rest == "-1" => Value::NullBulk,
            "*" if rest == "-1" => Value::NullArray,
            "$" => Value::Bulk(self.bulk(number()?)?),
            "=" => Value::Verbatim(self.bulk(number()?)?),
            "*" => Value::Array(self.list(number()?)?),
            "%" => Value::Map(self.list(2 * number()?)?),
            "~" => Value::Set(self.list(number()?)?),
            ">" => Value::Push(self.list(number()?)?),
            _ => return Err(broken(&line)),
        })
    }

    /// Reads everything until the server closes the connection.
    pub fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        loop {
            self.stream.read_exact(&mut byte)?;
            match byte[0] {
                b'\n' if line.last() == Some(&b'\r') => break,
                other => line.push(other),
            }
        }
        line.pop();
        // Bytes that are no text are told apart, too.
        Ok(String::from_utf8(line).unwrap_or_else(|error| error.as_bytes().escape_ascii().to_string()))
    }

    fn bulk(&mut self, len: i64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| broken("a negative length"))? + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(bytes.len() - 2);
        Ok(bytes)
    }

    fn list(&mut self, len: i64) -> io::Result<Vec<Value>> {
        (0..len).map(|_| self.read()).collect()
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a reply: {what}"))
}

/// Appends a command as an array of bulk strings.
pub fn encode<A: AsRef<[u8]>>(out: &mut Vec<u8>, args: &[A]) {
    out.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
    for arg in args {
        let arg = arg.as_ref();
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
}
