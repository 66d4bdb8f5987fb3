//! The few figures that charts show, as numbers.

use super::commands::{BUCKETS_US, times};
use crate::engine::Engine;
use crate::keyspace::key::SHARDS;
use std::sync::atomic::Ordering::Relaxed;

/// Rows of a histogram of latencies.
pub const LATENCY_ROWS: usize = BUCKETS_US.len();

/// Figures of one moment. Counters count since the start or CONFIG RESETSTAT.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes of the process in memory.
    pub resident_bytes: u64,
    /// Connections.
    pub clients: u64,
    /// Keys of all databases; `None` while a script keeps a shard.
    pub keys: Option<u64>,
    /// Commands executed.
    pub commands: u64,
    /// Keys found by reading commands.
    pub hits: u64,
    /// Keys not found by reading commands.
    pub misses: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Keys deleted because they had expired.
    pub expired: u64,
    /// Keys evicted.
    pub evicted: u64,
    /// Milliseconds of processor time.
    pub cpu_ms: u64,
    /// Commands by their time: the row `n` has those that took up to 2^n microseconds.
    pub latencies: [u64; LATENCY_ROWS],
}

impl Engine {
    /// Returns the figures of this moment. Each shard is held for the time of a few loads.
    pub fn figures(&self) -> Figures {
        let (memory, cpu) = (self.host.memory(), self.host.cpu());
        Figures {
            used_bytes: memory.used,
            resident_bytes: memory.rss,
            clients: self.clients.count(|_| true) as u64,
            keys: keys(self),
            commands: self.commands_processed(),
            hits: self.sum(|stats| &stats.hits),
            misses: self.sum(|stats| &stats.misses),
            bytes_in: self.net_in(),
            bytes_out: self.net_out(),
            expired: self.sum(|stats| &stats.expired) + self.expired_actively.load(Relaxed),
            evicted: self.eviction.evicted_keys.load(Relaxed),
            cpu_ms: ((cpu.sys + cpu.user) * 1e3) as u64,
            latencies: times(self),
        }
    }
}

fn keys(engine: &Engine) -> Option<u64> {
    let of = |shard| {
        let data = engine.shards.lock_lent_soon(shard)?;
        Some(data.tables().iter().map(|table| table.len() as u64).sum::<u64>())
    };
    (0..SHARDS).map(of).sum()
}
