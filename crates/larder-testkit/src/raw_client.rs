//! A client for tests of the bytes of replies.

use crate::client::encode;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a reply may take before a test gives up.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A client that keeps replies as their raw bytes.
pub struct RawClient<S = TcpStream> {
    /// What it reads from and writes to.
    pub stream: BufReader<S>,
}

impl RawClient {
    /// Connects to a port of this machine.
    pub fn connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(RawClient::over(stream))
    }
}

impl<S: Read + Write> RawClient<S> {
    /// Uses a stream that is connected.
    pub fn over(stream: S) -> Self {
        RawClient { stream: BufReader::new(stream) }
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the server takes the bytes");
    }

    /// Sends a command without waiting for its reply.
    pub fn tell(&mut self, args: &[&[u8]]) {
        let mut request = Vec::new();
        encode(&mut request, args);
        self.send(&request);
    }

    /// Sends a command and reads its reply.
    pub fn ask(&mut self, args: &[&str]) -> String {
        let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        self.tell(&args);
        self.reply()
    }

    /// One reply, nested ones included.
    pub fn reply(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server replies");
        let count: i64 = line[1.min(line.len())..].trim_end().parse().unwrap_or(-1);
        match line.as_bytes().first() {
            Some(b'$') if count >= 0 => {
                let mut bytes = vec![0; count as usize + 2];
                self.stream.read_exact(&mut bytes).expect("the server replies");
                line + &String::from_utf8_lossy(&bytes)
            }
            Some(b'*') => (0..count).fold(line, |text, _| text + &self.reply()),
            _ => line,
        }
    }

    /// Everything until the server closes the connection.
    pub fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        // A reset is an end as well.
        let _ = self.stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
