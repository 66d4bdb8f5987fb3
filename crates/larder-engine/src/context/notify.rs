//! Keyspace notifications of a command.

use crate::context::Context;
use crate::delivery::publish::Speaker;
use crate::engine::notify::class;
use crate::keyspace::key::Key;

impl Context<'_> {
    /// Sends an event about a key of the selected database.
    #[inline]
    pub(crate) fn notify(&self, class: u16, event: &str, key: &Key<'_>) {
        if !self.session.is_silent {
            self.engine.notify(Some(self.speaker()), class, event, self.db, key.bytes);
        }
    }

    /// The sender of the command's messages.
    pub(crate) fn speaker(&self) -> Speaker<'_> {
        Speaker::of_client(self.worker.index, self.session.id(), &self.worker.heard_itself)
    }

    /// A command that reads has found no such key.
    pub(crate) fn notify_miss(&self, key: &Key<'_>) {
        self.notify(class::KEY_MISS, "keymiss", key);
    }

    /// After elements of a key were removed: it is gone if they were the last.
    #[inline]
    pub(crate) fn notify_emptied(&mut self, key: &Key<'_>) {
        if self.engine.wants_events(class::GENERIC) && !self.peek_exists(key) {
            self.notify(class::GENERIC, "del", key);
        }
    }
}
