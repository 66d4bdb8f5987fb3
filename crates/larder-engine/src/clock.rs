//! The clocks of the engine: the one place that reads the time of day.
//!
//! A thread reads both clocks once a tick. At each command it reads the processor's cycle counter, or the monotonic clock
//! where there is none to rely on ([`Cycles`]); the wall clock in between follows, so that a long pipeline does not see
//! time stand still.

use larder_packed::cycles;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What the counter may be ahead of the clock without anybody caring.
const AHEAD_NS: u64 = 1_000_000;

/// A thread's view of the time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
    cycles: Cycles,
    /// Nanoseconds from the epoch to the last tick.
    tick_ns: u64,
    tick_wall_us: u64,
    /// Nanoseconds from the epoch to the last reading.
    now_ns: u64,
    wall_us: u64,
    /// The wall clock stands still: a transaction, and a script, sees one moment.
    frozen: bool,
}

impl Clock {
    /// A clock whose monotonic time starts at `epoch`.
    pub fn new(epoch: Instant) -> Self {
        let cycles = Cycles::new(cycles::is_steady());
        let mut clock =
            Clock { epoch, cycles, tick_ns: 0, tick_wall_us: 0, now_ns: 0, wall_us: 0, frozen: false };
        clock.tick();
        clock
    }

    /// Reads both clocks.
    pub fn tick(&mut self) {
        let reading = Reading::take(self.epoch);
        self.cycles.compare(reading, self.tick_ns);
        // The counter may have been ahead of the clock by a little.
        self.now_ns =
            if self.now_ns < reading.ns + AHEAD_NS { self.now_ns.max(reading.ns) } else { reading.ns };
        self.wall_us = wall_us();
        (self.tick_ns, self.tick_wall_us) = (reading.ns, self.wall_us);
    }

    /// Puts the wall clock forward if it is earlier, until the next tick.
    #[cfg(debug_assertions)]
    pub(crate) fn not_before(&mut self, wall_us: u64) {
        self.tick_wall_us = self.tick_wall_us.max(wall_us);
        self.wall_us = self.wall_us.max(wall_us);
    }

    /// Reads both clocks, unless the counter tells that the last tick is less than `ns` nanoseconds ago: then it tells the time.
    pub fn tick_after(&mut self, ns: u64) {
        let read = cycles::read();
        // A counter that went back tells nothing.
        let goes_on = self.cycles.tick.is_some_and(|tick| read >= tick);
        if goes_on && self.cycles.since_tick(|| read).is_some_and(|passed| passed < ns) {
            self.advance();
        } else {
            self.tick();
        }
    }

    /// Looks how late it is and returns the nanoseconds since it last did.
    #[inline]
    pub fn advance(&mut self) -> u64 {
        let before = self.now_ns;
        let now = match self.cycles.since_tick(cycles::read) {
            Some(ns) => self.tick_ns + ns,
            None => self.epoch.elapsed().as_nanos() as u64,
        };
        self.now_ns = now.max(before);
        if !self.frozen {
            self.wall_us = self.tick_wall_us + (self.now_ns - self.tick_ns) / 1000;
        }
        self.now_ns - before
    }

    /// Stops the wall clock, or lets it go on with the next reading; returns whether it stood still before.
    pub fn set_frozen(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.frozen, on)
    }

    /// Microseconds since 1970.
    pub fn wall_us(&self) -> u64 {
        self.wall_us
    }

    /// Milliseconds since 1970.
    pub fn wall_ms(&self) -> u64 {
        self.wall_us / 1000
    }

    /// Nanoseconds since the engine started, never going back.
    pub fn mono_ns(&self) -> u64 {
        self.now_ns
    }

    /// Milliseconds since the engine started, never going back.
    pub fn mono_ms(&self) -> u64 {
        self.now_ns / 1_000_000
    }
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
struct Reading {
    ns: u64,
    cycles: u64,
    /// Whether nothing came between the two.
    is_close: bool,
}

impl Reading {
    fn take(epoch: Instant) -> Reading {
        /// A few times what reading a clock takes, and less than any interruption.
        const CLOSE_CYCLES: u64 = 5_000;
        let cycles = cycles::read();
        let ns = epoch.elapsed().as_nanos() as u64;
        Reading { ns, cycles, is_close: cycles::read().wrapping_sub(cycles) < CLOSE_CYCLES }
    }
}

