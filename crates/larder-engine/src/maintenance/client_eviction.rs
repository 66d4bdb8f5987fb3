//! What connections cost, and `maxmemory-clients`: when all of them together hold too much, the biggest are closed.
//!
//! Each connection's worker notes what it holds in its [`ClientShared`]; while there is a limit, every change of that goes
//! into a sum as well, so that an iteration of an event loop sees with one load whether there is too much. What changes
//! without input or output (subscriptions, watched keys) is added with the next of these, or by the timer.

use crate::clients::session::{ClientShared, Session};
use crate::delivery::mailbox::Mail;
use crate::engine::Engine;
use crate::host::LogLevel;
use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A lower limit is not kept, as nobody could talk to the server any more.
const LIMIT_MIN: u64 = 128 << 10;

impl Engine {
    /// Bytes that connections may hold; `None` is no limit.
    #[inline]
    fn client_limit(&self) -> Option<u64> {
        let hot = &self.config.hot;
        let limit = match hot.maxmemory_clients.load(Relaxed) {
            0 => return None,
            percent if percent < 0 => match hot.maxmemory.load(Relaxed) {
                0 => return None,
                all => (all as f64 * percent.unsigned_abs() as f64 / 100.0) as u64,
            },
            bytes => bytes as u64,
        };
        Some(limit.clamp(LIMIT_MIN, i64::MAX as u64))
    }

    /// Takes what a connection holds into the sum, if there is a limit.
    #[inline]
    pub(crate) fn recount_client(&self, client: &ClientShared) {
        if self.config.hot.maxmemory_clients.load(Relaxed) != 0 {
            self.recount(client);
        }
    }

    #[cold]
    fn recount(&self, client: &ClientShared) {
        if !client.kill.load(Relaxed) {
            let now = client.memory();
            let before = client.counted.swap(now, Relaxed);
            self.client_memory.total.fetch_add(now as i64 - before as i64, Relaxed);
        }
    }

    /// The connection is gone, or as good as that.
    pub(crate) fn uncount_client(&self, client: &ClientShared) {
        let before = client.counted.swap(0, Relaxed);
        self.client_memory.total.fetch_sub(before as i64, Relaxed);
        let closing = client.closing.swap(0, Relaxed);
        self.client_memory.closing.fetch_sub(closing as i64, Relaxed);
    }

    /// Bytes that are about to go: of connections that are being closed because all together held too much, and of replies
    /// that the sockets have not been offered yet.
    pub(crate) fn leaving_client_bytes(&self) -> u64 {
        self.client_memory.closing.load(Relaxed).max(0) as u64 + self.sum(|stats| &stats.unsent)
    }

    /// Recounts all connections and keeps to the limit; for the timer.
    pub(crate) fn check_clients(&self) {
        if self.client_limit().is_some() {
            self.clients.snapshot().iter().for_each(|client| self.recount(client));
            self.limit_clients();
        }
    }

    /// Closes the biggest connections while all together hold more than `maxmemory-clients`.
    #[inline]
    pub(crate) fn limit_clients(&self) {
        if let Some(limit) = self.client_limit()
            && self.client_memory.total.load(Relaxed) > limit as i64
        {
            self.evict_clients(limit);
        }
    }

    #[cold]
    fn evict_clients(&self, limit: u64) {
        let Some(_alone) = self.client_memory.evicting.try_lock() else { return };
        let mut candidates: Vec<Arc<ClientShared>> = self.clients.snapshot();
        candidates.retain(|client| client.may_be_evicted());
        candidates.sort_by_key(|client| std::cmp::Reverse(client.counted.load(Relaxed)));
        // Not the sum that others change meanwhile: one who is being counted would cost the next ones their connections.
        let mut left = self.client_memory.total.load(Relaxed);
        for client in candidates {
            if left <= limit as i64 {
                return;
            }
            client.kill.store(true, Relaxed);
            let bytes = client.counted.swap(0, Relaxed);
            left -= bytes as i64;
            // First, so that no thread evicts keys in place of what is about to go.
            client.closing.store(bytes, Relaxed);
            self.client_memory.closing.fetch_add(bytes as i64, Relaxed);
            self.client_memory.total.fetch_sub(bytes as i64, Relaxed);
            if self.clients.find(client.id).is_none() {
                // It went by itself just now, perhaps before there was something to take back.
                self.uncount_client(&client);
            }
            self.client_memory.evicted.fetch_add(1, Relaxed);
            let line = format!("Evicting client: id={} addr={} tot-mem={bytes}", client.id, client.addr);
            self.host.log(LogLevel::Notice, &line);
            self.mailboxes.send(client.worker, Mail::Kill { client: client.id, after_flush: false });
        }
    }

    /// Bytes that normal connections and subscribers take.
    pub(crate) fn client_bytes(&self) -> u64 {
        self.clients.snapshot().iter().map(|client| client.memory()).sum()
    }
}

impl Worker {
    /// The input or the output of a connection has changed.
    #[inline]
    pub fn recount(&self, session: &Session) {
        self.engine.recount_client(&session.shared);
    }

    /// A connection has this many bytes of output, which the sockets have not been offered yet: until then they count neither
    /// as the connection's, nor against `maxmemory`. As a rule they are gone at the end of the iteration.
    #[inline]
    pub fn note_unsent(&self, bytes: usize) {
        self.stats().unsent.add(bytes as u64);
    }

    /// All output has been offered to the sockets.
    #[inline]
    pub fn forget_unsent(&mut self) {
        if self.stats().unsent.get() > 0 {
            // First what was freed is made known: else keys would be evicted for room that is there.
            self.state.evictor.note_growth(&self.engine);
            self.stats().unsent.reset();
        }
    }

    /// Closes the biggest connections if all together hold too much; at the end of an iteration.
    #[inline]
    pub fn limit_clients(&self) {
        self.engine.limit_clients();
    }
}
