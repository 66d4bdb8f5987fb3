//! The script that has been running for longer than `busy-reply-threshold`. Scripts take turns, so there is one at most.

use crate::error::CommandError;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// What others may know of it, and the wish that it end.
#[derive(Default)]
pub(crate) struct Running {
    now: Mutex<Option<LongScript>>,
    kill: AtomicBool,
}

/// A script that takes its time.
#[derive(Clone, Debug)]
pub(crate) struct LongScript {
    /// The digest of a script, or the name of a function.
    pub name: Vec<u8>,
    /// Whether it is a function.
    pub is_function: bool,
    /// It has called a command that writes: it cannot be killed.
    pub has_written: bool,
    /// The command that runs it.
    pub command: Vec<Vec<u8>>,
    pub started: Instant,
}

impl Running {
    /// A script has been running for long.
    pub(crate) fn set(&self, script: LongScript) {
        *self.now.lock() = Some(script);
    }

    /// It has ended.
    pub(crate) fn clear(&self) {
        *self.now.lock() = None;
        self.kill.store(false, Relaxed);
    }

    /// It has called a command that writes.
    pub(crate) fn set_written(&self) {
        if let Some(script) = &mut *self.now.lock() {
            script.has_written = true;
        }
    }

    /// The script, if one runs for long.
    pub(crate) fn get(&self) -> Option<LongScript> {
        self.now.lock().clone()
    }

    /// Whether somebody wants it to end.
    pub(crate) fn is_killed(&self) -> bool {
        self.kill.load(Relaxed)
    }

    /// Has it end, by SCRIPT KILL or FUNCTION KILL.
    pub(crate) fn kill(&self, function: bool) -> Result<(), CommandError> {
        let now = self.now.lock();
        let Some(script) = &*now else {
            return Err(CommandError::Fixed("NOTBUSY No scripts in execution right now."));
        };
        if script.is_function != function {
            return Err(busy_error(script.is_function));
        }
        if script.has_written {
            return Err(CommandError::Fixed(
                "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait \
                 the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
            ));
        }
        self.kill.store(true, Relaxed);
        Ok(())
    }

    /// Has it end whatever it has done: the server ends.
    pub(crate) fn abandon(&self) {
        self.kill.store(true, Relaxed);
    }

    /// What other commands are told.
    pub(crate) fn busy_error(&self) -> CommandError {
        busy_error(self.now.lock().as_ref().is_some_and(|script| script.is_function))
    }
}

fn busy_error(function: bool) -> CommandError {
    CommandError::Fixed(if function {
        "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
    } else {
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
    })
}
