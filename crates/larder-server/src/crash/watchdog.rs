//! The watchdog: a worker that has been busy with one iteration of its event loop for longer than `watchdog-period` milliseconds
//! shows its stack in the log, once for each such iteration.

use super::{fault, report};
use crate::shared::{Post, Shared};
use larder_engine::wall_ms;
use std::sync::atomic::Ordering::Relaxed;

/// What has been reported already.
#[derive(Default)]
pub struct Watchdog {
    /// For each worker, the beginning of the iteration that was reported last.
    reported: Vec<u64>,
}

impl Watchdog {
    /// How long until the next look.
    pub fn period_ms(&self, shared: &Shared) -> Option<u32> {
        // Without a period the option is looked at again now and then: it may be set at any time.
        let period = period_ms(shared);
        Some(if period == 0 { 1000 } else { (period / 2).clamp(10, 1000) as u32 })
    }

    /// Looks at all workers.
    pub fn look(&mut self, shared: &Shared) {
        let period = period_ms(shared);
        if period == 0 {
            return;
        }
        self.reported.resize(shared.posts().len(), 0);
        for (post, reported) in shared.posts().iter().zip(&mut self.reported) {
            let since = post.busy_since_ms.load(Relaxed);
            if since != 0 && since != *reported && wall_ms().saturating_sub(since) > period {
                *reported = since;
                show(shared, post);
            }
        }
    }
}

fn period_ms(shared: &Shared) -> u64 {
    u64::try_from(shared.config.number("watchdog-period")).unwrap_or(0)
}

fn show(shared: &Shared, post: &Post) {
    let thread = post.thread.load(Relaxed);
    let stack = fault::ask_for_stack(thread).map_or_else(
        || "no stack trace: the thread is blocked in the kernel\n".to_owned(),
        |addresses| report::stack(&addresses),
    );
    let log = &shared.log;
    log.signal("\n--- WATCHDOG TIMER EXPIRED ---");
    log.raw(&format!("------ STACK TRACE ------\n{thread} {}\n{stack}", report::thread_name(thread)));
    log.raw("------ STACK TRACE DONE ------\n");
    log.signal("--------");
}
