//! What can go wrong.

use crate::replica::url::UrlError;
use std::fmt;
use std::io;

/// Of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something was not done.
#[derive(Debug)]
pub enum Error {
    /// The command was refused or failed: the text of the error reply, which begins with a code in capitals.
    Command(String),
    /// The connection to the primary broke, or there is none. A command that was sent may have been executed.
    Connection(io::Error),
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
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Command(text) => f.write_str(text),
            Error::Connection(error) => write!(f, "connection to the primary: {error}"),
            Error::Option { name, reason } => write!(f, "option '{name}': {reason}"),
            Error::Protocol => f.write_str("what came is no reply of the protocol"),
            Error::Form => f.write_str("the reply has another form than this call returns"),
            Error::Thread(error) => write!(f, "no thread can be started: {error}"),
            Error::Timeout(what) => write!(f, "not in time: {what}"),
            Error::Url(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

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
