//! Figures that only make sense over time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Figures that only make sense over time.
#[derive(Default)]
pub(crate) struct Rates {
    pub(crate) ops_per_second: AtomicU64,
    pub(crate) in_bytes_per_second: AtomicU64,
    pub(crate) out_bytes_per_second: AtomicU64,
    pub(crate) replication_in_bytes_per_second: AtomicU64,
    pub(crate) replication_out_bytes_per_second: AtomicU64,
    pub(crate) used_memory_peak: AtomicU64,
    pub(crate) expire_time_us: AtomicU64,
    pub(crate) expire_stopped_early: AtomicU64,
    pub(crate) expired_fields: AtomicU64,
    pub(crate) loops_per_second: AtomicU64,
    /// Microseconds of one iteration of an event loop, lately.
    pub(crate) loop_us: AtomicU64,
}

impl Rates {
    /// What CONFIG RESETSTAT forgets.
    pub(crate) fn reset(&self) {
        self.expire_time_us.store(0, Relaxed);
        self.expire_stopped_early.store(0, Relaxed);
        self.expired_fields.store(0, Relaxed);
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    pub(crate) processed: u64,
    pub(crate) net_in: u64,
    pub(crate) net_out: u64,
    pub(crate) replication_in: u64,
    pub(crate) replication_out: u64,
    pub(crate) loops: u64,
    pub(crate) loop_ns: u64,
}
