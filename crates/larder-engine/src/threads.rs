//! What every thread that the engine starts does first: the process around it may want to prepare its threads.

use std::sync::OnceLock;

static ON_START: OnceLock<fn()> = OnceLock::new();

/// Has threads that are started from now on call `prepare` first. Only the first call counts.
pub fn on_thread_start(prepare: fn()) {
    let _ = ON_START.set(prepare);
}

/// A thread has started.
pub(crate) fn started() {
    if let Some(prepare) = ON_START.get() {
        prepare();
    }
}
