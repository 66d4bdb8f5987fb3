//! How much memory a connection takes: input, output, the queue of a transaction, subscriptions, prefixes, watched keys.

use super::session::{ClientShared, Closing, Session, client_flags};
use std::sync::atomic::Ordering::Relaxed;

/// What a connection costs that has nothing waiting: what is kept of it here and in the event loop.
pub(crate) const IDLE_BYTES: u64 = (size_of::<ClientShared>() + size_of::<Session>() + 400) as u64;

/// For how long a connection that says nothing is not closed for what others hold: its first command may be on its way.
const ARRIVAL_MS: u64 = 10_000;

impl ClientShared {
    /// Bytes of memory that the connection takes.
    pub(crate) fn memory(&self) -> u64 {
        let parts = [
            &self.query_cap,
            &self.output_bytes,
            &self.subscription_bytes,
            &self.tracking_bytes,
            &self.watched_bytes,
            &self.args_bytes,
        ];
        let waiting: u64 = parts.into_iter().map(|part| part.load(Relaxed)).sum();
        IDLE_BYTES + waiting + u64::from(self.multi_bytes.load(Relaxed))
    }

    /// What of it `maxmemory-clients` limits: nothing of a replica, nor of connections that this server has opened.
    pub(crate) fn limited_memory(&self) -> u64 {
        if self.has(client_flags::REPLICA) || self.is_outgoing() { 0 } else { self.memory() }
    }

    /// Whether this server has opened the connection, to its primary or to the target of slots.
    pub(crate) fn is_outgoing(&self) -> bool {
        self.has(client_flags::PRIMARY) || self.has(client_flags::SLOT_EXPORT)
    }

    /// Whether it came a moment ago, and has sent no command yet.
    pub(crate) fn has_just_come(&self, now_ms: u64) -> bool {
        let is_empty = [&self.query_len, &self.output_bytes].iter().all(|n| n.load(Relaxed) == 0);
        is_empty
            && self.last_command.load(Relaxed) == 0
            && now_ms.saturating_sub(self.created_ms) < ARRIVAL_MS
    }

    pub(crate) fn may_be_evicted(&self) -> bool {
        self.closing() == Closing::No && !self.has(client_flags::NO_EVICT)
    }
}
