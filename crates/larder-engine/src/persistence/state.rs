//! How saving and loading are going, for INFO and for those who decide when to save.
//!
//! The server's threads do the work and keep this up to date; nothing here touches files.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Snapshots, the append-only file and loading.
#[derive(Debug, Default)]
pub struct Persistence {
    /// Snapshots to the RDB file.
    pub save: Mutex<SaveState>,
    /// The append-only file.
    pub log: Mutex<LogState>,
    /// Reading files at the start.
    pub load: LoadProgress,
    /// Keys of the snapshot that is written now that have been written.
    pub saved_keys: AtomicU64,
    /// Keys of that snapshot.
    pub keys_to_save: AtomicU64,
    /// Since when a snapshot is sent to replicas, in seconds since 1970; 0: none is.
    sync_since_s: AtomicU64,
    /// The snapshot that is written in the background is not wanted any more.
    pub cancel_save: AtomicBool,
    /// The threads that write files are to end: what is written in the background is given up.
    pub ending: AtomicBool,
}

impl Persistence {
    /// Notes that a snapshot is sent to replicas from now on, until the guard is dropped. One is sent at a time.
    pub fn begin_sync(&self, now_s: u64) -> SyncInProgress<'_> {
        self.sync_since_s.store(now_s, Relaxed);
        SyncInProgress(self)
    }

    /// Since when a snapshot is sent to replicas, if one is.
    pub(crate) fn sync_since_s(&self) -> Option<u64> {
        Some(self.sync_since_s.load(Relaxed)).filter(|&since_s| since_s > 0)
    }

    /// Calls off a snapshot that is being written in the background; whether there is one.
    pub fn cancel_save(&self) -> bool {
        let save = self.save.lock();
        let runs = save.running_since_s.is_some();
        if runs {
            self.cancel_save.store(true, Relaxed);
        }
        runs
    }
}

/// A snapshot is sent to replicas while this lives.
pub struct SyncInProgress<'p>(&'p Persistence);

impl Drop for SyncInProgress<'_> {
    fn drop(&mut self) {
        self.0.sync_since_s.store(0, Relaxed);
    }
}

/// How snapshots to the RDB file are going. Times in seconds since 1970.
#[derive(Clone, Debug, Default)]
pub struct SaveState {
    /// One is being written, since when.
    pub running_since_s: Option<u64>,
    /// One is wanted as soon as it is possible.
    pub scheduled: bool,
    /// [`Engine::changes`](crate::Engine::changes) at the start of the last one that succeeded.
    pub changes: u64,
    /// When the last one succeeded; at first, when the server started.
    pub last_success_s: u64,
    /// When the last one was tried.
    pub last_try_s: u64,
    /// Whether the last one failed.
    pub failed: bool,
    /// How long the last one took, in seconds.
    pub last_took_s: Option<u64>,
    /// How many were begun, for SAVE or in the background.
    pub saves: u64,
}

/// How the append-only file is going.
#[derive(Clone, Debug, Default)]
pub struct LogState {
    /// Whether it is kept.
    pub enabled: bool,
    /// It was switched on, and the first rewrite, which makes it complete, has not ended.
    pub waits_for_base: bool,
    /// It is being rewritten, since when in seconds since 1970.
    pub rewriting_since_s: Option<u64>,
    /// A rewrite is wanted as soon as it is possible.
    pub rewrite_scheduled: bool,
    /// Whether the last rewrite failed.
    pub rewrite_failed: bool,
    /// When the last rewrite was tried, in seconds since 1970.
    pub last_try_s: u64,
    /// How many were done.
    pub rewrites: u64,
    /// How long the last one took, in seconds.
    pub last_took_s: Option<u64>,
    /// Bytes of all its files.
    pub size: u64,
    /// Bytes of all its files after the last rewrite, or at the start.
    pub base_size: u64,
    /// Why writing fails; empty while it does not.
    pub write_error: String,
    /// Syncs that were put off because of one under way.
    pub delayed_fsync: u64,
}

/// How loading is going.
#[derive(Debug, Default)]
pub struct LoadProgress {
    /// When it began, in seconds since 1970.
    pub started_s: AtomicU64,
    /// Bytes of the files.
    pub total_bytes: AtomicU64,
    /// Bytes read.
    pub loaded_bytes: AtomicU64,
    /// Bytes of memory that the server which wrote the file used for its data, as the file says.
    pub saved_used_memory: AtomicU64,
    /// Keys loaded.
    pub keys_loaded: AtomicU64,
    /// Keys left out because their time was over.
    pub keys_expired: AtomicU64,
    /// Hashes left out because the time of all their fields was over.
    pub hashes_expired: AtomicU64,
}
