//! How much memory is in use, cheaply enough to ask before every command.
//!
//! The allocator's figure is exact and costs some 20 to 100 us, as it sums up its arenas. In between, every thread counts
//! by how much it has made memory grow: jemalloc keeps a counter of the bytes allocated and one of those freed for each
//! thread, which are read with two loads. A worker adds what it has grown by to a shared sum once that is worth
//! [`SHARE_BYTES`], so that the line of the sum stays in every core's cache.
//!
//! ```text
//!  in use = [figure when last read + what threads have shared since] + what this thread has not shared
//! ```
//! Precision: other threads' unshared bytes, at most `SHARE_BYTES` each, and what threads did that do not share (saving,
//! loading) since the figure was last read. The figure is read again every 100 ms, and whenever something is to be evicted or
//! refused and it is older than [`FRESH_MS`].
//!
//! What a thread had not shared before a reading is in the figure: it must not count again. Which part of it that is, the
//! thread cannot know; so growth is forgotten, and what it has freed counts, perhaps twice: too little is evicted until
//! the next reading, not too much. A thread that has missed several readings, as all have while there is no limit, forgets
//! both.

use crate::host::Host;
use std::cell::RefCell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// A thread shares its growth when it is this much, either way.
const SHARE_BYTES: i64 = 8 << 10;
/// A figure of this age is good enough to evict by.
pub(crate) const FRESH_MS: u64 = 10;

/// Memory in use, as far as it is known.
#[derive(Default)]
pub(crate) struct Meter {
    used: AtomicI64,
    /// When the figure was last read, on the engine's monotonic clock, and how often it was.
    read_at_ms: AtomicU64,
    readings: AtomicU64,
    /// Held by the thread that reads the figure.
    reading: parking_lot::Mutex<()>,
}

thread_local! {
    /// For threads that serve no clients.
    static GROWTH: RefCell<Growth> = RefCell::default();
}

/// Tells by how much the calling thread has made memory grow. For threads that are no workers, whenever they have
/// freed or taken much; what they do not tell is known a little later.
pub(crate) fn share_growth(meter: &Meter, host: &dyn Host) {
    GROWTH.with_borrow_mut(|growth| growth.share(meter, host));
}

/// What a thread has shared of its growth. Each thread that uses an engine has one, or is not counted between readings.
#[derive(Default)]
pub(crate) struct Growth {
    shared: i64,
    /// The meter's readings when the thread last looked.
    readings: u64,
}

impl Growth {
    /// What the calling thread has grown by and not shared. Shares it when it is much.
    #[inline]
    fn unshared(&mut self, meter: &Meter, host: &dyn Host) -> i64 {
        let grown = host.thread_growth();
        let readings = meter.readings.load(Relaxed);
        if readings != self.readings {
            self.forget(grown, readings);
        }
        let unshared = grown - self.shared;
        if unshared.abs() < SHARE_BYTES {
            return unshared;
        }
        meter.used.fetch_add(unshared, Relaxed);
        self.shared = grown;
        0
    }

    /// What was not shared before the figure was read is in it.
    #[cold]
    fn forget(&mut self, grown: i64, readings: u64) {
        let has_missed_some = readings.wrapping_sub(self.readings) > 1;
        self.shared = if has_missed_some { grown } else { self.shared.max(grown) };
        self.readings = readings;
    }

    /// Reads the figure again on the thread's behalf, and returns it.
    pub(crate) fn read(&mut self, meter: &Meter, host: &dyn Host, now_ms: u64) -> u64 {
        let used = meter.read(now_ms, || host.memory().used);
        self.shared = host.thread_growth();
        self.readings = meter.readings.load(Relaxed);
        used
    }

    /// Shares what the calling thread has grown by.
    fn share(&mut self, meter: &Meter, host: &dyn Host) {
        let grown = host.thread_growth();
        meter.used.fetch_add(grown - self.shared, Relaxed);
        self.shared = grown;
    }

    /// Bytes in use, as the calling thread knows them.
    #[inline]
    pub(crate) fn used(&mut self, meter: &Meter, host: &dyn Host) -> i64 {
        let own = self.unshared(meter, host);
        meter.used.load(Relaxed) + own
    }
}

impl Meter {
    /// Reads the figure again, and returns it.
    ///
    /// What threads share while that goes on is kept. Some of it may be in the figure already and count twice until the
    /// next reading: values freed meanwhile, mostly, so that a little too little is evicted. Forgetting it would have
    /// keys evicted for room that is there.
    fn read(&self, now_ms: u64, read: impl FnOnce() -> u64) -> u64 {
        self.read_at_ms.store(now_ms, Relaxed);
        // One at a time: two that began with the same figure would both add the same difference.
        let _turn = self.reading.lock();
        let before = self.used.load(Relaxed);
        let used = read();
        self.used.fetch_add(used as i64 - before, Relaxed);
        self.readings.fetch_add(1, Relaxed);
        used
    }

    /// Claims the task of reading the figure again if it is not fresh; one thread gets it.
    pub(crate) fn wants_reading(&self, now_ms: u64) -> bool {
        let read_at = self.read_at_ms.load(Relaxed);
        now_ms.saturating_sub(read_at) >= FRESH_MS
            && self.read_at_ms.compare_exchange(read_at, now_ms, Relaxed, Relaxed).is_ok()
    }
}
