//! Warnings that strangers can cause: at most one a minute.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const INTERVAL_MS: u64 = 60_000;

/// When something was last said.
#[derive(Default)]
pub(crate) struct Throttle(AtomicU64);

impl Throttle {
    /// Whether it may be said again at `now_ms` of the wall clock; if so, of several threads one is told.
    pub(crate) fn is_due(&self, now_ms: u64) -> bool {
        let last = self.0.load(Relaxed);
        // A clock that was set back must not silence it for good.
        (last == 0 || now_ms.abs_diff(last) > INTERVAL_MS)
            && self.0.compare_exchange(last, now_ms.max(1), Relaxed, Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Throttle;

    #[test]
    fn once_a_minute() {
        let throttle = Throttle::default();
        assert!(throttle.is_due(1000) && !throttle.is_due(1000) && !throttle.is_due(61_000));
        assert!(throttle.is_due(61_001) && !throttle.is_due(61_002));
        assert!(throttle.is_due(5), "the clock was set back");
    }
}
