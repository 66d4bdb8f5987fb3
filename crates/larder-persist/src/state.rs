//! What saving and loading share: the options of a file, the state, the log.

use crate::aof::file::AppendFile;
use crate::pace::Pace;
use crate::process::Process;
use crate::temporary::Temporaries;
use larder_engine::config::Config;
use larder_engine::{Engine, Filter, LogLevel, Snapshot};
use larder_rdb::Version;
use parking_lot::{Mutex, MutexGuard};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Acquire;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

/// A snapshot that failed is not tried again by itself for this many seconds.
pub(super) const RETRY_S: u64 = 5;

/// What an RDB file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be kept: what is not wanted any more before it is done is given up.
    Keep,
    /// The base of an append-only file.
    LogBase,
    /// For a replica.
    Sync,
}

/// How RDB files are written.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The version, unless something asks for a newer one.
    pub version: Version,
    /// Whether strings may be compressed.
    pub compress: bool,
    /// Whether the file ends with a checksum.
    pub checksum: bool,
    /// Whether the file is sent to the disk while it is written.
    pub incremental_sync: bool,
    /// Whether keys say how long, or how often, they were used.
    pub notes_usage: bool,
    /// How many threads write it.
    pub threads: usize,
    /// Whether somebody waits for it.
    pub urgent: bool,
    /// What it is for.
    pub purpose: Purpose,
    /// What it has.
    pub content: Filter,
    /// Whether collections go as the blocks that they lie in.
    pub blocks: bool,
    /// A pause after each key, for tests.
    pub key_delay: Duration,
}

impl Options {
    /// The pace of a thread that writes.
    pub fn pace<'e>(&self, engine: &'e Engine) -> Pace<'e> {
        if self.urgent { Pace::hurry() } else { Pace::of(engine) }
    }
}

/// Saves, loads, and keeps the append-only file.
pub struct Persist {
    pub(super) process: Arc<dyn Process>,
    pub(super) engine: Arc<Engine>,
    /// Where the files are; empty for the working directory, whatever that is.
    pub(super) dir: PathBuf,
    /// `None` at the end.
    pub(super) jobs: Mutex<Option<Sender<Job>>>,
    pub(super) threads: Mutex<Vec<JoinHandle<()>>>,
    /// Held by the thread that reads a snapshot: there is one at a time.
    pub(super) snapshot_turn: Mutex<()>,
    pub(super) log: AppendFile,
    /// Files that are not whole yet.
    pub(super) temporaries: Temporaries,
    /// The data has been loaded once: there is something to keep.
    pub(super) loaded: AtomicBool,
    /// `appendfsync always` was not kept, and the process goes on: the log is not written any more.
    pub(super) lost: AtomicBool,
}

/// What the thread that writes snapshots is to do.
pub(super) enum Job {
    /// Write this snapshot, or one made then.
    Save(Option<Snapshot>),
    /// Rewrite the append-only file.
    Rewrite,
    /// `appendonly` has become `no`.
    StopLog,
}

impl Persist {
    /// Files that are not whole yet.
    pub fn temporaries(&self) -> &Temporaries {
        &self.temporaries
    }

    /// The engine whose data it keeps.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The path of the RDB file.
    pub fn rdb_path(&self) -> PathBuf {
        self.path(&self.config().value("dbfilename"))
    }

    /// The path of a name that the configuration gives.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Has the thread that writes snapshots do something, unless it ends.
    pub(super) fn send(&self, job: Job) {
        let _ = self.jobs.lock().as_ref().map(|jobs| jobs.send(job));
    }

    /// Whether the log is not written any more, since a write or a sync has failed with `appendfsync always`.
    pub fn is_log_lost(&self) -> bool {
        self.lost.load(Acquire)
    }

    /// `urgent`: somebody waits for the file; every core works for it.
    pub(super) fn options(&self, purpose: Purpose, urgent: bool) -> Options {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let config = self.config();
        let policy = config.hot.maxmemory_policy.get();
        let version = Version::from_number(config.number("rdb-target-version") as u32).unwrap_or_default();
        Options {
            version,
            compress: config.is_yes("rdbcompression"),
            checksum: config.is_yes("rdbchecksum"),
            incremental_sync: config.is_yes(if purpose == Purpose::LogBase {
                "aof-rewrite-incremental-fsync"
            } else {
                "rdb-save-incremental-fsync"
            }),
            notes_usage: policy.is_lru() || policy.is_lfu(),
            threads: if urgent { cores } else { (cores - 1).max(1) },
            urgent,
            purpose,
            content: Filter::Everything,
            blocks: false,
            key_delay: larder_link::load::key_delay(config.number("rdb-key-save-delay")),
        }
    }

    /// How a snapshot for replicas is written.
    pub fn sync_options(&self, version: Version, content: Filter, blocks: bool) -> Options {
        Options { version, content, blocks, ..self.options(Purpose::Sync, false) }
    }

    /// Keeps others from reading a snapshot until it is dropped. For threads that serve no clients.
    pub fn read_alone(&self) -> MutexGuard<'_, ()> {
        self.snapshot_turn.lock()
    }

    /// The process ends: what is not whole goes, and nothing of that kind is begun any more.
    pub fn abandon(&self) {
        self.temporaries.abandon();
    }

    /// The append-only file.
    pub fn append_file(&self) -> &AppendFile {
        &self.log
    }

    /// Writes to the log of the server.
    pub fn say(&self, level: LogLevel, text: &str) {
        self.engine.log(level, text);
    }

    pub(super) fn notice(&self, text: &str) {
        self.say(LogLevel::Notice, text);
    }

    pub(super) fn warning(&self, text: &str) {
        self.say(LogLevel::Warning, text);
    }

    pub(super) fn config(&self) -> &Config {
        self.engine.config()
    }
}
