//! What can be wrong with a file or a payload.

use std::fmt;
use std::io;

/// Why reading failed.
#[derive(Debug)]
pub enum Error {
    /// The checksum at the end is not that of the bytes: they were changed on the way.
    Checksum,
    /// The bytes are not what their encoding promises, for this reason.
    Damaged(&'static str),
    /// The bytes could not be read.
    Io(io::Error),
    /// Values of modules, which nobody but the module can read.
    Module(String),
    /// Neither `REDIS` nor `VALKEY` at the start.
    NotRdb,
    /// A type or opcode that no version up to ours has.
    UnknownType(u8),
    /// Written by a version that is too new, or a number that was never a version.
    Version(u32),
}

/// The result of reading.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Checksum => write!(f, "Wrong RDB checksum"),
            Error::Damaged(what) => write!(f, "Damaged data: {what}"),
            Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                write!(f, "Unexpected end of data")
            }
            Error::Io(error) => write!(f, "{error}"),
            Error::Module(name) => write!(f, "Data of the module '{name}', which is not supported"),
            Error::NotRdb => write!(f, "Wrong signature trying to load DB from file"),
            Error::UnknownType(number) => write!(f, "Unknown RDB type or opcode {number}"),
            Error::Version(version) => write!(f, "Can't handle RDB format version {version}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

impl From<larder_packed::listpack::Damaged> for Error {
    fn from(_: larder_packed::listpack::Damaged) -> Self {
        Error::Damaged("not a listpack")
    }
}

/// The end came too early.
pub(crate) fn truncated() -> Error {
    Error::Io(io::ErrorKind::UnexpectedEof.into())
}
