//! Who runs a script on this thread, and what the Lua side asks of it.

use crate::aof::effects::Targets;
use crate::host::LogLevel;
use larder_lua::gateway::Exchange;
use larder_lua::scoped::{Reborrow, ScopedSlot};
use larder_resp::Args;
use mlua::debug::{Debug, DebugSource, HookTriggers};
use mlua::{Error, Lua, Result, VmState};

/// What a script can ask for while it runs.
pub(super) trait Caller {
    /// Executes a command. False when it failed: then its reply is an error.
    fn call(&mut self, exchange: &mut Exchange) -> bool;
    /// Writes the keys and the arguments of the script as two arrays.
    fn arguments(&mut self, reply: &mut Vec<u8>);
    /// From now on replies of commands become Lua values as RESP2 or RESP3 have them.
    fn set_protocol(&mut self, version: i64);
    /// Sends the effects of the commands that follow to these targets only.
    fn set_targets(&mut self, to: Targets);
    /// Whether the user may execute a command; `None` when there is none of that name.
    fn may_execute(&mut self, args: Args<'_>) -> Option<bool>;
    /// Writes to the server's log.
    fn log(&mut self, level: LogLevel, text: &str);
    /// Called every now and then. False: the script has to end.
    fn tick(&mut self) -> bool;
    /// Where the script was when it had to end.
    fn ended_at(&mut self, source: String, line: usize);
    /// Sends to the client that debugs the script.
    fn send(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }
    /// Waits for the client that debugs the script.
    fn listen(&mut self, input: &mut Vec<u8>) -> Heard {
        let _ = input;
        Heard::Gone
    }
    /// Executes a command that the client who debugs has given.
    fn call_for_client(&mut self, args: &[Vec<u8>]) {
        let _ = args;
    }
}

/// What came of waiting for the client that debugs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// It has sent something.
    Bytes,
    /// It has gone.
    Gone,
    /// The script has to end.
    Killed,
}

/// References to callers.
struct ToCaller;

impl Reborrow for ToCaller {
    type Ref<'a> = &'a mut (dyn Caller + 'a);

    fn reborrow<'short, 'long: 'short>(long: &'short mut Self::Ref<'long>) -> Self::Ref<'short> {
        &mut **long
    }
}

thread_local! {
    /// The caller whose script runs on this thread.
    static CURRENT: ScopedSlot<ToCaller> = const { ScopedSlot::new() };
}

/// Runs Lua code that asks `caller`.
pub(super) fn with_caller<R>(caller: &mut dyn Caller, f: impl FnOnce() -> R) -> R {
    CURRENT.with(|current| current.set(caller, f))
}

/// Asks the current caller; outside a script there is none.
fn current<R>(f: impl FnOnce(&mut dyn Caller) -> R) -> Option<R> {
    CURRENT.with(|current| current.with(|caller| f(caller)))
}

/// Asks the current caller; outside a script it is an error.
pub(super) fn ask<R>(f: impl FnOnce(&mut dyn Caller) -> R) -> Result<R> {
    current(f).ok_or_else(|| Error::runtime("there is no script"))
}

/// Instructions between two ticks.
pub(super) const TICK_INSTRUCTIONS: u32 = 100_000;

/// A command of the script that runs. False when it failed: then its reply is an error.
pub(super) fn call(exchange: &mut Exchange) -> bool {
    if let Some(has_worked) = current(|caller| caller.call(exchange)) {
        return has_worked;
    }
    exchange.reply.extend_from_slice(b"-ERR there is no script\r\n");
    false
}

/// Writes the keys and the arguments of the script that runs.
pub(super) fn arguments(exchange: &mut Exchange) {
    current(|caller| caller.arguments(&mut exchange.reply));
}

/// What the hook does: asks whether the script may go on.
pub(super) fn tick(lua: &Lua, debug: &Debug<'_>) -> Result<VmState> {
    if current(|caller| caller.tick()).unwrap_or(true) {
        return Ok(VmState::Continue);
    }
    let place = place(&debug.source(), debug.current_line()).or_else(|| position(lua));
    if let Some((source, line)) = place {
        current(|caller| caller.ended_at(source, line));
    }
    // It may catch this error. Not if there is one at its every step.
    lua.set_global_hook(HookTriggers::new().every_nth_instruction(1), tick)?;
    Err(Error::external(larder_lua::Ended))
}

/// The innermost place in the text of a script.
pub(super) fn position(lua: &Lua) -> Option<(String, usize)> {
    (1..)
        .map_while(|level| lua.inspect_stack(level, |d| place(&d.source(), d.current_line())))
        .flatten()
        .next()
}

fn place(source: &DebugSource<'_>, line: Option<usize>) -> Option<(String, usize)> {
    let name = source.source.as_deref().filter(|name| name.starts_with("@user_"))?;
    Some((name.to_owned(), line?))
}
