//! The script that runs. Scripts take turns, so there is one at most; every thread sees it from its start.

use crate::error::CommandError;
use crate::version::Product;
use larder_resp::Args;
use parking_lot::Mutex;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Relaxed, SeqCst},
};
use std::time::{Duration, Instant};

/// What others may know of it, and whether it has to end.
#[derive(Default)]
pub(crate) struct Running {
    now: Mutex<Noted>,
    kill: AtomicBool,
    /// Whether clients may wait for the end of the script.
    is_awaited: AtomicBool,
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

    /// A client is about to wait for the end of the script.
    pub(crate) fn note_awaited(&self) {
        self.is_awaited.store(true, SeqCst);
    }

    /// The script has ended. Returns whether it was killed, if clients wait for its end.
    pub(crate) fn end(&self) -> Option<bool> {
        let mut now = self.now.lock();
        now.started = None;
        if now.command.capacity() + now.ends.capacity() > KEEP_BYTES_MAX {
            *now = Noted::default();
        }
        let was_killed = self.kill.swap(false, Relaxed);
        // Scripts end often, and are seldom waited for.
        let is_awaited = self.is_awaited.load(SeqCst) && self.is_awaited.swap(false, SeqCst);
        (was_killed || is_awaited).then_some(was_killed)
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

    /// Whether a client may wait for the end of the script.
    pub(crate) fn is_awaited(&self) -> bool {
        self.is_awaited.load(Relaxed)
    }

    /// Returns whether SCRIPT KILL (`function`: FUNCTION KILL) may end the script now. A script that has not run for `least` is
    /// left alone: a kill that comes late must not end the next one.
    ///
    /// # Errors
    /// No script runs, it has written, or the other command is the one to use.
    pub(crate) fn may_be_killed(
        &self,
        function: bool,
        product: Product,
        least: Duration,
    ) -> Result<bool, CommandError> {
        judge(&self.now.lock(), function, product, least)
    }

    /// Kills the script if [`Running::may_be_killed`] says so, and returns whether it did.
    ///
    /// # Errors
    /// Those of [`Running::may_be_killed`].
    pub(crate) fn kill(
        &self,
        function: bool,
        product: Product,
        least: Duration,
    ) -> Result<bool, CommandError> {
        let now = self.now.lock();
        let may = judge(&now, function, product, least)?;
        if may {
            self.kill.store(true, Relaxed);
        }
        Ok(may)
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

/// The error of a kill when no script runs.
pub(crate) const NOT_BUSY: CommandError = CommandError::Fixed("NOTBUSY No scripts in execution right now.");

fn judge(now: &Noted, function: bool, product: Product, least: Duration) -> Result<bool, CommandError> {
    let Some(started) = now.started else { return Err(NOT_BUSY) };
    if started.elapsed() < least {
        return Ok(false);
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
    Ok(true)
}

fn busy_error(is_function: bool, product: Product) -> CommandError {
    let (name, kind) = (product.name(), if is_function { "FUNCTION" } else { "SCRIPT" });
    CommandError::text(format!(
        "BUSY {name} is busy running a script. You can only call {kind} KILL or SHUTDOWN NOSAVE."
    ))
}
