//! How long a script, or the transactions of a client, take as a rule, by which it is decided before they run whose thread they run on.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Longer is long: clients that wait meanwhile notice it.
const MOMENT_US: u32 = 1_000;

/// The longest of its last times, in us: older ones count less. Threads may write it over each other.
#[derive(Debug, Default)]
pub(crate) struct UsualTime(AtomicU32);

impl UsualTime {
    /// It has taken this long now.
    pub(crate) fn note(&self, took: Duration) {
        let (took, before) = (u32::try_from(took.as_micros()).unwrap_or(u32::MAX), self.0.load(Relaxed));
        let usual = took.max(before - before / 8);
        if usual != before {
            self.0.store(usual, Relaxed);
        }
    }

    /// Whether it takes long as a rule.
    pub(crate) fn is_long(&self) -> bool {
        self.0.load(Relaxed) > MOMENT_US
    }
}

impl Clone for UsualTime {
    fn clone(&self) -> Self {
        UsualTime(AtomicU32::new(self.0.load(Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_time_counts_for_some_short_ones() {
        let usual = UsualTime::default();
        usual.note(Duration::from_micros(900));
        assert!(!usual.is_long());
        usual.note(Duration::from_millis(2));
        (0..5).for_each(|_| usual.note(Duration::from_micros(10)));
        assert!(usual.is_long());
        (0..5).for_each(|_| usual.note(Duration::from_micros(10)));
        assert!(!usual.is_long());
        usual.note(Duration::MAX);
        assert!(usual.is_long());
    }
}
