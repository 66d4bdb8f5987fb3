//! What can go wrong.

use crate::replica::url::UrlError;
use crate::reply::Reply;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something was not done.
#[derive(Debug)]
pub enum Error {
    /// The store was closed.
    Closed,
    /// The command was refused or failed: the text of the error reply, which begins with a code in capitals.
    Command(String),
    /// The connection to the primary broke, or there is none. A command that was sent may have been executed.
    Connection(io::Error),
    /// The directory of a store cannot be made, opened or locked.
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The write was executed, but cannot be waited for: the primary has not said where its stream ends. Done again it would be executed twice.
    Executed {
        /// What the primary has answered to the write.
        reply: Reply,
        /// Why it cannot be waited for: the question was refused, as a user without the right for `INFO` is; or the link broke, or something else
        /// than an answer came.
        reason: Box<Error>,
    },
    /// The directory is open already: another store has it, in this program or another one, or a server.
    InUse(PathBuf),
    /// A file of the directory is damaged, or cannot be read. Nothing of it is there.
    Load {
        /// The file; the directory, if it is none of its files.
        file: PathBuf,
        /// The byte at which it is wrong, where that is known. Of an RDB file: how far it had been read; the damage is there, or in the keys just
        /// before.
        at: Option<u64>,
        /// What is wrong.
        reason: String,
    },
    /// The write was executed, but is not on the disk, as `appendfsync always` had promised: the append-only file has failed, for this reason. The
    /// store takes no more writes until it is opened again.
    NotKept(String),
    /// An option is unknown, has a wrong value, or is about something that is not there in a library.
    Option {
        /// Its name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// What came is no reply of the protocol.
    Protocol,
    /// The command gives a reply of another form than this method returns.
    Form,
    /// The system starts no further thread, or one of the store has ended.
    Thread(io::Error),
    /// It did not come about in time. A write has been executed nevertheless.
    Timeout(&'static str),
    /// The address of the primary cannot be understood.
    Url(UrlError),
    /// The files of the store cannot be written, for this reason.
    Write(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Closed => f.write_str("the store is closed"),
            Error::Command(text) => f.write_str(text),
            Error::Connection(error) => write!(f, "connection to the primary: {error}"),
            Error::Directory { path, error } => write!(f, "directory {}: {error}", path.display()),
            Error::Executed { reason, .. } => {
                write!(f, "the write was executed, but cannot be waited for: {reason}")
            }
            Error::InUse(path) => {
                write!(f, "directory {}: another store or a server has it open", path.display())
            }
            Error::Load { file, at: Some(at), reason } => {
                write!(f, "{} cannot be loaded: at byte {at}: {reason}", file.display())
            }
            Error::Load { file, at: None, reason } => {
                write!(f, "{} cannot be loaded: {reason}", file.display())
            }
            Error::NotKept(reason) => write!(f, "the write was executed but is not on disk: {reason}"),
            Error::Option { name, reason } => write!(f, "option '{name}': {reason}"),
            Error::Protocol => f.write_str("invalid protocol reply"),
            Error::Form => f.write_str("the reply has a type that this call does not return"),
            Error::Thread(error) => write!(f, "failed to start a thread: {error}"),
            Error::Timeout(what) => write!(f, "timed out: {what}"),
            Error::Url(error) => error.fmt(f),
            Error::Write(reason) => write!(f, "cannot write the files of the store: {reason}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Directory { error, .. } => Some(error),
            Error::Executed { reason, .. } => Some(reason.as_ref()),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Error::Protocol,
            _ => Error::Connection(error),
        }
    }
}

impl From<UrlError> for Error {
    fn from(error: UrlError) -> Self {
        Error::Url(error)
    }
}
