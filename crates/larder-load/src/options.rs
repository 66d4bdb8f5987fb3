//! What is to be loaded, and what came of it.

use crate::mapping::{Kind, Mapping};
use crate::reader::Layout;
use crate::target::Target;
use std::path::PathBuf;

/// Where keys come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// An append-only file: the folder of its manifest, the manifest, or a single file.
    Aof,
    /// A Parquet file, and what becomes of its rows.
    Parquet(Mapping),
    /// An RDB file.
    Rdb,
    /// A file of commands.
    Resp,
    /// A server; the databases of it, None for all.
    Server(Target, Option<u32>),
    /// Rows, and what becomes of them.
    Table(Layout, Mapping),
}

impl Source {
    /// What the number of a place in it is.
    pub fn place_unit(&self) -> &'static str {
        match self {
            Source::Aof | Source::Rdb | Source::Resp => "offset",
            Source::Parquet(_) => "row",
            Source::Server(..) => "key",
            Source::Table(..) => "line",
        }
    }

    /// What it consists of.
    pub fn row_unit(&self) -> &'static str {
        match self {
            Source::Aof | Source::Resp => "commands",
            Source::Rdb | Source::Server(..) => "keys",
            Source::Parquet(_) | Source::Table(..) => "rows",
        }
    }

    /// Whether of the elements of a key only the last one counts.
    pub fn replaces(&self) -> bool {
        let mapping = match self {
            Source::Parquet(mapping) | Source::Table(_, mapping) => mapping,
            _ => return false,
        };
        matches!(mapping.kind, Kind::String(_))
    }
}

/// What is to be loaded, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file; None for the standard input, and for a server.
    pub input: Option<PathBuf>,
    /// What it is.
    pub source: Source,
    /// Who is loaded.
    pub target: Target,
    /// The database that was asked for: of tables the one that they are loaded into, of commands the one in
    /// which they begin, of an RDB file the only one that is loaded, of a server the one that its named
    /// database is loaded into.
    pub db: Option<u32>,
    /// Threads that build and send, each with connections of its own.
    pub workers: usize,
    /// Memory for groups, in bytes; what is more goes to disk.
    pub budget_bytes: usize,
    /// The rows of a key follow each other: a key is sent when another one comes.
    pub adjacent: bool,
    /// Keys that are there are replaced; else they stay, and are rejects.
    pub replace: bool,
    /// Nothing is sent.
    pub dry_run: bool,
    /// Where rejects are written.
    pub rejects: Option<PathBuf>,
    /// Where is noted what is loaded.
    pub state: Option<PathBuf>,
    /// Where groups go that do not fit into memory.
    pub spill: PathBuf,
    /// No progress is shown.
    pub quiet: bool,
}

impl Options {
    /// The name of the input, for errors.
    pub fn name(&self) -> String {
        self.input.as_ref().map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
    }
}

/// What a load has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The server, by its own words.
    pub target: String,
    /// Rows, commands or keys that were read and are none of the rejects of reading.
    pub rows: u64,
    /// What these are.
    pub row_unit: &'static str,
    /// Keys that are loaded, or would be.
    pub keys: u64,
    /// Elements in them.
    pub elements: u64,
    /// Bytes of values and payloads.
    pub payload_bytes: u64,
    /// Memory that they take in Larder, about. Only a dry run counts collections.
    pub memory_bytes: u64,
    /// Commands that were sent as they are, or would be.
    pub commands: u64,
    /// Keys whose time had passed.
    pub expired: u64,
    /// Rows, commands and keys that were not loaded.
    pub rejected: u64,
    /// Reasons of the first of them.
    pub first_rejects: Vec<String>,
    /// What else is to be said: what was left out, and why.
    pub notes: Vec<String>,
    /// Batches that an earlier load had done.
    pub skipped_batches: u64,
    /// Whether groups went to disk.
    pub spilled: bool,
    /// Why the load ended early, if it did.
    pub failure: Option<String>,
    /// How long it took.
    pub seconds: f64,
}
