//! Talking to another server as its client.
//!
//! A connection over which everything went well is kept for the next exchange with the same server and credentials: MIGRATE is
//! called for one key after the other. One that fails is closed, and so is one that nobody has used for [`IDLE_MAX`]. The server may
//! end a connection at the moment in which it is used again: if it has answered nothing, a new one is tried once, as Valkey does.
//! Tested by `tests/persistence/migrate.rs`.

use larder_engine::{Exchange, ExchangeError};
use parking_lot::Mutex;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// No reply that is expected is longer.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// This many connections are kept.
const KEPT_MAX: usize = 64;
/// A connection is kept for so long after its last use.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Connections that are kept, the one that was used last at the end.
#[derive(Default)]
pub struct Peers {
    kept: Mutex<Vec<Kept>>,
}

struct Kept {
    address: String,
    /// What was sent with AUTH. Who does not say the same must not speak as this user.
    credentials: Vec<Vec<u8>>,
    stream: TcpStream,
    used: Instant,
}

impl Peers {
    /// Sends commands and reads the replies, each of which is one line.
    pub fn exchange(&self, exchange: &Exchange<'_>) -> Result<Vec<String>, ExchangeError> {
        if let Some(stream) = self.take(exchange) {
            match talk(&stream, exchange) {
                Err(failure) if failure.ended_unanswered => {}
                outcome => return self.settle(exchange, stream, outcome),
            }
        }
        let stream = connect(exchange)?;
        let outcome = talk(&stream, exchange);
        self.settle(exchange, stream, outcome)
    }

    fn settle(
        &self,
        exchange: &Exchange<'_>,
        stream: TcpStream,
        outcome: Result<Vec<String>, Failure>,
    ) -> Result<Vec<String>, ExchangeError> {
        let lines = outcome.map_err(|failure| failure.error)?;
        self.keep(exchange, stream);
        Ok(lines)
    }

    /// How many connections are kept.
    pub fn len(&self) -> usize {
        self.kept.lock().len()
    }

    /// Closes those that nobody has used for long.
    pub fn close_idle(&self) {
        self.kept.lock().retain(|kept| kept.used.elapsed() < IDLE_MAX);
    }

    /// A connection that can be used again. The others to that server are closed if they cannot.
    fn take(&self, exchange: &Exchange<'_>) -> Option<TcpStream> {
        let mut kept = self.kept.lock();
        loop {
            let at = kept.iter().rposition(|kept| kept.is_for(exchange))?;
            let stream = kept.remove(at).stream;
            if is_quiet(&stream) && set_timeouts(&stream, exchange.timeout).is_ok() {
                return Some(stream);
            }
        }
    }

    fn keep(&self, exchange: &Exchange<'_>, stream: TcpStream) {
        let mut kept = self.kept.lock();
        if kept.len() == KEPT_MAX {
            kept.remove(0);
        }
        kept.push(Kept {
            address: exchange.address.to_owned(),
            credentials: exchange.credentials.iter().map(|word| word.to_vec()).collect(),
            stream,
            used: Instant::now(),
        });
    }
}

impl Kept {
    fn is_for(&self, exchange: &Exchange<'_>) -> bool {
        self.address == exchange.address && self.credentials.iter().eq(exchange.credentials)
    }
}

/// Whether a connection is open and nothing has come that nobody asked for.
fn is_quiet(stream: &TcpStream) -> bool {
    let quiet = stream.set_nonblocking(true).is_ok()
        && stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    quiet && stream.set_nonblocking(false).is_ok()
}

fn set_timeouts(stream: &TcpStream, timeout: Duration) -> std::io::Result<()> {
    stream.set_read_timeout(Some(timeout)).and_then(|()| stream.set_write_timeout(Some(timeout)))
}

fn connect(exchange: &Exchange<'_>) -> Result<TcpStream, ExchangeError> {
    let connecting = |_| ExchangeError::Connecting;
    let timeout = exchange.timeout;
    let mut addresses = exchange.address.to_socket_addrs().map_err(connecting)?;
    let stream = addresses.find_map(|address| TcpStream::connect_timeout(&address, timeout).ok());
    // Redis finds out that nobody is there when it writes, and says so.
    let stream = stream.ok_or(ExchangeError::Writing)?;
    stream.set_nodelay(true).and_then(|()| set_timeouts(&stream, timeout)).map_err(connecting)?;
    Ok(stream)
}

/// What an exchange fails with.
struct Failure {
    error: ExchangeError,
    /// The connection has ended, in time, without a byte of a reply.
    ended_unanswered: bool,
}

fn talk(stream: &TcpStream, exchange: &Exchange<'_>) -> Result<Vec<String>, Failure> {
    // Replies are read meanwhile: a target that cannot get rid of them would stop reading.
    thread::scope(|scope| {
        let reader = scope.spawn(|| read_lines(stream, exchange.replies));
        let mut writer = stream;
        let written = writer.write_all(exchange.request);
        if written.is_err() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        let lines =
            reader.join().unwrap_or(Err(Failure { error: ExchangeError::Reading, ended_unanswered: false }));
        written.map_err(|error| Failure {
            error: ExchangeError::Writing,
            ended_unanswered: !is_timeout(&error)
                && matches!(&lines, Err(failure) if failure.ended_unanswered),
        })?;
        lines
    })
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn read_lines(stream: &TcpStream, count: usize) -> Result<Vec<String>, Failure> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    while lines.len() < count {
        let mut line = Vec::new();
        let read = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if read.is_err() || line.last() != Some(&b'\n') {
            let is_first = lines.is_empty() && line.is_empty();
            let ended_unanswered = is_first && !read.is_err_and(|error| is_timeout(&error));
            return Err(Failure { error: ExchangeError::Reading, ended_unanswered });
        }
        lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
    }
    if !reader.buffer().is_empty() {
        // Nobody asked for more: the connection is of no use for the next one.
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
    Ok(lines)
}
