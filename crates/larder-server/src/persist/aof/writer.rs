//! The thread that writes and syncs the log of effects.

use crate::persist::Persist;
use larder_engine::{Chunk, LogLevel};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Without `always`, what gathers in so much time is written at once.
const GATHER: Duration = Duration::from_millis(5);
/// How long `everysec` waits from one sync to the next.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// How long a failed write waits to be tried again.
const RETRY: Duration = Duration::from_millis(500);

const NEVER: i64 = 0;
const ALWAYS: i64 = 1;

/// Starts the thread. It goes on as long as the server.
pub fn start(persist: Arc<Persist>) -> io::Result<()> {
    let writer = Writer {
        persist,
        file: None,
        file_bytes: 0,
        written: 0,
        synced: 0,
        last_sync: Instant::now(),
        sync_fails: false,
    };
    std::thread::Builder::new().name("larder-log".into()).spawn(move || writer.run()).map(drop)
}

struct Writer {
    persist: Arc<Persist>,
    file: Option<File>,
    /// Size of the file, up to the last write that was complete.
    file_bytes: u64,
    /// Positions in the log.
    written: u64,
    synced: u64,
    last_sync: Instant,
    /// The last sync failed.
    sync_fails: bool,
}

impl Writer {
    fn run(mut self) {
        let mut chunk = Chunk::default();
        loop {
            let policy = self.policy();
            let engine = Arc::clone(&self.persist.engine);
            let log = engine.append_log();
            log.take(self.patience(policy), &mut chunk);
            engine.share_growth();
            self.write_chunk(&chunk);
            self.written = chunk.end;
            let due = policy == ALWAYS
                || log.take_sync_request()
                || policy != NEVER && self.last_sync.elapsed() >= SYNC_EVERY;
            if due && self.synced < self.written {
                self.sync();
            }
            if policy != ALWAYS && !chunk.bytes.is_empty() {
                std::thread::sleep(GATHER);
            }
        }
    }

    fn policy(&self) -> i64 {
        self.persist.shared.config.hot.appendfsync.load(Relaxed)
    }

    fn patience(&self, policy: i64) -> Duration {
        if policy != NEVER && self.synced < self.written {
            SYNC_EVERY.saturating_sub(self.last_sync.elapsed())
        } else {
            Duration::from_secs(60)
        }
    }

    /// Writes what was taken, each part to its file.
    fn write_chunk(&mut self, chunk: &Chunk) {
        let mut start = 0;
        for &cut in &chunk.cuts {
            self.write_all(&chunk.bytes[start..cut]);
            if self.file.is_some() {
                self.sync();
            }
            self.file = self.persist.append_file().state.lock().next.pop_front();
            let len = self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |m| m.len());
            self.file_bytes = len;
            start = cut;
        }
        self.write_all(&chunk.bytes[start..]);
    }

    /// Writes until it has worked.
    fn write_all(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        while let Err(error) = self.write(bytes) {
            let fatal = "Can't recover from AOF write error when the AOF fsync policy is 'always'";
            self.fail("Error writing to the AOF file", fatal, &error);
            std::thread::sleep(RETRY);
        }
        self.file_bytes += bytes.len() as u64;
        self.persist.engine.persistence().log.lock().size += bytes.len() as u64;
        if !self.sync_fails {
            self.recover();
        }
    }

    /// What has failed works again: writes are allowed.
    fn recover(&self) {
        let mut state = self.persist.engine.persistence().log.lock();
        if !state.write_error.is_empty() {
            state.write_error.clear();
            drop(state);
            self.persist.engine.gate().set_log_failed(false);
            self.persist.say(LogLevel::Warning, "AOF write error looks solved, the server can write again.");
        }
    }

    /// Writes are refused until this is mended. With `always` more has been promised than can be kept: the server ends.
    fn fail(&self, what: &str, fatal: &str, error: &io::Error) {
        let persist = &self.persist;
        persist.say(LogLevel::Warning, &format!("{what}: {error}"));
        if self.policy() == ALWAYS {
            persist.say(LogLevel::Warning, &format!("{fatal}: {error}. Exiting..."));
            std::process::exit(1);
        }
        persist.engine.persistence().log.lock().write_error = crate::settings::system_text(error);
        persist.engine.gate().set_log_failed(true);
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = file.write_all(bytes);
        if written.is_err() {
            // A command must not stay there in part.
            file.set_len(self.file_bytes)?;
        }
        written
    }

    fn sync(&mut self) {
        let Some(file) = &self.file else { return };
        let synced = file.sync_data();
        self.last_sync = Instant::now();
        self.sync_fails = synced.is_err();
        if let Err(error) = synced {
            let fatal = "Can't persist AOF for fsync error when the AOF fsync policy is 'always'";
            return self.fail("Fail to fsync the AOF file", fatal, &error);
        }
        self.recover();
        self.synced = self.written;
        self.persist.engine.log_is_safe(self.synced);
        self.persist.shared.wake_holders();
    }
}
