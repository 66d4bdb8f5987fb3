//! CLIENT PAUSE: commands are put off until a moment in time.

use crate::command::{Command, flags};
use crate::engine::Engine;
use crate::session::Session;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What is put off, and until when.
#[derive(Default)]
pub(crate) struct Pause {
    /// Wall clock in ms; 0: nothing is paused.
    until_ms: AtomicU64,
    all: AtomicBool,
}

impl Pause {
    /// Pauses writes, or everything. A pause in force is never shortened or narrowed.
    pub(crate) fn start(&self, until_ms: u64, all: bool, now_ms: u64) {
        let in_force = self.until_ms.load(Relaxed) > now_ms;
        self.all.store(all || (in_force && self.all.load(Relaxed)), Relaxed);
        self.until_ms.fetch_max(until_ms, Relaxed);
    }

    /// Ends the pause.
    pub(crate) fn end(&self) {
        self.until_ms.store(0, Relaxed);
        self.all.store(false, Relaxed);
    }

    /// Whether a pause has just run out; true once a pause.
    pub(crate) fn expired(&self) -> bool {
        self.until_ms.swap(0, Relaxed) != 0
    }

    /// What is paused now, and for how many ms more.
    pub(crate) fn state(&self, now_ms: u64) -> Option<(&'static str, u64)> {
        let left = self.until_ms.load(Relaxed).checked_sub(now_ms).filter(|&left| left > 0)?;
        Some((if self.all.load(Relaxed) { "all" } else { "write" }, left))
    }
}

/// Whether the command must wait. Commands that steer the pause, or that only queue, go on.
#[inline]
pub(crate) fn applies(engine: &Engine, session: &Session, command: &Command, now_ms: u64) -> bool {
    let pause = &engine.pause;
    if pause.until_ms.load(Relaxed) <= now_ms {
        return false;
    }
    pauses(pause.all.load(Relaxed), session, command)
}

fn pauses(all: bool, session: &Session, command: &Command) -> bool {
    let exec = command.name == "exec";
    if session.multi.is_some() && !exec {
        return false;
    }
    if all {
        return !matches!(command.name, "unpause" | "pause" | "kill");
    }
    may_write(session, command)
}

/// Whether a command may change something, or has others do it.
pub(crate) fn may_write(session: &Session, command: &Command) -> bool {
    let queued_write = || session.multi.as_ref().is_some_and(|queue| queue.writes());
    command.has(flags::WRITE)
        || command.has(flags::MAY_REPLICATE)
        || (command.name == "exec" && queued_write())
}
