//! A number that one thread adds to, without locked instructions, and others read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter with one writer: an addition is a load and a store.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`. Only the thread that owns the counter may call it; a concurrent reset may be lost.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed) + n, Relaxed);
    }

    /// The sum so far.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Has a value again that it had before. As with an addition, only the thread that owns the counter may call it.
    pub fn put_back(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Starts again at zero.
    pub fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}
