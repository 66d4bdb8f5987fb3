//! What the commands on the keys of each slot have cost one thread.
//!
//! An array of three counters for each of the 16,384 slots, 384 KiB, which is there from the first command on that is counted.
//! Counting is O(1); whoever wants a sum adds up the arrays of all threads.

use super::counter::Counter;
use larder_cluster::SLOTS;
use std::sync::OnceLock;

/// What one thread counts for one slot.
#[derive(Default)]
pub struct SlotCounters {
    /// Nanoseconds of execution.
    pub nanos: Counter,
    /// Bytes of requests.
    pub bytes_in: Counter,
    /// Bytes of replies, of messages to subscribers, and of what replicas are sent.
    pub bytes_out: Counter,
}

impl SlotCounters {
    fn reset(&self) {
        [&self.nanos, &self.bytes_in, &self.bytes_out].into_iter().for_each(Counter::reset);
    }
}

/// What one thread counts by slot.
#[derive(Default)]
pub struct SlotStats(OnceLock<Box<[SlotCounters]>>);

impl SlotStats {
    /// The counters of a slot, to count with.
    pub fn of(&self, slot: u16) -> &SlotCounters {
        let all = self.0.get_or_init(|| (0..SLOTS).map(|_| SlotCounters::default()).collect());
        &all[usize::from(slot)]
    }

    /// The counters of a slot, if any was ever used.
    pub fn peek(&self, slot: u16) -> Option<&SlotCounters> {
        self.0.get().map(|all| &all[usize::from(slot)])
    }

    /// Starts the counters of a slot again at zero.
    pub fn reset_slot(&self, slot: u16) {
        if let Some(counters) = self.peek(slot) {
            counters.reset();
        }
    }

    /// Starts all counters again at zero.
    pub fn reset(&self) {
        self.0.get().into_iter().flatten().for_each(SlotCounters::reset);
    }
}
