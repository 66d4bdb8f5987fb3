//! How much memory connections take: input, output, the queue of a transaction, subscriptions, prefixes,
//! watched keys; and the sum over all.

use super::session::{ClientShared, Session, client_flags};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// What a connection costs that has nothing waiting: what is kept of it here and in the event loop.
pub(crate) const IDLE_BYTES: u64 = (size_of::<ClientShared>() + size_of::<Session>() + 400) as u64;

/// The sum over all connections.
#[derive(Default)]
pub(crate) struct ClientMemory {
    pub(crate) total: AtomicI64,
    /// What those hold that are to be closed because of the limit, and are not yet: no key need make room for it.
    pub(crate) closing: AtomicI64,
    /// Connections closed so far.
    pub(crate) evicted: AtomicU64,
    pub(crate) evicting: Mutex<()>,
}

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

    pub(crate) fn may_be_evicted(&self) -> bool {
        let is_exempt = [client_flags::NO_EVICT, client_flags::MONITOR, client_flags::PRIMARY];
        !self.kill.load(Relaxed) && !is_exempt.into_iter().any(|flag| self.has(flag))
    }
}
