//! What connections cost, and `maxmemory-clients`: when all of them together hold too much, the biggest are closed.
//!
//! Each connection's worker notes what it holds in its [`ClientShared`]; while there is a limit, every change of that goes
//! into a sum as well, so that an iteration of an event loop sees with one load whether there is too much. What changes
//! without input or output (subscriptions, watched keys) is added with the next of these, or by the timer.
//!
//! Connections make room before keys do: what is to be closed, or may yet go out, does not count against `maxmemory`, and a thread that finds
//! too much in use waits until another one has chosen who is to be closed. Tested by `tests/client_eviction.rs`.

use crate::clients::session::{ClientShared, Closing, Session};
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
        self.client_memory.count(&client.counted, client.limited_memory());
    }

    /// The connection is gone.
    pub(crate) fn uncount_client(&self, client: &ClientShared) {
        self.client_memory.forget(&client.counted);
    }

    /// Bytes that are about to go: of connections that are being closed because all together held too much, and of replies
    /// that the sockets have not been offered yet.
    pub(crate) fn leaving_client_bytes(&self) -> u64 {
        self.client_memory.leaving() + self.sum(|stats| &stats.unsent)
    }

    /// Recounts all connections and keeps to the limit; for the timer.
    pub(crate) fn check_clients(&self) {
        if self.client_limit().is_some() {
            self.clients.snapshot().iter().for_each(|client| self.recount(client));
            self.limit_clients();
        }
    }

    /// Closes the biggest connections while all together hold more than `maxmemory-clients`. Says whether there is a limit. When it returns, what
    /// is beyond the limit is known to be about to go, whichever thread has found it.
    #[inline]
    pub(crate) fn limit_clients(&self) -> bool {
        let limit = self.client_limit();
        if let Some(limit) = limit
            && self.client_memory.staying() >= limit as i64
        {
            self.evict_clients(limit);
        }
        limit.is_some()
    }

    #[cold]
    fn evict_clients(&self, limit: u64) {
        for (client, bytes) in self.choose_clients(limit) {
            self.client_memory.evicted.fetch_add(1, Relaxed);
            let line = format!("Evicting client: id={} addr={} tot-mem={bytes}", client.id, client.addr);
            self.host.log(LogLevel::Notice, &line);
            self.close_client(&client);
        }
    }

    /// Who is to be closed, and what they hold.
    fn choose_clients(&self, limit: u64) -> Vec<(Arc<ClientShared>, u64)> {
        // Another thread may be choosing: else this one would evict keys while the other has come half the way.
        let _alone = self.client_memory.choosing.lock();
        let mut candidates: Vec<Arc<ClientShared>> = self.clients.snapshot();
        // Not the common sum, in which a connection may have less or more than its own word says while it is being counted: that would cost others
        // their connections.
        let mut left: u64 = candidates.iter().map(|client| client.counted.staying()).sum();
        // One that has just come has its first commands executed: else nobody could change a limit that connections exceed which may not be
        // closed.
        let now_ms = crate::clock::wall_ms();
        candidates.retain(|client| client.may_be_evicted() && !client.has_just_come(now_ms));
        candidates.sort_by_cached_key(|client| std::cmp::Reverse(client.counted.staying()));
        let mut chosen = Vec::new();
        for client in candidates {
            // Its worker has not counted it yet.
            if left < limit || client.counted.staying() == 0 {
                break;
            }
            if let Some(bytes) = self.client_memory.let_go(&client.counted) {
                left = left.saturating_sub(bytes);
                client.set_closing(Closing::Now);
                chosen.push((client, bytes));
            }
        }
        chosen
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
