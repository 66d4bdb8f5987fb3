//! What the process could not do for the engine. The texts are those that clients see.

use std::fmt;
use std::io;

/// What a copy of the data that a script is debugged on does not do.
const ON_COPY: &str = "not while a script is debugged";

/// An error of the system. Shown is the system's text, without the number that Rust appends.
#[derive(Debug)]
pub struct SystemError(pub io::Error);

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&SystemError::text_of(&self.0))
    }
}

impl std::error::Error for SystemError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl From<io::Error> for SystemError {
    fn from(error: io::Error) -> Self {
        SystemError(error)
    }
}

impl SystemError {
    /// The system's own words for an error, without Rust's number after them.
    pub fn text_of(error: &io::Error) -> String {
        let text = error.to_string();
        text.split(" (os error").next().unwrap_or_default().to_owned()
    }

    /// What a copy of the data answers that a script is debugged on.
    pub(crate) fn on_copy() -> Self {
        SystemError(io::Error::other(ON_COPY))
    }

    /// What a process without files answers.
    pub(crate) fn no_files() -> Self {
        SystemError(io::Error::new(io::ErrorKind::Unsupported, "there are no files"))
    }
}

/// Why the process does not put an option into effect.
#[derive(Debug)]
pub enum ApplyError {
    /// The addresses cannot be listened on.
    Addresses,
    /// The directory of the append-only file, or its manifest: the log says what is wrong with them.
    AppendOnlyFile,
    /// No thread can be started that writes the append-only file.
    AppendOnlyThread(io::Error),
    /// The system has no room for that many clients, but for this many.
    Clients(u64),
    /// It is a copy of the data, which has no process of its own.
    OnCopy,
    /// The kernel does not take the score.
    OomScore,
    /// The port cannot be listened on.
    Port,
    /// The system refuses.
    System(SystemError),
    /// The options of TLS do not make a whole: the log says what is wrong with them.
    Tls,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ApplyError::Addresses => "Failed to bind to specified addresses.",
            ApplyError::AppendOnlyFile => "Unable to turn on AOF. Check server logs.",
            ApplyError::AppendOnlyThread(error) => return error.fmt(f),
            ApplyError::Clients(fits) => {
                return write!(
                    f,
                    "The operating system is not able to handle the specified number of clients, try with {fits}"
                );
            }
            ApplyError::OnCopy => ON_COPY,
            ApplyError::OomScore => "Failed to apply new oom_score_adj configuration, check server logs.",
            ApplyError::Port => "Unable to listen on this port. Check server logs.",
            ApplyError::System(error) => return error.fmt(f),
            ApplyError::Tls => "Unable to update TLS configuration. Check server logs.",
        })
    }
}

impl std::error::Error for ApplyError {}

impl From<io::Error> for ApplyError {
    fn from(error: io::Error) -> Self {
        ApplyError::System(SystemError(error))
    }
}

/// Why the configuration file was not rewritten.
#[derive(Debug)]
pub enum RewriteError {
    /// The server was started without one.
    NoFile,
    /// It is a copy of the data, which has no files.
    OnCopy,
    /// The system refuses.
    System(SystemError),
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RewriteError::NoFile => f.write_str("The server is running without a config file"),
            RewriteError::OnCopy => f.write_str(ON_COPY),
            RewriteError::System(error) => write!(f, "Rewriting config file: {error}"),
        }
    }
}

impl std::error::Error for RewriteError {}

/// Why the data was not loaded again.
#[derive(Debug, PartialEq, Eq)]
pub enum ReloadError {
    /// The append-only file could not be loaded; the log says why.
    AppendOnlyFile,
    /// It is a copy of the data, which has no files.
    OnCopy,
    /// A snapshot is being written.
    Saving,
    /// The server ends. There is no text.
    Stopping,
    /// The data could not be saved before; the log says why. There is no text, as SAVE has none.
    Unsaved,
    /// The RDB file could not be loaded; the log says why.
    RdbFile,
}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReloadError::AppendOnlyFile => "Error trying to load the AOF files, check server logs.",
            ReloadError::OnCopy => ON_COPY,
            ReloadError::Saving => "Background save already in progress",
            ReloadError::Stopping | ReloadError::Unsaved => "",
            ReloadError::RdbFile => "Error trying to load the RDB dump, check server logs.",
        })
    }
}

impl std::error::Error for ReloadError {}

/// What could not be done with another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeError {
    /// To make out its address, or to set the connection up.
    Connecting,
    /// To read its replies.
    Reading,
    /// To reach it, or to send it the commands.
    Writing,
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExchangeError::Connecting => "connecting to the client",
            ExchangeError::Reading => "reading from target instance",
            ExchangeError::Writing => "writing to target instance",
        })
    }
}

impl std::error::Error for ExchangeError {}

/// Something failed, and the log says why. Clients are told no more than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged;

impl fmt::Display for Logged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log says why")
    }
}

impl std::error::Error for Logged {}
