//! The thread that syncs the log of effects, and writes what no worker has written.

use crate::state::Persist;
use larder_engine::config::AppendFsync;
use larder_engine::{LogLevel, LogState, MayWait, SystemError};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long `everysec` waits from one sync to the next.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// How long what has failed waits to be tried again.
const RETRY: Duration = Duration::from_millis(500);

/// Starts the thread.
pub fn start(persist: Arc<Persist>) -> io::Result<JoinHandle<()>> {
    let writer = Writer { persist, synced: 0, last_sync: Instant::now(), sync_fails: false };
    larder_engine::spawn_background("larder-log", move |may_wait| writer.run(may_wait))
}

struct Writer {
    persist: Arc<Persist>,
    /// Position in the log.
    synced: u64,
    last_sync: Instant,
    /// The last sync failed.
    sync_fails: bool,
}

impl Drop for Writer {
    /// Without its thread nobody would be told that the log is on the disk. (A server has ended by now.)
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.persist.lose_log("the thread that writes the append-only file panicked".to_owned());
        }
    }
}

impl Writer {
    fn run(mut self, may_wait: &MayWait) {
        let engine = Arc::clone(&self.persist.engine);
        let log = engine.append_log();
        loop {
            log.sleep(self.patience());
            larder_engine::panic_if_armed();
            engine.share_growth();
            if self.persist.is_ending() {
                return;
            }
            if self.persist.is_log_lost() {
                self.persist.give_log_up(may_wait);
                continue;
            }
            self.write();
            if self.is_sync_due() && self.synced < log.written() {
                self.sync();
            }
        }
    }

    /// When to look again, if nobody wakes the thread before. With `everysec` that is once a second at the
    /// least, as workers write without waking it.
    fn patience(&self) -> Duration {
        let fails = self.sync_fails || self.persist.log.sink().fails();
        match self.persist.sync_policy() {
            _ if fails => RETRY,
            AppendFsync::Never => Duration::from_secs(60),
            _ => SYNC_EVERY.checked_sub(self.last_sync.elapsed()).unwrap_or(SYNC_EVERY),
        }
    }

    fn is_sync_due(&self) -> bool {
        let asked = self.persist.engine.append_log().take_sync_request();
        match self.persist.sync_policy() {
            AppendFsync::Always => true,
            // Somebody else writes much to the disk, and a sync could take long.
            _ if !asked && self.persist.spares_syncs() => false,
            AppendFsync::Never => asked || self.sync_fails,
            _ => asked || self.sync_fails || self.last_sync.elapsed() >= SYNC_EVERY,
        }
    }

    fn write(&mut self) {
        match self.persist.log.sink().write(&self.persist.engine) {
            Ok(bytes) => {
                self.persist.note_log_growth(bytes);
                if bytes > 0 {
                    // Replies of a round beside a script wait for no more than this.
                    self.persist.process.wake_holders();
                }
                if !self.sync_fails {
                    self.persist.log_works();
                }
            }
            Err(error) => self.persist.log_write_failed(&error),
        }
    }

    fn sync(&mut self) {
        let mut unsynced = self.persist.log.sink().unsynced(self.persist.engine.append_log());
        let outcome = sync_all(&mut unsynced.left, unsynced.file.as_deref());
        self.persist.log.sink().put_back(unsynced.left);
        self.last_sync = Instant::now();
        self.sync_fails = outcome.is_err();
        if let Err(error) = outcome {
            return self.persist.log_sync_failed(&error);
        }
        if !self.persist.log.sink().fails() {
            self.persist.log_works();
        }
        if unsynced.file.is_some() {
            self.synced = unsynced.position;
            self.persist.engine.log_is_safe(self.synced);
            self.persist.process.wake_holders();
        }
    }
}

/// Syncs files, the older ones first; those that are done are taken out.
fn sync_all(left: &mut Vec<Arc<File>>, last: Option<&File>) -> io::Result<()> {
    while let Some(file) = left.first() {
        file.sync_data()?;
        left.remove(0);
    }
    last.map_or(Ok(()), File::sync_data)
}

