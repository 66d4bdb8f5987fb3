//! Why files could not be written or read. The texts are those of the log.

use larder_engine::ApplyError;
use larder_resp::ProtocolError;
use std::fmt;
use std::io;

/// Why a snapshot, or a base of the append-only file, was not written.
#[derive(Debug)]
pub enum WriteError {
    /// It was not wanted any more.
    Cancelled,
    /// Fields of hashes expire, which the version that is wanted has no way to say.
    FieldExpiry,
    /// The disk, or the system, refuses.
    Io(io::Error),
    /// The manifest of the append-only file cannot be read.
    Manifest(ManifestError),
    /// One of the threads that write has panicked.
    Panicked,
    /// A script runs for too long: there is no instant that could be shown.
    ScriptBusy,
    /// Another snapshot is being read; there is one at a time.
    SnapshotTaken,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WriteError::Cancelled => "cancelled",
            WriteError::FieldExpiry => {
                "the data has hash fields that expire, which the replica cannot read: upgrade it to Valkey 9 or Larder"
            }
            WriteError::Io(error) => return error.fmt(f),
            WriteError::Manifest(error) => return error.fmt(f),
            WriteError::Panicked => "a thread that saves the data panicked",
            WriteError::ScriptBusy => "a script has been running for too long",
            WriteError::SnapshotTaken => "another snapshot is in progress",
        })
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}

impl From<ManifestError> for WriteError {
    fn from(error: ManifestError) -> Self {
        WriteError::Manifest(error)
    }
}

/// Why the server, or the store, does not save before it ends, and goes on.
#[derive(Debug)]
pub enum CloseError {
    /// The append-only file has no base yet: the next start would find a log without data.
    InitialLog,
    /// The data could not be saved.
    Unsaved(WriteError),
}

impl fmt::Display for CloseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CloseError::InitialLog => "Writing initial AOF",
            CloseError::Unsaved(_) => "Error trying to save the DB",
        })
    }
}

impl std::error::Error for CloseError {}

/// Why data was not loaded. Files are named as the log names them.
#[derive(Debug)]
pub enum LoadError {
    /// An append-only file of the time before there were manifests cannot be moved.
    Adopt(String, io::Error),
    /// The log cannot be kept as the configuration wants it after loading.
    Log(ApplyError),
    /// The manifest of the append-only file cannot be read.
    Manifest(ManifestError),
    /// A file that the manifest lists cannot be opened.
    Missing(String, io::Error),
    /// A file that the manifest lists cannot be loaded.
    Part(PartError),
    /// The RDB file is damaged.
    Rdb {
        /// The file.
        file: String,
        /// How far it had been read: the damage is there, or in the keys just before.
        at: u64,
        /// What is wrong with it.
        error: larder_rdb::Error,
    },
    /// The RDB file cannot be opened.
    RdbFile(String, io::Error),
    /// The snapshot of the primary is damaged, or of a kind that is not known.
    Snapshot(larder_rdb::Error),
    /// The server ends.
    Stopping,
    /// A script runs for too long: the keyspace cannot be emptied.
    ScriptBusy,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Adopt(file, error) => {
                write!(f, "Fatal error: can't upgrade the append only file {file}: {error}")
            }
            LoadError::Log(error) => error.fmt(f),
            LoadError::Manifest(error) => error.fmt(f),
            LoadError::Missing(file, error) => cannot_open(f, file, error),
            LoadError::Part(error) => {
                write!(f, "{error}. Fatal error loading the DB, check server logs. Exiting.")
            }
            LoadError::Rdb { file, error, .. } => {
                write!(f, "Fatal error loading the DB {file}: {error}. Exiting.")
            }
            LoadError::RdbFile(_, error) => write!(f, "Fatal error loading the DB: {error}. Exiting."),
            LoadError::Snapshot(error) => {
                write!(f, "Failed trying to load the PRIMARY synchronization DB: {error}")
            }
            LoadError::Stopping => f.write_str("the server is shutting down"),
            LoadError::ScriptBusy => f.write_str("a script has been running for too long"),
        }
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    /// The file that is not loaded, where it is one, and the byte at which it is wrong, where that is known.
    pub fn place(&self) -> (Option<&str>, Option<u64>) {
        match self {
            LoadError::Adopt(file, _) | LoadError::Missing(file, _) | LoadError::RdbFile(file, _) => {
                (Some(file), None)
            }
            LoadError::Rdb { file, at, .. } => (Some(file), Some(*at)),
            LoadError::Manifest(error) => (Some(error.file()), None),
            LoadError::Part(error) => error.place(),
            LoadError::Log(_) | LoadError::Snapshot(_) | LoadError::Stopping | LoadError::ScriptBusy => {
                (None, None)
            }
        }
    }

    /// What is wrong, without the place, and without advice on how to run a server.
    pub fn reason(&self) -> String {
        match self {
            LoadError::Adopt(_, error) | LoadError::Missing(_, error) | LoadError::RdbFile(_, error) => {
                error.to_string()
            }
            LoadError::Rdb { error, .. } | LoadError::Snapshot(error) => error.to_string(),
            LoadError::Manifest(error) => error.reason(),
            LoadError::Part(error) => error.reason(),
            LoadError::Log(error) => error.to_string(),
            LoadError::Stopping | LoadError::ScriptBusy => self.to_string(),
        }
    }
}

