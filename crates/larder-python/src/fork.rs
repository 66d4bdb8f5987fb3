//! Which process this is: a forked child has a copy of the memory and none of the threads that change it. What the parent has opened is dead
//! there, and may have been copied in the middle of a change: it is refused, and never touched, not even to free it.
//!
//! Nor can such a child open something of its own: the locks of the library (`parking_lot`) have one table of all threads that wait for any of them, which
//! in the child names threads that are not there, by memory that others use by now. Who waits then may never be woken. So a child may
//! use the library only if nothing of it was open or under way when it was forked.
//!
//! Forks are counted where the C library makes them, so that those are seen which Python does not know of, as a server's of workers
//! written in C.

use crate::exceptions::ForkError;
use pyo3::prelude::*;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Forks between this process and the one that has loaded the module.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Stores, replicas and calls that may have threads, or may wait.
static ALIVE: AtomicUsize = AtomicUsize::new(0);
/// There were some when this process, or one that it comes from, was forked.
static IS_SPOILED: AtomicBool = AtomicBool::new(false);

/// Counts forks from now on.
///
/// # Errors
/// The system has no memory for it.
pub fn watch() -> PyResult<()> {
    static WATCH: Once = Once::new();
    let mut code = 0;
    WATCH.call_once(|| {
        // SAFETY: the function does nothing but to set atomics, which is allowed between fork and exec. Python never unloads a module.
        code = unsafe { libc::pthread_atfork(None, None, Some(note_fork)) };
    });
    match code {
        0 => Ok(()),
        code => Err(std::io::Error::from_raw_os_error(code).into()),
    }
}

/// In the child.
extern "C" fn note_fork() {
    FORKS.fetch_add(1, Relaxed);
    if ALIVE.load(Relaxed) > 0 {
        IS_SPOILED.store(true, Relaxed);
    }
}

/// Something that may have threads, or may wait, as long as this lives.
pub struct Alive(());

impl Alive {
    /// Of what was opened in this process.
    pub fn begin() -> Alive {
        ALIVE.fetch_add(1, Relaxed);
        Alive(())
    }

    /// Of what is to be opened.
    ///
    /// # Errors
    /// Something was alive when the process was forked.
    pub fn open() -> PyResult<Alive> {
        if IS_SPOILED.load(Relaxed) {
            return Err(ForkError::new_err(
                "a store or a replica was open when this process was forked, so none can be opened here: open the first one after the fork",
            ));
        }
        Ok(Alive::begin())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Relaxed);
    }
}

/// The process that something was made in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Process(u64);

impl Process {
    /// This one.
    #[inline]
    pub fn this() -> Process {
        Process(FORKS.load(Relaxed))
    }

    /// # Errors
    /// This is another process.
    #[inline]
    pub fn check(self) -> PyResult<()> {
        if self == Process::this() { Ok(()) } else { Err(is_another()) }
    }
}

#[cold]
fn is_another() -> PyErr {
    ForkError::new_err(
        "it was opened before the process was forked and cannot be used here: open it after the fork",
    )
}
