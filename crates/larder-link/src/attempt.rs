//! What all steps of a link share: whose it is, whether it may go on, and why it ends.

use larder_engine::config::Config;
use larder_engine::{Engine, LinkState, LogLevel, Patterns};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

/// How long a read waits before the thread looks around.
pub const LOOK: Duration = Duration::from_millis(50);

/// Why a link ended.
#[derive(Debug)]
pub enum LinkError {
    /// The role, or the primary, has changed; or the server ends.
    Over,
    /// A client has asked for it (CLIENT KILL).
    Killed,
    /// The connection broke, or nothing came for `repl-timeout`.
    Io(io::Error),
    /// The primary refuses, or says what it must not.
    Refused(String),
    /// The snapshot could not be loaded.
    Load(String),
    /// A command cannot be executed without keys that this replica does not hold.
    Unfit,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Killed => f.write_str("a client killed the connection"),
            LinkError::Unfit => f.write_str("a command needs keys that this replica does not hold"),
            LinkError::Over => f.write_str("the role has changed"),
            LinkError::Io(error) => error.fmt(f),
            LinkError::Refused(reason) | LinkError::Load(reason) => f.write_str(reason),
        }
    }
}

impl LinkError {
    /// What came is not compressed as agreed.
    pub fn damaged_message() -> LinkError {
        LinkError::Refused("The primary sent an invalid compressed message".to_owned())
    }
}

impl std::error::Error for LinkError {}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        LinkError::Io(error)
    }
}

/// A connection to the primary, plain or TLS. Threads share it by reference: one reads while another one writes.
pub trait Wire: Send + Sync {
    /// Waits until there is something to read: for as long as the read timeout says, after which it is an error. Where nobody waits for what
    /// is read, `read` alone does.
    fn wait(&self) -> io::Result<()> {
        Ok(())
    }
    /// Reads what has come, or waits for it: for as long as the read timeout says. `Ok(0)` is the end.
    fn read(&self, buf: &mut [u8]) -> io::Result<usize>;
    /// Sends everything, or fails.
    fn write_all(&self, bytes: &[u8]) -> io::Result<()>;
    /// The address of the primary.
    fn peer_addr(&self) -> io::Result<SocketAddr>;
    /// The address of this end.
    fn local_addr(&self) -> io::Result<SocketAddr>;
    /// The number of the socket.
    fn fd(&self) -> RawFd;
}

/// How a link has come to follow the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronized {
    /// By a snapshot.
    Fully,
    /// It goes on where the one before ended.
    Partially,
}

/// What a link asks of the process that it is a part of.
pub trait Process: Send + Sync {
    /// Whether the process, or that part of it, is ending.
    fn is_stopping(&self) -> bool;

    /// Writes to the log.
    fn log(&self, level: LogLevel, text: &str);

    /// Makes a socket that is connected to `host` what the link reads and writes: talks TLS on it, where that is configured. That is over
    /// within `timeout`, or when `goes_on` says that it is not to go on. Timeouts of reading and writing are set.
    fn secure(
        &self,
        socket: TcpStream,
        host: &str,
        timeout: Duration,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Wire>, LinkError>;

    /// The keys that are held; `None` for all.
    fn patterns(&self) -> Option<Arc<Patterns>> {
        None
    }

    /// The link follows the stream from now on.
    fn synchronized(&self, _how: Synchronized) {}

    /// A piece of the stream has been applied.
    fn applied(&self) {}

    /// The link has ended.
    fn ended(&self, _error: &LinkError) {}
}

/// The link.
pub struct Link {
    pub(crate) process: Arc<dyn Process>,
    pub(crate) engine: Arc<Engine>,
    /// See `State::epoch`.
    pub(crate) epoch: u64,
}

impl Link {
    /// The engine that it fills.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The options.
    pub fn config(&self) -> &Config {
        self.engine.config()
    }

    /// Writes to the log.
    pub fn notice(&self, text: &str) {
        self.process.log(LogLevel::Notice, text);
    }

    /// Whether the link may go on.
    ///
    /// # Errors
    /// It is over.
    pub fn check(&self) -> Result<(), LinkError> {
        let is_over = self.process.is_stopping() || self.engine().replication().epoch() != self.epoch;
        if is_over { Err(LinkError::Over) } else { Ok(()) }
    }

    /// `repl-timeout`.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.config().number("repl-timeout").max(1) as u64)
    }

    pub(crate) fn set_state(&self, link: LinkState) {
        self.engine().replication().update_upstream(self.epoch, |upstream| upstream.set_link(link));
        self.engine().read_role();
    }
}

/// Whether a read only waited for as long as it was told.
pub fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Writes empty lines to the primary, once a second, while something else takes long: a sign of life.
pub fn with_signs_of_life<R>(socket: &dyn Wire, work: impl FnOnce() -> R) -> R {
    let (done, waits) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while waits.recv_timeout(Duration::from_secs(1))
                == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                if socket.write_all(b"\n").is_err() {
                    return;
                }
            }
        });
        let result = work();
        drop(done);
        result
    })
}