impl From<ManifestError> for LoadError {
    fn from(error: ManifestError) -> Self {
        LoadError::Manifest(error)
    }
}

/// Why a file of the append-only file, which comes first, was not loaded.
#[derive(Debug)]
pub enum PartError {
    /// A command that cannot be executed.
    Command {
        /// The file.
        file: String,
        /// Where the command begins.
        at: u64,
        /// What is wrong with it.
        error: CommandError,
    },
    /// It cannot be opened.
    Open(String, io::Error),
    /// The RDB file at its beginning is damaged.
    Preamble {
        /// The file.
        file: String,
        /// How far it had been read: the damage is there, or in the keys just before.
        at: u64,
        /// What is wrong with it.
        error: larder_rdb::Error,
    },
    /// It cannot be read to its end.
    Read(String, io::Error),
    /// It cannot be cut off after its last whole command.
    Truncate(String, io::Error),
    /// It ends within a command or a transaction; the last whole one ends here.
    UnexpectedEnd(String, u64),
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartError::Command { file, at, error } => write!(
                f,
                "Bad file format reading the append only file {file} at {at}: {error}. Make a backup of your AOF file, \
                 then use ./redis-check-aof --fix <filename.manifest>"
            ),
            PartError::Open(file, error) => cannot_open(f, file, error),
            PartError::Preamble { file, error, .. } => {
                write!(f, "Error reading the RDB preamble of the AOF file {file}: {error}")
            }
            PartError::Read(file, error) => {
                write!(f, "Unrecoverable error reading the append only file {file}: {error}")
            }
            PartError::Truncate(file, error) => write!(f, "Error truncating the AOF file {file}: {error}"),
            PartError::UnexpectedEnd(file, good) => write!(
                f,
                "Unexpected end of file reading the append only file {file} at {good}. You can: 1) Make a backup of your \
                 AOF file, then use ./redis-check-aof --fix <filename.manifest>. 2) Alternatively you can set the \
                 'aof-load-truncated' configuration option to yes and restart the server"
            ),
        }
    }
}

impl std::error::Error for PartError {}

impl PartError {
    fn place(&self) -> (Option<&str>, Option<u64>) {
        let (file, at) = match self {
            PartError::Command { file, at, .. } | PartError::Preamble { file, at, .. } => (file, Some(*at)),
            PartError::UnexpectedEnd(file, good) => (file, Some(*good)),
            PartError::Open(file, _) | PartError::Read(file, _) | PartError::Truncate(file, _) => {
                (file, None)
            }
        };
        (Some(file), at)
    }

