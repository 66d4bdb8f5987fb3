//! Talking to another server as its client.
//!
//! A connection over which everything went well is kept for the next exchange with the same server and credentials: MIGRATE is
//! called for one key after the other. One that fails is closed, and so is one that nobody has used for [`IDLE_MAX`]. The server may
//! end a connection at the moment in which it is used again: if it has answered nothing, a new one is tried once, as Valkey does.
//! Tested by `tests/persistence/migrate.rs` and `tests/tls/migrate.rs`.

use crate::tls;
use larder_engine::{Exchange, ExchangeError};
use larder_tls::PeerLink;
use parking_lot::Mutex;
use rustls::ClientConfig;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// No reply that is expected is longer.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// This many connections are kept.
const KEPT_MAX: usize = 64;
/// A connection is kept for this long after its last use.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Connections that are kept, the one that was used last at the end.
#[derive(Default)]
pub struct Peers {
    kept: Mutex<Vec<Kept>>,
}

struct Kept {
    address: String,
    /// What was sent with AUTH. An exchange with other credentials must not speak as this user.
    credentials: Vec<Vec<u8>>,
    tls: bool,
    link: PeerLink,
    used: Instant,
}

impl Peers {
    /// Sends commands and reads the replies, each of which is one line.
    pub fn exchange(
        &self,
        exchange: &Exchange<'_>,
        tls: &tls::Context,
    ) -> Result<Vec<String>, ExchangeError> {
        if let Some(link) = self.take(exchange) {
            match talk(&link, exchange) {
                Err(failure) if failure.ended_unanswered => {}
                outcome => return self.settle(exchange, link, outcome),
            }
        }
        let config = match exchange.tls {
            true => Some(tls.client().ok_or(ExchangeError::Connecting)?),
            false => None,
        };
        let link = connect(exchange.address, exchange.timeout, config)?;
        let outcome = talk(&link, exchange);
        self.settle(exchange, link, outcome)
    }

    fn settle(
        &self,
        exchange: &Exchange<'_>,
        link: PeerLink,
        outcome: Result<Vec<String>, Failure>,
    ) -> Result<Vec<String>, ExchangeError> {
        let lines = outcome.map_err(|failure| failure.error)?;
        self.keep(exchange, link);
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
    fn take(&self, exchange: &Exchange<'_>) -> Option<PeerLink> {
        let mut kept = self.kept.lock();
        loop {
            let at = kept.iter().rposition(|kept| kept.is_for(exchange))?;
            let link = kept.remove(at).link;
            if link.is_quiet() && set_timeouts(&link, exchange.timeout).is_ok() {
                return Some(link);
            }
        }
    }

    fn keep(&self, exchange: &Exchange<'_>, link: PeerLink) {
        let mut kept = self.kept.lock();
        if kept.len() == KEPT_MAX {
            kept.remove(0);
        }
        kept.push(Kept {
            address: exchange.address.to_owned(),
            credentials: exchange.credentials.iter().map(|word| word.to_vec()).collect(),
            tls: exchange.tls,
            link,
            used: Instant::now(),
        });
    }
}

impl Kept {
    fn is_for(&self, exchange: &Exchange<'_>) -> bool {
        (self.tls, &*self.address) == (exchange.tls, exchange.address)
            && self.credentials.iter().eq(exchange.credentials)
    }
}

fn set_timeouts(link: &PeerLink, timeout: Duration) -> std::io::Result<()> {
    link.set_read_timeout(Some(timeout)).and_then(|()| link.set_write_timeout(Some(timeout)))
}

/// Connects to `address`, a host and a port: by TLS, if there is a configuration for it.
///
/// # Errors
///
/// The address does not resolve, does not accept, or the handshake fails.
pub fn connect(
    address: &str,
    timeout: Duration,
    tls: Option<Arc<ClientConfig>>,
) -> Result<PeerLink, ExchangeError> {
    let connecting = |_| ExchangeError::Connecting;
    let socket = dial(address.to_socket_addrs().map_err(connecting)?, timeout)?;
    socket.set_nodelay(true).map_err(connecting)?;
    let link = match tls {
        None => PeerLink::plain(socket),
        Some(config) => {
            let host = address.rsplit_once(':').map_or("", |(host, _)| host);
            socket.set_read_timeout(Some(timeout)).map_err(connecting)?;
            PeerLink::secure(socket, config, host, timeout, || true).map_err(connecting)?
        }
    };
    set_timeouts(&link, timeout).map_err(connecting)?;
    Ok(link)
}

/// Connects to the first address that accepts.
fn dial(addresses: impl Iterator<Item = SocketAddr>, timeout: Duration) -> Result<TcpStream, ExchangeError> {
    let mut error = ExchangeError::Connecting;
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(socket) => return Ok(socket),
            // Valkey finds out that no server listens there when it writes, and says so.
            Err(refused) if refused.kind() == ErrorKind::ConnectionRefused => error = ExchangeError::Writing,
            Err(_) => error = ExchangeError::Connecting,
        }
    }
    Err(error)
}

/// What an exchange fails with.
struct Failure {
    error: ExchangeError,
    /// The connection has ended, in time, without a byte of a reply.
    ended_unanswered: bool,
}

fn talk(link: &PeerLink, exchange: &Exchange<'_>) -> Result<Vec<String>, Failure> {
    // Replies are read meanwhile: a target that cannot get rid of them would stop reading.
    thread::scope(|scope| {
        let reader = scope.spawn(|| read_lines(link, exchange.replies));
        let written = link.write_all(exchange.request);
        if written.is_err() {
            link.shutdown();
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

fn read_lines(link: &PeerLink, count: usize) -> Result<Vec<String>, Failure> {
    let mut reader = BufReader::new(link);
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
        link.shutdown();
    }
    Ok(lines)
}