impl Persist {
    /// Gives the kernel what is in the log up to `end`, before replies that tell of it leave. When that fails, or has
    /// failed and is not mended, the log's thread sees to it.
    pub fn write_log_to(&self, end: u64) {
        let sink = self.log.sink();
        if self.engine.append_log().written() >= end || sink.fails() || self.is_log_lost() {
            return;
        }
        match sink.write(&self.engine) {
            Ok(bytes) => self.note_log_growth(bytes),
            Err(error) => {
                self.log_write_failed(&error);
                self.engine.append_log().wake_writer();
            }
        }
    }

    fn note_log_growth(&self, bytes: u64) {
        if bytes > 0 {
            self.engine.persistence().log.lock().size += bytes;
        }
    }

    fn sync_policy(&self) -> AppendFsync {
        self.config().hot.appendfsync.get()
    }

    /// The option `no-appendfsync-on-rewrite`, while a snapshot or a rewrite is written.
    fn spares_syncs(&self) -> bool {
        let state = self.engine.persistence();
        self.config().is_yes("no-appendfsync-on-rewrite")
            && (state.save.lock().running_since_s.is_some() || state.log.lock().rewriting_since_s.is_some())
    }

    pub(super) fn log_write_failed(&self, error: &io::Error) {
        let why = SystemError::text_of(error);
        let text = format!("Error writing to the AOF file: {why}");
        let fatal = "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...";
        self.log_fails(why, &text, fatal);
    }

    fn log_sync_failed(&self, error: &io::Error) {
        let why = SystemError::text_of(error);
        let text = format!("Fail to fsync the AOF file: {why}");
        let fatal = format!(
            "Can't persist AOF for fsync error when the AOF fsync policy is 'always': {why}. Exiting..."
        );
        self.log_fails(why, &text, &fatal);
    }

    /// Writes are refused until this is mended. With `always` more has been promised than can be kept: the server ends, or writes are
    /// refused for good.
    fn log_fails(&self, why: String, text: &str, fatal: &str) {
        let config = self.config();
        let is_kept = |state: &LogState| state.enabled && config.is_yes("appendonly");
        // Of one moment: `always` from before a change and `appendonly yes` from after it say nothing together.
        let is_fatal = config.between_changes(|| {
            self.sync_policy() == AppendFsync::Always && is_kept(&self.engine.persistence().log.lock())
        });
        if is_fatal {
            self.say(LogLevel::Warning, text);
            self.say(LogLevel::Warning, fatal);
            return self.lose_log(why);
        }
        let mut state = self.engine.persistence().log.lock();
        let before = std::mem::replace(&mut state.write_error, why.clone());
        // What is left of a log that was switched off stops nobody.
        self.engine.gate().set_log_failed(is_kept(&state));
        drop(state);
        if before != why {
            self.say(LogLevel::Warning, text);
        }
    }

    /// Ends a server. Elsewhere the log is not written any more, and writes are refused; those that wait for it are told.
    fn lose_log(&self, why: String) {
        self.process.log_is_lost(&self.temporaries);
        self.engine.persistence().log.lock().write_error = why;
        self.engine.gate().set_log_failed(true);
        self.lost.store(true, Release);
        self.process.wake_holders();
    }

    /// What is done from now on (keys expire, also where writes are refused) is not for the log that is lost.
    fn give_log_up(&self, may_wait: &MayWait) {
        if !self.engine.append_log().is_on() {
            return;
        }
        self.engine.stop_log(&self.engine.take_turn(may_wait));
        self.engine.persistence().log.lock().enabled = false;
    }

    /// What has failed works again: writes are allowed.
    fn log_works(&self) {
        let mut state = self.engine.persistence().log.lock();
        if !state.write_error.is_empty() {
            state.write_error.clear();
            self.engine.gate().set_log_failed(false);
            drop(state);
            self.say(LogLevel::Warning, "AOF write error looks solved, the server can write again.");
        }
    }
}
