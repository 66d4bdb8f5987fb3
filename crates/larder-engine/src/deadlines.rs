//! Deadlines of keys and of fields of hashes: the one place that says which of them are over.
//!
//! A deadline is over once the clock has passed it, so at the moment `now` those up to the millisecond before are. Who judges
//! is handed this moment as a number; [`NOTHING_IS_DUE`] stands for none. That is what replayed commands judge by, those of
//! an append-only file and those that a replica applies: they have been executed before, and what had expired by then is
//! deleted by a command of its own in the same log. The clock of the reader must not have a say in it.
//!
//! Tested by `tests/persistence/deadlines.rs`: every kind of command runs, and is replayed when the deadlines are over.

use crate::command::flags;
use crate::context::Context;
use crate::session::client_flags;
use crate::shard::Key;
use larder_collections::key_table::Entry;
use larder_collections::value::Value;
use std::sync::atomic::Ordering::Relaxed;

/// The moment at which no deadline is over. (None is stored that is not above.)
pub(crate) const NOTHING_IS_DUE: u64 = 0;

/// The moment up to which deadlines are over when the wall clock says `now_ms`.
#[inline]
pub(crate) fn due_at(now_ms: u64) -> u64 {
    now_ms.saturating_sub(1)
}

/// Whether the deadline of an entry is over.
#[inline]
pub(crate) fn is_due(entry: &Entry<'_, Value>, due_ms: u64) -> bool {
    entry.expire_at_ms().is_some_and(|at| at <= due_ms)
}

impl Context<'_> {
    /// The moment up to which deadlines are over for this command.
    #[inline]
    pub(crate) fn due_ms(&self) -> u64 {
        if self.session.replays || self.imports() { NOTHING_IS_DUE } else { due_at(self.now_ms()) }
    }

    /// Whether a deadline that a command sets is over already: then what it is set for is deleted at once.
    pub(crate) fn is_past(&self, at: i64) -> bool {
        !self.session.replays && at <= self.now_ms() as i64 && !self.keeps_all()
    }

    /// Whether this client brings data from another server (`import-mode`): it sees keys beyond their time.
    #[inline]
    fn imports(&self) -> bool {
        self.keeps_all() && self.session.shared.has(client_flags::IMPORT_SOURCE)
    }

    /// Whether nothing expires for now, since another server says what does (`import-mode`).
    #[inline]
    pub(crate) fn keeps_all(&self) -> bool {
        self.engine.config.hot.import_mode.load(Relaxed)
    }

    /// A key whose time is over has been looked up: it is deleted, unless data is imported and the command only reads the
    /// key, as GETEX does first.
    pub(crate) fn found_overdue(&mut self, key: &Key<'_>) {
        if !self.keeps_all() || self.found.command.has(flags::WRITE) && self.found.command.name != "getex" {
            self.expire(key);
        }
    }

    /// A deadline in the form in which it is stored.
    pub(crate) fn deadline(at: i64) -> u64 {
        u64::try_from(at).map_or(1, |at| at.max(1))
    }
}
