//! DEBUG PANIC: a thread of the server panics when it is told to.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Which thread is to panic, if any. All threads read it all the time, so it has cache lines of its own.
#[repr(align(128))]
struct Armed {
    is_armed: AtomicBool,
    thread: Mutex<String>,
}

static ARMED: Armed = Armed { is_armed: AtomicBool::new(false), thread: Mutex::new(String::new()) };

/// Has the thread of this name panic when it next comes by [`panic_if_armed`]: DEBUG PANIC.
pub(crate) fn arm(thread: &str) {
    thread.clone_into(&mut ARMED.thread.lock());
    ARMED.is_armed.store(true, Relaxed);
}

/// Panics if this thread was asked to. Every thread of the server calls it where it begins a piece of work.
#[inline]
pub fn panic_if_armed() {
    if ARMED.is_armed.load(Relaxed) {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let is_me = *ARMED.thread.lock() == name;
        assert!(!is_me, "DEBUG PANIC was called");
    }
}
