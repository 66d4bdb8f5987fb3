//! How far a walk through a database is that one client at a time may have.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// Whether there is a walk, and how far it is.
#[derive(Debug, Default)]
pub(crate) struct WalkProgress {
    under_way: AtomicBool,
    looked: AtomicU64,
    total: AtomicU64,
}

impl WalkProgress {
    /// Begins a walk; `None` while there is one.
    pub(crate) fn start(self: &Arc<Self>) -> Option<Walking> {
        self.under_way.compare_exchange(false, true, AcqRel, Acquire).ok()?;
        self.looked.store(0, Relaxed);
        self.total.store(0, Relaxed);
        Some(Walking(Arc::clone(self)))
    }

    /// Keys that were looked at, and that are to be looked at in all; `None` when there is no walk.
    pub(crate) fn get(&self) -> Option<(u64, u64)> {
        let under_way = self.under_way.load(Acquire);
        under_way.then(|| (self.looked.load(Relaxed), self.total.load(Relaxed)))
    }
}

/// A walk. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Walking(Arc<WalkProgress>);

impl Walking {
    /// This many keys are to be looked at.
    pub(crate) fn begin(&self, total: u64) {
        self.0.total.store(total, Relaxed);
    }

    /// This many were looked at so far.
    pub(crate) fn reached(&self, looked: u64) {
        self.0.looked.store(looked, Relaxed);
    }
}

impl Drop for Walking {
    fn drop(&mut self) {
        self.0.under_way.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_at_a_time() {
        let progress = Arc::new(WalkProgress::default());
        let walking = progress.start().expect("there is none");
        assert!(progress.start().is_none());
        walking.begin(10);
        walking.reached(3);
        assert_eq!(progress.get(), Some((3, 10)));
        drop(walking);
        assert_eq!(progress.get(), None);
        assert!(progress.start().is_some());
    }
}
