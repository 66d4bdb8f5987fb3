//! CLIENT PAUSE: commands are put off until a moment in time.

use crate::command::{Command, Found, Scope, flags};
use crate::engine::Engine;
use crate::scripting;
use crate::session::{Session, client_flags};
use crate::worker::Flow;
use larder_resp::Args;
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
        self.all.store(all || (self.in_force(now_ms) && self.all.load(Relaxed)), Relaxed);
        self.until_ms.fetch_max(until_ms, Relaxed);
    }

    /// Ends the pause.
    pub(crate) fn end(&self) {
        self.until_ms.store(0, Relaxed);
        self.all.store(false, Relaxed);
    }

    /// Whether anything is paused.
    pub(crate) fn in_force(&self, now_ms: u64) -> bool {
        self.until_ms.load(Relaxed) > now_ms
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

/// Whether the command must wait: nothing is exempt from a pause of everything, not even CLIENT UNPAUSE.
#[inline]
pub(crate) fn applies(
    engine: &Engine,
    now_ms: u64,
    session: &Session,
    command: &Command,
    args: Args<'_>,
) -> bool {
    let pause = &engine.pause;
    if pause.until_ms.load(Relaxed) <= now_ms {
        return false;
    }
    pause.all.load(Relaxed) || may_write(engine, session, command, args)
}

/// The command waits: the client counts as blocked by it until the pause ends.
#[cold]
pub(crate) fn wait(session: &mut Session, found: Found) -> Flow {
    session.shared.last_command.store(found.id + 1, Relaxed);
    session.shared.set_flag(client_flags::BLOCKED, true);
    Flow::Retry
}

/// Whether a command may change something, or has others do it; EXEC, if one of its queue may.
pub(crate) fn may_write(engine: &Engine, session: &Session, command: &Command, args: Args<'_>) -> bool {
    writes(engine, command, args)
        || command.scope == Scope::Exec && session.multi.as_ref().is_some_and(|queue| queue.writes)
}

/// The same for a single command. A script that says of itself that it only reads is taken at its word: it will be held
/// to it.
pub(crate) fn writes(engine: &Engine, command: &Command, args: Args<'_>) -> bool {
    let may = command.flags & (flags::WRITE | flags::MAY_REPLICATE) != 0;
    may && !(command.scope == Scope::Script && scripting::says_it_only_reads(engine, command, args))
}