/// What is known of the cycle counter.
///
/// Its rate is measured against the monotonic clock while the thread works, over ever longer times; until then, and
/// wherever the two turn out to disagree (a counter that changes its rate, a machine moved to another while it runs,
/// processors whose counters differ), it is not used.
#[derive(Clone, Copy, Debug)]
struct Cycles {
    steady: bool,
    /// Nanoseconds a cycle, times 2^32; 0 while it is not known.
    rate: u64,
    /// The last measurement; a clock that jumped within it makes it any number.
    measured: u64,
    /// How many measurements in a row agreed with the one before them. The rate is known from the second on: two jumps may be alike by chance.
    agreed: u32,
    /// The counter at the last tick, if it was read close enough to the clock.
    tick: Option<u64>,
    /// Where the measurement began, and from what time on it is to be taken.
    origin: Option<Reading>,
    measure_at_ns: u64,
}

impl Cycles {
    /// How long the first measurement takes, in nanoseconds: good for one part in 50,000 and better with every other.
    const FIRST_NS: u64 = 10_000_000;
    /// Two measurements agree when they differ by one part in this many.
    const AGREEMENT: u64 = 1000;
    /// Agreements in a row that make a rate.
    const AGREED: u32 = 2;

    fn new(steady: bool) -> Self {
        Cycles { steady, rate: 0, measured: 0, agreed: 0, tick: None, origin: None, measure_at_ns: 0 }
    }

    /// Nanoseconds since the last tick, if it can tell.
    #[inline]
    fn since_tick(&self, read: impl FnOnce() -> u64) -> Option<u64> {
        let tick = self.tick.filter(|_| self.rate != 0)?;
        Some(scaled(read().saturating_sub(tick), self.rate))
    }

    /// A tick: compares the counter with the clock, and measures its rate when it is time to.
    fn compare(&mut self, reading: Reading, tick_ns: u64) {
        /// What a tick may be off by: this, and a thousandth of the time since the last.
        const OFF_NS: u64 = 10_000;
        if !self.steady {
            return;
        }
        if !reading.is_close {
            // The clock serves until the next tick.
            self.tick = None;
            return;
        }
        let passed = reading.ns - tick_ns;
        if let Some(told) = self.since_tick(|| reading.cycles)
            && told.abs_diff(passed) > OFF_NS + passed / 1000
        {
            *self = Cycles::new(true);
        }
        self.tick = Some(reading.cycles);
        let origin = *self.origin.get_or_insert_with(|| {
            self.measure_at_ns = reading.ns + Self::FIRST_NS;
            reading
        });
        if reading.ns >= self.measure_at_ns {
            let (ns, cycles) = (reading.ns - origin.ns, reading.cycles.saturating_sub(origin.cycles));
            let rate = u64::try_from((u128::from(ns) << 32) / u128::from(cycles.max(1))).unwrap_or(0);
            if rate.abs_diff(self.measured) <= rate / Self::AGREEMENT {
                self.agreed += 1;
                self.measure_at_ns = reading.ns + 2 * ns;
                if self.agreed >= Self::AGREED {
                    self.rate = rate;
                }
            } else {
                (self.rate, self.agreed, self.origin) = (0, 0, Some(reading));
                self.measure_at_ns = reading.ns + Self::FIRST_NS;
            }
            self.measured = rate;
        }
    }
}

/// `cycles` in nanoseconds.
#[inline]
fn scaled(cycles: u64, rate: u64) -> u64 {
    ((u128::from(cycles) * u128::from(rate)) >> 32) as u64
}

/// The monotonic clock, read now: for what lasts long enough that a reading does not matter.
pub fn instant() -> Instant {
    Instant::now()
}

