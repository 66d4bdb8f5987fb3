//! The latency monitor: spikes above `latency-monitor-threshold`, by event.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::VecDeque;

/// Spikes kept of an event.
const HISTORY_MAX: usize = 160;

/// The spikes of one event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spikes {
    /// (Unix time in seconds, milliseconds), oldest first; one a second at most, the worst.
    pub history: VecDeque<(u64, u64)>,
    /// The worst ever, in milliseconds.
    pub worst_ms: u64,
    /// Number of all spikes, those that `history` has no more among them.
    pub count: u64,
    /// Sum of all spikes, in milliseconds.
    pub sum_ms: u64,
}

/// Spikes by event.
#[derive(Default)]
pub(crate) struct LatencyMonitor(Mutex<BTreeMap<&'static str, Spikes>>);

impl LatencyMonitor {
    /// Records a spike.
    pub(crate) fn record(&self, event: &'static str, ms: u64, now_s: u64) {
        let mut events = self.0.lock();
        let spikes = events.entry(event).or_default();
        spikes.worst_ms = spikes.worst_ms.max(ms);
        spikes.count += 1;
        spikes.sum_ms = spikes.sum_ms.saturating_add(ms);
        match spikes.history.back_mut() {
            Some((time, worst)) if *time == now_s => *worst = ms.max(*worst),
            _ => spikes.history.push_back((now_s, ms)),
        }
        if spikes.history.len() > HISTORY_MAX {
            spikes.history.pop_front();
        }
    }

    /// All events with their spikes.
    pub(crate) fn snapshot(&self) -> Vec<(&'static str, Spikes)> {
        self.0.lock().iter().map(|(event, spikes)| (*event, spikes.clone())).collect()
    }

    /// The spikes of one event.
    pub(crate) fn find(&self, event: &[u8]) -> Option<Spikes> {
        self.0
            .lock()
            .iter()
            .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(event))
            .map(|(_, s)| s.clone())
    }

    /// Forgets the events named, or all when none is; returns how many were forgotten.
    pub(crate) fn reset(&self, events: &[&[u8]]) -> usize {
        let mut all = self.0.lock();
        let before = all.len();
        all.retain(|name, _| {
            !events.is_empty() && !events.iter().any(|e| name.as_bytes().eq_ignore_ascii_case(e))
        });
        before - all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spike_a_second_and_a_bounded_history() {
        let monitor = LatencyMonitor::default();
        monitor.record("command", 5, 1);
        monitor.record("command", 9, 1);
        monitor.record("command", 7, 1);
        assert_eq!(monitor.find(b"COMMAND").map(|s| s.history), Some(VecDeque::from([(1, 9)])));
        (2..1000).for_each(|second| monitor.record("command", 1, second));
        let spikes = monitor.find(b"command").unwrap();
        assert_eq!((spikes.history.len(), spikes.worst_ms), (HISTORY_MAX, 9));
        assert_eq!((spikes.count, spikes.sum_ms), (3 + 998, 21 + 998));
        assert_eq!((monitor.reset(&[b"other"]), monitor.reset(&[])), (0, 1));
    }
}
