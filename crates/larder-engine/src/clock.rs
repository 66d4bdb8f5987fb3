//! The clocks of the engine: the one place that reads the time of day.
//!
//! A thread reads both clocks once a tick and the monotonic one once a command; the wall clock in between follows from
//! the two, so that a long pipeline does not see time stand still.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A thread's view of the time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
    /// Nanoseconds from the epoch to the last tick.
    tick_ns: u64,
    tick_wall_us: u64,
    /// Nanoseconds from the epoch to the last reading.
    now_ns: u64,
    wall_us: u64,
    /// The wall clock stands still: a script sees one moment.
    frozen: bool,
}

impl Clock {
    /// A clock whose monotonic time starts at `epoch`.
    pub fn new(epoch: Instant) -> Self {
        let mut clock = Clock { epoch, tick_ns: 0, tick_wall_us: 0, now_ns: 0, wall_us: 0, frozen: false };
        clock.tick();
        clock
    }

    /// Reads both clocks.
    pub fn tick(&mut self) {
        self.now_ns = self.epoch.elapsed().as_nanos() as u64;
        self.wall_us = wall_us();
        (self.tick_ns, self.tick_wall_us) = (self.now_ns, self.wall_us);
    }

    /// Reads the monotonic clock and returns the nanoseconds since it was last read.
    #[inline]
    pub fn advance(&mut self) -> u64 {
        let before = self.now_ns;
        self.now_ns = self.epoch.elapsed().as_nanos() as u64;
        if !self.frozen {
            self.wall_us = self.tick_wall_us + (self.now_ns - self.tick_ns) / 1000;
        }
        self.now_ns - before
    }

    /// Stops the wall clock, or lets it go on with the next reading.
    pub fn set_frozen(&mut self, on: bool) {
        self.frozen = on;
    }

    /// Microseconds since 1970.
    pub fn wall_us(&self) -> u64 {
        self.wall_us
    }

    /// Milliseconds since 1970.
    pub fn wall_ms(&self) -> u64 {
        self.wall_us / 1000
    }

    /// Milliseconds since the engine started, never going back.
    pub fn mono_ms(&self) -> u64 {
        self.now_ns / 1_000_000
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

/// Seconds since 1970, read now.
pub fn wall_s() -> u64 {
    wall_ms() / 1000
}
