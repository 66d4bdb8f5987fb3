//! What the whole server may not do at the moment, and what it answers then.

use crate::command::{Command, flags};
use crate::config::Hot;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::session::Session;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const LOADING: u8 = 1;
const SNAPSHOT_FAILED: u8 = 1 << 1;
const LOG_FAILED: u8 = 1 << 2;
const CLOSING: u8 = 1 << 3;
const BUSY: u8 = 1 << 4;
const REPLICAS_MISSING: u8 = 1 << 5;

pub(crate) const LOADING_ERROR: CommandError =
    CommandError::Fixed("LOADING Redis is loading the dataset in memory");
const SNAPSHOT_ERROR: CommandError = CommandError::Fixed(
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may \
     modify the data set are disabled, because this instance is configured to report errors during writes if RDB \
     snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
);

const REPLICAS_ERROR: CommandError = CommandError::Fixed("NOREPLICAS Not enough good replicas to write.");

/// Flags that are nearly always clear: one look tells that nothing is refused.
#[derive(Debug, Default)]
pub struct Gate(AtomicU8);

impl Gate {
    /// Whether anything is refused.
    #[inline]
    pub(crate) fn is_shut(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    /// Whether writes wait for the server to end, or not to. Set and read while all shards, or those concerned, are held.
    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.has(CLOSING)
    }

    /// Whether the keyspace is being loaded.
    pub fn is_loading(&self) -> bool {
        self.has(LOADING)
    }

    /// The keyspace is being loaded, or not any more: most commands are refused meanwhile.
    pub fn set_loading(&self, on: bool) {
        self.set(LOADING, on);
    }

    /// The last snapshot failed, or did not: writes are refused, if the configuration says so.
    pub fn set_snapshot_failed(&self, on: bool) {
        self.set(SNAPSHOT_FAILED, on);
    }

    /// The append-only file cannot be written, or can: writes are refused.
    pub fn set_log_failed(&self, on: bool) {
        self.set(LOG_FAILED, on);
    }

    /// A script runs for too long, or has ended.
    pub(crate) fn set_busy(&self, on: bool) {
        self.set(BUSY, on);
    }

    /// Whether a script runs for too long.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.has(BUSY)
    }

    /// Writes wait from now on, or not any more.
    pub fn set_closing(&self, on: bool) {
        self.set(CLOSING, on);
    }

    fn has(&self, flag: u8) -> bool {
        self.0.load(Relaxed) & flag != 0
    }

    fn set(&self, flag: u8, on: bool) {
        if on {
            self.0.fetch_or(flag, Relaxed);
        } else {
            self.0.fetch_and(!flag, Relaxed);
        }
    }

    /// Refuses what must not be done now.
    #[cold]
    pub(crate) fn check(&self, engine: &Engine, session: &Session, command: &Command) -> CommandResult {
        if session.replays {
            return Ok(());
        }
        // EXEC stands for what it runs.
        let queued = session.multi.as_ref().filter(|_| command.name == "exec");
        if self.is_loading()
            && (!command.has(flags::LOADING) || queued.is_some_and(|queue| !queue.all_while_loading()))
        {
            return Err(LOADING_ERROR);
        }
        match command.name {
            _ if command.has(flags::WRITE) => self.check_writes(engine, session),
            "ping" => self.check_disk(engine),
            _ => Ok(()),
        }
    }

    /// Refuses what writes, when that must not be done now.
    #[cold]
    pub(crate) fn check_writes(&self, engine: &Engine, session: &Session) -> CommandResult {
        if session.replays {
            return Ok(());
        }
        self.check_disk(engine)?;
        if self.has(REPLICAS_MISSING) { Err(REPLICAS_ERROR) } else { Ok(()) }
    }

    /// Whether fewer replicas are there than `min-replicas-to-write` wants. There are none.
    pub(crate) fn read_options(&self, hot: &Hot) {
        let wanted =
            hot.min_replicas_to_write.load(Relaxed) > 0 && hot.min_replicas_max_lag.load(Relaxed) > 0;
        self.set(REPLICAS_MISSING, wanted);
    }

    fn check_disk(&self, engine: &Engine) -> CommandResult {
        if self.has(LOG_FAILED) {
            let reason = engine.persistence.log.lock().write_error.clone();
            return Err(CommandError::text(format!("MISCONF Errors writing to the AOF file: {reason}")));
        }
        let stops = engine.config.hot.stop_writes_on_bgsave_error.load(Relaxed);
        if self.has(SNAPSHOT_FAILED) && stops && !engine.config.value("save").is_empty() {
            return Err(SNAPSHOT_ERROR);
        }
        Ok(())
    }
}
