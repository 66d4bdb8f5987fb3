//! The clocks of the engine: the one place that reads the time of day.
//!
//! A thread reads both clocks once a tick and the monotonic one once a command; the wall clock in between follows from
//! the two, so that a long pipeline does not see time stand still.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A thread's view of the time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    tick: Instant,
    tick_wall_us: u64,
    now: Instant,
    wall_us: u64,
}

impl Clock {
    /// A clock that starts counting monotonic milliseconds at `epoch`.
    pub fn new(epoch: Instant) -> Self {
        let (now, wall_us) = (Instant::now(), wall_us());
        Clock { started: epoch, tick: now, tick_wall_us: wall_us, now, wall_us }
    }

    /// Reads both clocks.
    pub fn tick(&mut self) {
        self.tick = Instant::now();
        self.now = self.tick;
        self.tick_wall_us = wall_us();
        self.wall_us = self.tick_wall_us;
    }

    /// Reads the monotonic clock and returns the time since it was last read.
    pub fn advance(&mut self) -> Duration {
        let before = self.now;
        self.now = Instant::now();
        self.wall_us = self.tick_wall_us + self.now.duration_since(self.tick).as_micros() as u64;
        self.now.duration_since(before)
    }

    /// Microseconds since 1970.
    pub fn wall_us(&self) -> u64 {
        self.wall_us
    }

    /// Milliseconds since 1970.
    pub fn wall_ms(&self) -> u64 {
        self.wall_us() / 1000
    }

    /// Milliseconds since the engine started, never going back.
    pub fn mono_ms(&self) -> u64 {
        self.now.duration_since(self.started).as_millis() as u64
    }
}

/// Microseconds since 1970, read now.
pub fn wall_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64)
}

/// Milliseconds since 1970, read now.
pub fn wall_ms() -> u64 {
    wall_us() / 1000
}
