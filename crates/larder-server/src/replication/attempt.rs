//! What all steps of a link share: whose it is, whether it may go on, and why it ends.

use crate::persist::Persist;
use crate::shared::Shared;
use crate::tls::PeerLink;
use larder_engine::{Engine, LinkState, wall_ms, wall_s};
use std::fmt;
use std::io;
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
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Killed => f.write_str("a client has closed it"),
            LinkError::Over => f.write_str("the role has changed"),
            LinkError::Io(error) => error.fmt(f),
            LinkError::Refused(reason) | LinkError::Load(reason) => f.write_str(reason),
        }
    }
}

impl LinkError {
    /// What came is not compressed as agreed.
    pub fn damaged_message() -> LinkError {
        LinkError::Refused("The primary sends what is no compressed message".to_owned())
    }
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        LinkError::Io(error)
    }
}

/// The link.
pub struct Link {
    pub(super) shared: Arc<Shared>,
    pub(super) persist: Arc<Persist>,
    /// See `State::epoch`.
    pub(super) epoch: u64,
}

impl Link {
    pub(super) fn engine(&self) -> &Arc<Engine> {
        self.persist.engine()
    }

    /// Whether the link may go on.
    pub(super) fn check(&self) -> Result<(), LinkError> {
        let is_over = self.shared.is_stopping() || self.engine().replication().epoch() != self.epoch;
        if is_over { Err(LinkError::Over) } else { Ok(()) }
    }

    /// `repl-timeout`.
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_secs(self.shared.config.number("repl-timeout").max(1) as u64)
    }

    pub(super) fn set_state(&self, link: LinkState) {
        self.engine().replication().update_upstream(self.epoch, |upstream| {
            if upstream.link == LinkState::Connected && link != LinkState::Connected {
                upstream.down_since_s = wall_s();
            }
            upstream.link = link;
            upstream.last_io_ms = wall_ms();
        });
        self.engine().read_role();
    }
}

/// Whether a read only waited for as long as it was told.
pub fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Writes empty lines to the primary, once a second, while something else takes long: a sign of life.
pub fn with_signs_of_life<R>(socket: &PeerLink, work: impl FnOnce() -> R) -> R {
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
