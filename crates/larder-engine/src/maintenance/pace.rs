//! How background threads keep out of the way of clients: how fast they work, and how they wait for
//! shards. They work at full speed while processors are idle, and a little at a time while others want
//! them.
//!
//! After every 50 us of work a thread offers its processor to whoever waits for it. Otherwise, the kernel
//! would let a worker that has got a request wait for up to a millisecond, until the turn of the thread is over.
//! If it gets the processor back late, because programs compute beside it without end, its next turn is longer: an eighth of the
//! time that it has waited.
//!
//! A thread that computes and was kept from running for half of the time has others beside it that
//! want its processor, or its locks. It sleeps then, much longer than it has worked, before it goes on.
//!
//! A thread in a hurry, without whose work keys will be evicted, does none of this.

use crate::keyspace::locks::{MayWait, ShardGuard, Shards};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// A turn of work after which a thread offers its processor: the shortest, and its part of the wait before it.
const TURN: Duration = Duration::from_micros(50);
const TURN_PART_OF_WAIT: u32 = 8;
/// A slice of work after which it looks whether it is in the way.
const SLICE: Duration = Duration::from_micros(300);
/// How long it sleeps if it is.
const REST: Duration = Duration::from_millis(5);

/// How often a thread looks whether a shard is free before it sleeps: for 10 us or so, as long as a pipeline may hold it.
const LOCK_LOOKS: u32 = 200;
/// How long it sleeps then, and how many times.
const LOCK_WAIT: Duration = Duration::from_micros(50);
const LOCK_TRIES: u32 = 20;

/// See the module's comment.
#[derive(Default)]
pub(super) struct Pace {
    /// None in a hurry.
    slice: Option<Slice>,
    /// How long this turn lasts; 0 is the shortest turn.
    turn: Duration,
}

/// A slice of work.
struct Slice {
    began: Instant,
    /// What the thread had computed by then.
    computed: Duration,
    turn_began: Instant,
}

impl Pace {
    /// Begins a slice of work.
    pub(super) fn begin(&mut self) {
        let now = crate::clock::instant();
        self.slice = Some(Slice { began: now, computed: computed(), turn_began: now });
    }

    /// Begins work that cannot wait.
    pub(super) fn hurry(&mut self) {
        self.slice = None;
    }

    /// Offers the processor after a turn. Ends a slice that has lasted long enough, and sleeps if others wanted the
    /// processor.
    pub(super) fn rest_if_busy(&mut self) {
        let Some(slice) = &mut self.slice else { return };
        if slice.turn_began.elapsed() < self.turn.max(TURN) {
            return;
        }
        let offered = crate::clock::instant();
        std::thread::yield_now();
        slice.turn_began = crate::clock::instant();
        self.turn = (slice.turn_began - offered) / TURN_PART_OF_WAIT;
        let lasted = slice.began.elapsed();
        if lasted < SLICE {
            return;
        }
        if is_in_the_way(lasted, computed().saturating_sub(slice.computed)) {
            std::thread::sleep(REST);
        }
        self.begin();
    }
}

/// Whether a thread that ran for so much of this time had to wait for a processor or a lock.
fn is_in_the_way(lasted: Duration, computed: Duration) -> bool {
    computed < lasted / 2
}

/// What this thread has computed.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Locks a shard that a worker may hold. If the worker has lost its processor to this very thread, it gets it back best
/// when this thread sleeps a little: one that yields, as those do who wait for a lock, gives away its turn of several
/// milliseconds, and one that is woken costs the worker.
pub(super) fn lock_patiently<'e>(shards: &'e Shards, shard: usize, may_wait: &MayWait) -> ShardGuard<'e> {
    for _ in 0..LOCK_TRIES {
        for _ in 0..LOCK_LOOKS {
            if let Some(guard) = shards.lock_now(shard) {
                return guard;
            }
            std::hint::spin_loop();
        }
        std::thread::sleep(LOCK_WAIT);
    }
    shards.lock_one(shard, may_wait)
}
