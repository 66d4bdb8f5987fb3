//! Keyspace notifications: what happens to keys, as messages to `__keyspace@<db>__:<key>` and `__keyevent@<db>__:<event>`.
//!
//! Off unless `notify-keyspace-events` says otherwise; a command then pays one relaxed load an event. Messages are sent
//! while the shard of the key is locked: events of one key reach every subscriber in the order in which they happened,
//! whichever threads caused them. Sending is leaving mail; nobody waits.

pub(crate) use crate::config::notify as class;

use crate::delivery::publish::{Speaker, publish};
use crate::engine::Engine;
use std::sync::atomic::Ordering::Relaxed;

impl Engine {
    /// Whether events of any of these classes are wanted.
    #[inline]
    pub(crate) fn wants_events(&self, class: u16) -> bool {
        self.config.hot.notify_keyspace_events.load(Relaxed) as u16 & class != 0
    }

    /// Sends an event of a class to those who want it. `speaker` is the worker that calls, if one does.
    #[inline]
    pub(crate) fn notify(
        &self,
        speaker: Option<Speaker<'_>>,
        class: u16,
        event: &str,
        db: usize,
        key: &[u8],
    ) {
        if self.wants_events(class) {
            self.announce(speaker, event, db, key);
        }
    }

    #[cold]
    fn announce(&self, speaker: Option<Speaker<'_>>, event: &str, db: usize, key: &[u8]) {
        let mut channel = Vec::with_capacity(32 + key.len().max(event.len()));
        for (kind, subject, message) in
            [(class::KEYSPACE, key, event.as_bytes()), (class::KEYEVENT, event.as_bytes(), key)]
        {
            if self.wants_events(kind) {
                let name = if kind == class::KEYSPACE { "keyspace" } else { "keyevent" };
                channel.clear();
                channel.extend_from_slice(format!("__{name}@{db}__:").as_bytes());
                channel.extend_from_slice(subject);
                publish(&self.pubsub, &self.mailboxes, speaker, &channel, message);
            }
        }
    }
}
