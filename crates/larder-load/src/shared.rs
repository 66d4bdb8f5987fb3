//! What the threads of a load share, and what they hand to each other.

use crate::error::Result;
use crate::group::Group;
use crate::options::Source;
use crate::reject::{Reject, Rejects};
use crate::state::{Past, State};
use crate::target::{Facts, Target};
use larder_rdb::read::RawKeys;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Keys that are sent together.
pub struct Batch {
    /// Its number, from 0.
    pub number: u64,
    /// Its keys.
    pub content: Content,
    /// What an earlier load has done of it.
    pub past: Past,
}

/// The keys of a batch.
pub enum Content {
    /// What was gathered, or came from another server.
    Groups(Vec<Group>),
    /// What stands in an RDB file.
    Records(Records),
}

/// Keys of an RDB file.
#[derive(Default)]
pub struct Records {
    /// The database.
    pub db: u32,
    /// The keys, not looked at yet.
    pub keys: RawKeys,
    /// The offset of each.
    pub places: Vec<u64>,
}

/// What has been done so far.
#[derive(Default)]
pub struct Counts {
    /// Rows, commands or keys that were read.
    pub rows: AtomicU64,
    /// Keys that are loaded, or would be.
    pub keys: AtomicU64,
    /// Elements in them.
    pub elements: AtomicU64,
    /// Bytes of values or payloads.
    pub payload_bytes: AtomicU64,
    /// Memory that the keys take in Larder, about. Only a dry run counts collections.
    pub memory_bytes: AtomicU64,
    /// Commands that were sent as they are.
    pub commands: AtomicU64,
    /// Keys whose time had passed.
    pub expired: AtomicU64,
}

/// What all workers share.
pub struct Shared<'a> {
    /// Where keys come from.
    pub source: &'a Source,
    /// Who is loaded.
    pub target: &'a Target,
    /// What it takes.
    pub facts: &'a Facts,
    /// The owners of slots, as far as is known; empty without a cluster.
    pub owners: RwLock<Vec<String>>,
    /// Keys that are there are replaced.
    pub replace: bool,
    /// Nothing is sent.
    pub dry_run: bool,
    /// When the load began, in milliseconds since 1970.
    pub now_ms: u64,
    /// Counts.
    pub counts: Counts,
    /// What was not loaded.
    pub rejects: Mutex<Rejects>,
    /// What else is to be said.
    pub notes: Mutex<Vec<String>>,
    /// What is loaded.
    pub state: Mutex<State>,
}

impl Shared<'_> {
    /// Notes what was not loaded.
    pub fn reject(&self, place: u64, reason: &str, what: &[u8]) -> Result<()> {
        lock(&self.rejects).add(&Reject::new(place, reason, what))
    }
}

/// The time, in milliseconds since 1970.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// A lock; a thread that panicked ends the load anyway.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
