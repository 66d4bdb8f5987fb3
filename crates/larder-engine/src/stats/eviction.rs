//! How eviction is going: what its threads share.

use crate::keyspace::key::SHARDS;
use crate::stats::memory_meter::Meter;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// What the threads share of eviction.
#[derive(Default)]
pub(crate) struct Eviction {
    pub(crate) meter: Meter,
    /// Keys evicted.
    pub(crate) evicted_keys: AtomicU64,
    /// Bytes of evicted keys that a snapshot keeps.
    pub(crate) kept_aside: AtomicI64,
    /// Bytes of the data that scripts are debugged on.
    pub(crate) copies: AtomicI64,
    /// Bytes of evicted values that wait to be freed.
    pub(crate) in_flight: AtomicI64,
    /// Microseconds since the engine started when there began to be too much; 0 when there is not.
    exceeded_since_us: AtomicU64,
    /// Microseconds for which there was too much before.
    exceeded_us: AtomicU64,
    pub(crate) rounds: Rounds,
}

/// Which shard is next in the round that the threads share.
#[derive(Default)]
pub(crate) struct Rounds {
    taken: AtomicUsize,
}

impl Rounds {
    pub(crate) fn take_shard(&self) -> usize {
        self.taken.fetch_add(1, Relaxed) % SHARDS
    }

    /// How many shards threads have taken so far.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }
}

impl Eviction {
    /// Milliseconds for which there was too much memory in use: ever, and now.
    pub(crate) fn exceeded_ms(&self, now_us: u64) -> (u64, u64) {
        let since = self.exceeded_since_us.load(Relaxed);
        let now = if since == 0 { 0 } else { now_us.saturating_sub(since) };
        ((self.exceeded_us.load(Relaxed) + now) / 1000, now / 1000)
    }

    /// What CONFIG RESETSTAT forgets.
    pub(crate) fn reset(&self) {
        self.evicted_keys.store(0, Relaxed);
        self.exceeded_us.store(0, Relaxed);
        self.exceeded_since_us.store(0, Relaxed);
    }

    /// An evicted value was freed, and the thread that did it has shared what it gained.
    pub(crate) fn landed(&self, bytes: u64) {
        self.in_flight.fetch_sub(bytes as i64, Relaxed);
    }

    pub(crate) fn note_below(&self, now_us: u64) {
        if self.exceeded_since_us.load(Relaxed) != 0 {
            let since = self.exceeded_since_us.swap(0, Relaxed);
            if since != 0 {
                self.exceeded_us.fetch_add(now_us.saturating_sub(since), Relaxed);
            }
        }
    }

    pub(crate) fn note_exceeded(&self, now_us: u64) {
        let _ = self.exceeded_since_us.compare_exchange(0, now_us.max(1), Relaxed, Relaxed);
    }
}
