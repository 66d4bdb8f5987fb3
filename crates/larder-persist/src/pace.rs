//! How work in the background leaves the processor to the threads that serve clients.
//!
//! When a thread wakes, the kernel mostly preempts the one that has the processor; when it does not, the one
//! that woke waits for the next tick, which comes every 4 ms with many kernels. A thread that sleeps now and
//! then is in nobody's way for longer than it works at a time. While no clients are served it works on. A low
//! priority does worse: it does not help a thread that waits for the tick, and beside busy threads the work
//! takes many times as long.
//!
//! What it brings: `docs/design/persistence.md`.

use larder_engine::Engine;
use std::thread;
use std::time::{Duration, Instant};

/// How long it works at a time.
const TURN: Duration = Duration::from_micros(100);
/// How long it sleeps between turns; the kernel's timers add to that as much as they are late.
const PAUSE: Duration = Duration::from_micros(50);
/// Clients are being served if one was within this time.
const RECENTLY: Duration = Duration::from_secs(1);
/// Steps between two looks at the clock.
const STEPS: u32 = 16;

/// The pace of one thread.
pub struct Pace<'e> {
    /// None hurries.
    engine: Option<&'e Engine>,
    steps: u32,
    /// When the turn began.
    begun: Instant,
    /// Commands executed when it was last asked, and when there were more of them than before. At the start clients
    /// are taken to be served: a worker that waits for this very thread executes none.
    commands: u64,
    served: Instant,
}

impl<'e> Pace<'e> {
    /// Makes room for the threads that serve clients of `engine`.
    pub fn of(engine: &'e Engine) -> Self {
        let now = Instant::now();
        let commands = engine.commands_processed();
        Pace { engine: Some(engine), steps: 0, begun: now, commands, served: now }
    }

    /// Makes no pauses: somebody waits.
    pub fn hurry() -> Self {
        let now = Instant::now();
        Pace { engine: None, steps: 0, begun: now, commands: 0, served: now }
    }

    /// Whether nobody is made room for.
    pub fn hurries(&self) -> bool {
        self.engine.is_none()
    }

    /// To be called after each small piece of work, a few microseconds at most, with no lock held: may sleep.
    #[inline]
    pub fn step(&mut self) {
        self.steps += 1;
        if self.steps >= STEPS {
            self.look();
        }
    }

    /// The same after a piece of work that may have taken longer.
    pub fn look(&mut self) {
        self.steps = 0;
        let Some(engine) = self.engine else { return };
        let now = Instant::now();
        if now.duration_since(self.begun) < TURN {
            return;
        }
        self.begun = now;
        let commands = engine.commands_processed();
        if commands != self.commands {
            (self.commands, self.served) = (commands, now);
        }
        if now.duration_since(self.served) < RECENTLY {
            thread::sleep(PAUSE);
            self.begun = Instant::now();
        }
    }
}