    fn reason(&self) -> String {
        match self {
            PartError::Command { error, .. } => error.to_string(),
            PartError::Preamble { error, .. } => error.to_string(),
            PartError::UnexpectedEnd(..) => "the file ends within a command or a transaction".to_owned(),
            PartError::Open(_, error) | PartError::Read(_, error) | PartError::Truncate(_, error) => {
                error.to_string()
            }
        }
    }
}

fn cannot_open(f: &mut fmt::Formatter<'_>, file: &str, error: &io::Error) -> fmt::Result {
    write!(f, "Fatal error: can't open the append log file {file} for reading: {error}")
}

/// What is wrong with a command in a file.
#[derive(Debug)]
pub enum CommandError {
    /// Something else begins here.
    NotACommand,
    /// The server does not know it, or it failed, when that is to be the end: what the engine says.
    Refused(String),
    /// It is no command of the protocol.
    Syntax(ProtocolError),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::NotACommand => f.write_str("not a command"),
            CommandError::Refused(text) => f.write_str(text),
            CommandError::Syntax(error) => f.write_str(&error.text()),
        }
    }
}

impl std::error::Error for CommandError {}

/// Why the manifest of the append-only file, whose path comes first, was not read.
#[derive(Debug)]
pub enum ManifestError {
    /// What it says makes no sense.
    Format(String, ManifestFormatError),
    /// It cannot be opened.
    Open(String, io::Error),
    /// It cannot be read.
    Read(String, io::Error),
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ManifestError::Format(path, error) => write!(f, "{error} (in the AOF manifest file {path})"),
            ManifestError::Open(path, error) => {
                write!(f, "Fatal error: can't open the AOF manifest file {path}: {error}")
            }
            ManifestError::Read(path, error) => {
                write!(f, "Fatal error: can't read the AOF manifest file {path}: {error}")
            }
        }
    }
}

impl std::error::Error for ManifestError {}

impl ManifestError {
    fn file(&self) -> &str {
        match self {
            ManifestError::Format(path, _) | ManifestError::Open(path, _) | ManifestError::Read(path, _) => {
                path
            }
        }
    }

    fn reason(&self) -> String {
        match self {
            ManifestError::Format(_, error) => error.to_string(),
            ManifestError::Open(_, error) | ManifestError::Read(_, error) => error.to_string(),
        }
    }
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestFormatError {
    /// It is empty.
    Empty,
    /// This line, for this reason.
    Line(String, ManifestLineError),
    /// A line that is too long, or does not end.
    LineLength,
}

impl fmt::Display for ManifestFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ManifestFormatError::Empty => f.write_str("Found an empty AOF manifest"),
            ManifestFormatError::Line(line, error) => write!(f, "{error}: '{line}'"),
            ManifestFormatError::LineLength => {
                f.write_str("The AOF manifest file contains a line that is too long or has no end")
            }
        }
    }
}

/// What is wrong with a line of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestLineError {
    /// A second base.
    DuplicateBase,
    /// Words without a pair, or something is missing.
    Format,
    /// A path, or nothing, where a file's name belongs.
    Path,
    /// A quote that nothing ends.
    Quotes,
    /// A number that is not greater than the one before.
    Sequence,
    /// A type of file that there is not.
    Type,
}

impl fmt::Display for ManifestLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ManifestLineError::DuplicateBase => "Found duplicate base file information",
            ManifestLineError::Format => "Invalid AOF manifest file format",
            ManifestLineError::Path => "File can't be a path, just a filename",
            ManifestLineError::Quotes => "Unbalanced quotes",
            ManifestLineError::Sequence => "Found a non-monotonic sequence number",
            ManifestLineError::Type => "Unknown AOF file type",
        })
    }
}