/// Milliseconds of a clock that never goes back, read now. It begins with its first reading in this
/// process.
pub fn mono_ms() -> u64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(instant);
    BEGIN.elapsed().as_millis() as u64
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A moment on a machine of three cycles a nanosecond, and a bit.
    fn at(ns: u64) -> Reading {
        Reading { ns, cycles: 7_000 + ns * 3 + ns / 100, is_close: true }
    }

    fn measured() -> Cycles {
        let mut cycles = Cycles::new(true);
        cycles.compare(at(0), 0);
        cycles.compare(at(5 * MS), 0);
        assert_eq!(cycles.since_tick(|| 1), None, "nothing is known at first");
        cycles.compare(at(10 * MS), 5 * MS);
        assert_eq!(cycles.since_tick(|| 1), None, "one measurement is not enough");
        cycles.compare(at(20 * MS), 10 * MS);
        assert_eq!(cycles.since_tick(|| 1), None, "nor are two that agree");
        cycles.compare(at(40 * MS), 20 * MS);
        cycles
    }

    #[test]
    fn a_measured_counter_tells_the_time() {
        let cycles = measured();
        for ns in [0, 100, MS, 10_000 * MS, 1_000_000_000 * MS] {
            let told = cycles.since_tick(|| at(40 * MS + ns).cycles).unwrap();
            assert!(told.abs_diff(ns) <= 2 + ns / 10_000, "{told} for {ns}");
        }
        assert_eq!(cycles.since_tick(|| 0), Some(0), "a counter that went back");
    }

    #[test]
    fn a_counter_that_disagrees_is_measured_anew() {
        let mut cycles = measured();
        cycles.compare(at(41 * MS), 40 * MS);
        assert!(cycles.rate > 0);
        let elsewhere = |ms: u64| Reading { cycles: at(ms * MS).cycles + 40_000, ..at(ms * MS) };
        cycles.compare(elsewhere(42), 41 * MS);
        assert_eq!(cycles.since_tick(|| elsewhere(42).cycles), None);
        for (before, ms) in [(42, 52), (52, 62), (62, 82)] {
            cycles.compare(elsewhere(ms), before * MS);
        }
        assert!(cycles.since_tick(|| 1).is_some(), "it has been steady since");
    }

    #[test]
    fn a_clock_that_jumped_measures_nothing() {
        let mut cycles = Cycles::new(true);
        cycles.compare(at(0), 0);
        let jumped = |ms: u64| Reading { ns: at(ms * MS).ns + 500 * MS, ..at(ms * MS) };
        cycles.compare(jumped(1), 0);
        cycles.compare(jumped(11), 501 * MS);
        assert_eq!(cycles.since_tick(|| 1), None);
        cycles.compare(jumped(21), 511 * MS);
        cycles.compare(jumped(41), 521 * MS);
        assert!(cycles.since_tick(|| 1).is_some(), "three measurements agree");
    }

    #[test]
    fn two_jumps_that_are_alike_measure_nothing() {
        let mut cycles = Cycles::new(true);
        cycles.compare(at(0), 0);
        let jumped = |ms: u64, by_ms: u64| Reading { ns: at((ms + by_ms) * MS).ns, ..at(ms * MS) };
        cycles.compare(jumped(1, 50), 0);
        cycles.compare(jumped(2, 100), 51 * MS);
        assert_eq!((cycles.agreed, cycles.since_tick(|| 1)), (1, None));
        cycles.compare(jumped(104, 100), 102 * MS);
        assert_eq!((cycles.agreed, cycles.since_tick(|| 1)), (0, None));
    }

    #[test]
    fn a_moment_that_was_not_caught_is_left_to_the_clock() {
        let mut cycles = measured();
        cycles.compare(Reading { is_close: false, ..at(41 * MS) }, 40 * MS);
        assert_eq!(cycles.since_tick(|| at(41 * MS).cycles), None);
        cycles.compare(at(42 * MS), 41 * MS);
        assert!(cycles.since_tick(|| 1).is_some());
    }

    #[test]
    fn a_counter_that_is_not_steady_is_not_used() {
        let mut cycles = Cycles::new(false);
        (0..100).for_each(|ms| cycles.compare(at(ms * MS), (ms * MS).saturating_sub(MS)));
        assert_eq!(cycles.since_tick(|| 1), None);
    }

    #[test]
    fn a_tick_that_comes_early_is_told_by_the_counter() {
        let mut clock = Clock::new(Instant::now());
        if !clock.cycles.steady {
            return;
        }
        while clock.cycles.rate == 0 {
            clock.tick();
        }
        let tick_ns = clock.tick_ns;
        clock.tick_after(u64::MAX);
        assert!(clock.tick_ns == tick_ns && clock.now_ns > tick_ns, "the clocks were read");
        clock.tick_after(0);
        assert!(clock.tick_ns > tick_ns, "they were not");
        clock.cycles.tick = Some(u64::MAX);
        let tick_ns = clock.tick_ns;
        clock.tick_after(u64::MAX);
        assert!(clock.tick_ns > tick_ns, "a counter that went back was believed");
    }

    #[test]
    fn time_never_goes_back() {
        let mut clock = Clock::new(Instant::now());
        let (mut before, mut passed) = (clock.now_ns, 0);
        while clock.now_ns < 60 * MS {
            for _ in 0..1000 {
                passed += clock.advance();
                assert!(clock.now_ns >= before);
                before = clock.now_ns;
            }
            let told = clock.now_ns;
            clock.tick();
            before = clock.now_ns;
            assert!(clock.now_ns + MS > told, "{told} told, {} is true", clock.now_ns);
        }
        assert!(passed <= before + MS, "{passed} of {before}");
    }
}
