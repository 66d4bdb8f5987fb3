//! Why a load ends early.

use std::fmt;
use std::io;

/// What ends a load.
#[derive(Debug)]
pub enum Error {
    /// The command line or the mapping says something that cannot be done, or the state is that of another
    /// load.
    Usage(String),
    /// A file cannot be read or written, or is not what it should be.
    File(String),
    /// The target, or the server that is read, cannot be reached, or refuses what it is sent.
    Target(String),
}

/// The result of what a load consists of.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of input or output on a file.
    pub fn file(name: impl fmt::Display, error: &io::Error) -> Self {
        Error::File(format!("{name}: {error}"))
    }

    /// The exit code of the program: 2 for usage, 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Error::Usage(_)) { 2 } else { 1 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text) | Error::File(text) | Error::Target(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
