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
        let usual = took.max(before - before / 8).max(1);
        if usual != before {
            self.0.store(usual, Relaxed);
        }
    }

    /// Whether it takes long as a rule. What has never run does not.
    pub(crate) fn is_long(&self) -> bool {
        self.0.load(Relaxed) > MOMENT_US
    }

    pub(crate) fn has_run(&self) -> bool {
        self.0.load(Relaxed) > 0
    }
}

/// How long scripts take the first time, by which it is decided of those that have never run. Where every call brings a script of its own,
/// and all are short, they stay on the threads of their clients after some 50 of them; where there are few scripts, it does not matter
/// that each is given away once.
#[derive(Debug)]
pub(crate) struct FirstTimes(UsualTime);

impl Default for FirstTimes {
    /// Nothing is known: they take long.
    fn default() -> Self {
        /// Less than [`MOMENT_US`] after 52 short ones.
        const UNKNOWN_US: u32 = 1_000_000;
        FirstTimes(UsualTime(AtomicU32::new(UNKNOWN_US)))
    }
}

impl FirstTimes {
    /// Whether a script takes long, as far as that is known.
    pub(crate) fn is_long(&self, script: &UsualTime) -> bool {
        if script.has_run() { script.is_long() } else { self.0.is_long() }
    }

    /// A script has taken this long now.
    pub(crate) fn note(&self, script: &UsualTime, took: Duration) {
        if !script.has_run() {
            self.0.note(took);
        }
        script.note(took);
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
    fn new_scripts_are_like_those_before_them() {
        let (first, short) = (FirstTimes::default(), Duration::from_micros(20));
        let new = UsualTime::default();
        assert!(first.is_long(&new));
        first.note(&new, short);
        assert!(!first.is_long(&new), "it is known now");
        let long_ones = (0..1000).take_while(|_| {
            let new = UsualTime::default();
            let is_long = first.is_long(&new);
            first.note(&new, short);
            is_long
        });
        assert_eq!(long_ones.count(), 51);
        // One that has run says nothing of new ones.
        first.note(&new, Duration::from_secs(1));
        assert!(first.is_long(&new) && !first.is_long(&UsualTime::default()));
        first.note(&UsualTime::default(), Duration::from_secs(1));
        assert!(first.is_long(&UsualTime::default()));
        let unmeasurable = UsualTime::default();
        unmeasurable.note(Duration::ZERO);
        assert!(!first.is_long(&unmeasurable));
    }

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
