//! SIGTERM and SIGINT ask the server to stop; a second SIGINT makes it. Others are caught so that they have no effect.

use crate::server::Server;
use crate::shutdown;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Signals without effect. SIGXFSZ comes when a file reaches the limit of the process (`ulimit -f`): the write fails then, and whoever writes
/// deals with that as with a full disk. SIGUSR2 means nothing to Valkey either, and supervisors send it to groups of processes.
const WITHOUT_EFFECT: [i32; 3] = [SIGHUP, SIGUSR2, SIGXFSZ];

/// Catches signals on a thread of their own from now on.
pub fn watch(server: Arc<Server>) -> io::Result<()> {
    let mut signals = Signals::new(WITHOUT_EFFECT.into_iter().chain([SIGINT, SIGTERM]))?;
    std::thread::Builder::new().name("signals".into()).stack_size(128 * 1024).spawn(move || {
        for signal in signals.forever() {
            larder_engine::panic_if_armed();
            follow(&server, signal);
        }
    })?;
    Ok(())
}

fn follow(server: &Arc<Server>, signal: i32) {
    let shared = &server.shared;
    let (name, option) = match signal {
        SIGTERM => ("SIGTERM", "shutdown-on-sigterm"),
        SIGINT => ("SIGINT", "shutdown-on-sigint"),
        _ => return,
    };
    let is_under_way = shared.is_stopping() || shared.shutdown_turn.is_locked() || shutdown::is_asked(shared);
    if is_under_way && signal == SIGINT {
        shared.log.warning("You insist... exiting now.");
        shutdown::exit_at_once(server, 1);
    }
    shared.log.signal(&format!("Received {name} scheduling shutdown..."));
    if !shared.shutdown_asked.swap(true, Relaxed) {
        shutdown::begin(server, shared.config.shutdown_flags(option));
    }
}
