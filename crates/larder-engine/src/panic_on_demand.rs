//! DEBUG PANIC: a thread of the server panics when it is told to.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) static IS_ARMED: AtomicBool = AtomicBool::new(false);

pub(crate) static ARMED: Mutex<String> = Mutex::new(String::new());

/// Has the thread of this name panic when it next comes by [`panic_if_armed`]: DEBUG PANIC.
pub(crate) fn arm(thread: &str) {
    thread.clone_into(&mut ARMED.lock());
    IS_ARMED.store(true, Relaxed);
}

/// Panics if this thread was asked to. Every thread of the server calls it where it begins a piece of work.
#[inline]
pub fn panic_if_armed() {
    if IS_ARMED.load(Relaxed) {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let is_me = *ARMED.lock() == name;
        assert!(!is_me, "DEBUG PANIC was called");
    }
}
