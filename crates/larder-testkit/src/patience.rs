//! How tests wait for what a server does by itself.

use crate::Client;
use std::time::{Duration, Instant};

/// How long it may take, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two questions: without a pause, the question itself takes the processor from what is waited for.
const PAUSE: Duration = Duration::from_millis(4);

/// Asks again until it is so. Panics with `what` after a minute.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Waits until no rewrite of the append-only file runs, and none is going to. Both are asked for at once: one that begins between two
/// questions would answer neither.
pub fn wait_until_rewritten(client: &mut Client) {
    wait_until("the log is written anew", || {
        let info = client.ask("INFO persistence").text();
        ["aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0"].iter().all(|sign| info.contains(sign))
    });
}
