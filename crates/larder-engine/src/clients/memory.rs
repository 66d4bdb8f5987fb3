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
        ];
        let waiting: u64 = parts.into_iter().map(|part| part.load(Relaxed)).sum();
        IDLE_BYTES + waiting + u64::from(self.multi_bytes.load(Relaxed))
    }

    /// What of it `maxmemory-clients` limits: nothing of a replica, nor of the link to the primary.
    pub(crate) fn limited_memory(&self) -> u64 {
        let is_link = [client_flags::REPLICA, client_flags::PRIMARY].into_iter().any(|flag| self.has(flag));
        if is_link { 0 } else { self.memory() }
    }

    /// Whether it came a moment ago, and has sent no command yet.
    pub(crate) fn has_just_come(&self, now_ms: u64) -> bool {
        let is_idle =
            [&self.commands, &self.query_len, &self.output_bytes].iter().all(|n| n.load(Relaxed) == 0);
        is_idle && now_ms.saturating_sub(self.created_ms) < ARRIVAL_MS
    }

    pub(crate) fn may_be_evicted(&self) -> bool {
        self.closing() == Closing::No && !self.has(client_flags::NO_EVICT)
    }
}
