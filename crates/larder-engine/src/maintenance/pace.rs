//! How fast a background thread works: at full speed while processors are idle, and a little at a time
//! while others want them.
//!
//! A thread that computes and was kept from running for half of the time has others beside it that
//! want its processor, or its locks. It sleeps then, much longer than it has worked, before it goes on.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// A slice of work after which the thread looks whether it is in the way.
const SLICE: Duration = Duration::from_micros(300);
/// How long it sleeps if it is.
const REST: Duration = Duration::from_millis(5);

/// See the module's comment.
#[derive(Default)]
pub(super) struct Pace {
    /// When the slice began, and what the thread had computed by then.
    began: Option<(Instant, Duration)>,
}

impl Pace {
    /// Begins a slice of work.
    pub(super) fn begin(&mut self) {
        self.began = Some((crate::clock::instant(), computed()));
    }

    /// Ends a slice that has lasted long enough, and sleeps if others wanted the processor.
    pub(super) fn rest_if_busy(&mut self) {
        let Some((began, before)) = self.began else { return };
        let lasted = began.elapsed();
        if lasted < SLICE {
            return;
        }
        if is_in_the_way(lasted, computed().saturating_sub(before)) {
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
