//! How a command judges deadlines.

use crate::clients::session::client_flags;
use crate::command::spec::flags;
use crate::context::Context;
use crate::keyspace::deadlines::{NOTHING_IS_DUE, due_at};
use crate::keyspace::key::Key;
use std::sync::atomic::Ordering::Relaxed;

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
        self.engine.config.hot.import_mode.load(Relaxed)
            && self.session.shared.has(client_flags::IMPORT_SOURCE)
    }

    /// Whether nothing expires by itself, since another server says what does: on a replica, and with `import-mode`.
    #[inline]
    pub(crate) fn keeps_all(&self) -> bool {
        self.engine.waits_for_others_to_expire()
    }

    /// Whether what only reads leaves what is overdue where it is: as nothing expires, or while writes are paused. Who takes over then, or copies
    /// the data by hand, counts on that nothing changes.
    #[inline]
    pub(crate) fn leaves_overdue(&self) -> bool {
        self.keeps_all() || self.engine.pause.in_force(self.now_ms())
    }

    /// A key whose time is over has been looked up: it is deleted, unless it is to be left and the command only reads it, as GETEX does
    /// first. A write that had begun when writes were paused deletes it: replicas would else go on from the old value.
    pub(crate) fn found_overdue(&mut self, key: &Key<'_>) {
        let writes = self.found.command.has(flags::WRITE) && self.found.command.name != "getex";
        if writes || !self.leaves_overdue() {
            self.expire(key);
        }
    }

    /// A command sets the deadline of a key. On a replica, of which the primary knows nothing of that, the replica remembers it.
    #[inline]
    pub(crate) fn note_deadline(&self, key: &Key<'_>, at_ms: u64) {
        if self.engine.replication.is_replica() && !self.session.replays {
            self.engine.replication.own_deadlines.note(self.db, key.bytes, at_ms);
        }
    }

    /// A deadline in the form in which it is stored.
    pub(crate) fn deadline(at: i64) -> u64 {
        u64::try_from(at).map_or(1, |at| at.max(1))
    }
}
