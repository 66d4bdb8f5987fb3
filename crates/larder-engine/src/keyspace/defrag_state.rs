//! What the thread that moves blocks is asked for, and what it has done.

use larder_packed::heap::Moved;
use parking_lot::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// See the module's comment.
#[derive(Default)]
pub(crate) struct DefragState {
    is_asked: AtomicBool,
    /// Percent of a core; 0 while nothing is moved.
    percent: AtomicU64,
    /// When the present run began, on the engine's clock in microseconds.
    since_us: AtomicU64,
    /// Length of the runs that have ended.
    total_us: AtomicU64,
    moved: Mutex<Moved>,
}

impl DefragState {
    /// Asks for all blocks in sparse slabs to be moved soon, whatever the options say.
    pub(crate) fn ask(&self) {
        self.is_asked.store(true, Relaxed);
    }

    /// Whether that was asked since the last call.
    pub(crate) fn take_asked(&self) -> bool {
        self.is_asked.load(Relaxed) && self.is_asked.swap(false, Relaxed)
    }

    /// A run begins, or goes on with another share of a core.
    pub(crate) fn run(&self, percent: u64, now_us: u64) {
        if self.percent.swap(percent, Relaxed) == 0 {
            self.since_us.store(now_us, Relaxed);
        }
    }

    /// The run, if there is one, has ended.
    pub(crate) fn end(&self, now_us: u64) {
        if self.percent.swap(0, Relaxed) != 0 {
            self.total_us.fetch_add(now_us.saturating_sub(self.since_us.load(Relaxed)), Relaxed);
        }
    }

    /// Notes what the thread has done since it began.
    pub(crate) fn note(&self, moved: Moved) {
        *self.moved.lock() = moved;
    }

    /// What the thread has done since it began.
    pub(crate) fn moved(&self) -> Moved {
        *self.moved.lock()
    }

    /// Percent of a core that the present run may take; 0 without one.
    pub(crate) fn running_percent(&self) -> u64 {
        self.percent.load(Relaxed)
    }

    /// Length of all runs, and of the present one, in milliseconds.
    pub(crate) fn time_ms(&self, now_us: u64) -> (u64, u64) {
        let is_running = self.percent.load(Relaxed) != 0;
        let now = if is_running { now_us.saturating_sub(self.since_us.load(Relaxed)) } else { 0 };
        ((self.total_us.load(Relaxed) + now) / 1000, now / 1000)
    }
}
