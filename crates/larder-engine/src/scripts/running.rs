//! The script that runs. Scripts take turns, so there is one at most; every thread sees it from its start.

use crate::error::CommandError;
use crate::version::Product;
use larder_resp::Args;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// What others may know of it, and whether it has to end.
#[derive(Default)]
pub(crate) struct Running {
    now: Mutex<Noted>,
    kill: AtomicBool,
}

/// Buffers larger than this are not kept for the next script.
const KEEP_BYTES_MAX: usize = 64 * 1024;

/// The buffers of one script serve the next.
#[derive(Default)]
struct Noted {
    /// `None` when no script runs.
    started: Option<Instant>,
    is_function: bool,
    has_written: bool,
    name: Vec<u8>,
    command: Vec<u8>,
    /// Where each argument ends in `command`.
    ends: Vec<usize>,
}

/// A script that runs, as FUNCTION STATS tells of it.
#[derive(Clone, Debug)]
pub(crate) struct RunningScript {
    /// Whether it is a function of a library.
    pub is_function: bool,
    /// The digest of a script, or the name of a function.
    pub name: Vec<u8>,
    /// The command that runs it.
    pub command: Vec<Vec<u8>>,
    pub started: Instant,
}

impl Running {
    /// A script starts.
    pub(crate) fn begin(&self, name: &[u8], is_function: bool, args: Args<'_>, started: Instant) {
        let mut now = self.now.lock();
        let now = &mut *now;
        (now.started, now.is_function, now.has_written) = (Some(started), is_function, false);
        now.name.clear();
        now.name.extend_from_slice(name);
        now.command.clear();
        now.ends.clear();
        for arg in args.iter() {
            now.command.extend_from_slice(arg);
            now.ends.push(now.command.len());
        }
        self.kill.store(false, Relaxed);
    }

    /// It has ended. Returns whether it was to end, by SCRIPT KILL or FUNCTION KILL.
    pub(crate) fn end(&self) -> bool {
        let mut now = self.now.lock();
        now.started = None;
        if now.command.capacity() + now.ends.capacity() > KEEP_BYTES_MAX {
            *now = Noted::default();
        }
        self.kill.swap(false, Relaxed)
    }

    /// It is about to call a command that writes. False when it has to end instead.
    pub(crate) fn set_written(&self) -> bool {
        let mut now = self.now.lock();
        let may_write = !self.is_killed();
        now.has_written |= may_write;
        may_write
    }

    /// The script that runs.
    pub(crate) fn get(&self) -> Option<RunningScript> {
        let now = self.now.lock();
        let starts = std::iter::once(0).chain(now.ends.iter().copied());
        Some(RunningScript {
            is_function: now.is_function,
            started: now.started?,
            name: now.name.clone(),
            command: starts.zip(&now.ends).map(|(start, &end)| now.command[start..end].to_vec()).collect(),
        })
    }

    /// Whether somebody wants it to end.
    pub(crate) fn is_killed(&self) -> bool {
        self.kill.load(Relaxed)
    }

    /// Has it end, by SCRIPT KILL or FUNCTION KILL.
    pub(crate) fn kill(&self, function: bool, product: Product) -> Result<(), CommandError> {
        let now = self.now.lock();
        if now.started.is_none() {
            return Err(CommandError::Fixed("NOTBUSY No scripts in execution right now."));
        }
        if now.has_written {
            return Err(CommandError::Fixed(
                "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait \
                 the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
            ));
        }
        if now.is_function != function {
            return Err(busy_error(now.is_function, product));
        }
        self.kill.store(true, Relaxed);
        Ok(())
    }

    /// Has it end whatever it has done: the server ends.
    pub(crate) fn abandon(&self) {
        self.kill.store(true, Relaxed);
    }

    /// What other commands are told.
    pub(crate) fn busy_error(&self, product: Product) -> CommandError {
        let now = self.now.lock();
        busy_error(now.started.is_some() && now.is_function, product)
    }
}

fn busy_error(is_function: bool, product: Product) -> CommandError {
    let (name, kind) = (product.name(), if is_function { "FUNCTION" } else { "SCRIPT" });
    CommandError::text(format!(
        "BUSY {name} is busy running a script. You can only call {kind} KILL or SHUTDOWN NOSAVE."
    ))
}
