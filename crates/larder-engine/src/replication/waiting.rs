//! Clients that wait until the disk or replicas have what they have written (WAIT, WAITAOF).

use crate::keyspace::waiting::Waiter;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// All who wait.
#[derive(Default)]
pub(crate) struct AckWaiters {
    all: Mutex<Vec<Arc<Waiter>>>,
    count: AtomicUsize,
}

impl AckWaiters {
    pub(crate) fn add(&self, waiter: Arc<Waiter>) {
        let mut all = self.all.lock();
        all.push(waiter);
        self.count.store(all.len(), Relaxed);
    }

    /// Whether anybody waits.
    pub(crate) fn any(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// Takes out those for whom `is_over` holds. Those whom others have claimed are forgotten.
    pub(crate) fn take(&self, is_over: impl Fn(&Waiter) -> bool) -> Vec<Arc<Waiter>> {
        let mut all = self.all.lock();
        all.retain(|waiter| !waiter.is_taken());
        let over = all.extract_if(.., |waiter| is_over(waiter)).collect();
        self.count.store(all.len(), Relaxed);
        over
    }
}
