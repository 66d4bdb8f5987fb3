//! The debugger of scripts: one session, from EVAL to its end.
//!
//! After SCRIPT DEBUG YES or SYNC the next EVAL of that client is a session. A hook is called at every line of the
//! script; where it stops, lines for the client are sent as one array of simple strings, and its commands are read
//! (`requests`) and followed (`console`) until one says to go on. How a session keeps clear of other clients, and of their data:
//! `docs/design/scripting.md`.
//!
//! A thread runs one script at a time, so the session of a thread is known by the thread ([`current`]).
//!
//! Tested side by side with valkey-server, and by `tests/debugging.rs` of the server.

mod console;
mod requests;
mod show;
mod state;

pub(super) use show::{human, joined};
pub(super) use state::Debugger;

use super::caller::{self, Heard};
use crate::context::Context;
use crate::context::flow::Flow;
use crate::error::CommandResult;
use larder_lua::inspect::Inspector;
use larder_resp::Args;
use mlua::debug::{Debug, DebugEvent, HookTriggers};
use mlua::{Error, Function, Lua, Result, Value, VmState};
use state::Eyes;
use std::cell::RefCell;
use std::rc::Rc;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Debugger>>> = const { RefCell::new(None) };
}

/// The session of this thread.
pub(super) fn current() -> Option<Rc<Debugger>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Runs a script as a session. Its client is gone afterwards; the interpreter calls the hook of the session for ever.
pub(super) fn session(
    context: &mut Context<'_>,
    args: Args<'_>,
    run: impl FnOnce(&mut Context<'_>) -> CommandResult,
) -> CommandResult {
    let patience = context.engine.busy_after();
    let debugger = Rc::new(Debugger::new(&args[1], patience));
    CURRENT.set(Some(Rc::clone(&debugger)));
    let outcome = run(context);
    CURRENT.take();
    debugger.log(b"<endsession>");
    if let Some(beside) = &mut context.rounds {
        beside.send(&debugger.take_lines());
    }
    context.flow = Flow::CloseAfterFlush;
    outcome
}

impl Debugger {
    /// The script begins, in an interpreter; `evaluate` is that of its functions that runs code for a client.
    pub(super) fn attach(&self, lua: &Lua, evaluate: &Function) -> Result<()> {
        let (inspector, thread) = (Inspector::new(lua)?, lua.current_thread());
        let eyes = Eyes { inspector, thread, evaluate: evaluate.clone() };
        assert!(self.eyes.set(eyes).is_ok(), "a session has one script");
        let triggers = HookTriggers::new().every_line().every_nth_instruction(caller::TICK_INSTRUCTIONS);
        lua.set_global_hook(triggers, watch)
    }

    /// Talks to the client until it lets the script go on. An error is for the script.
    fn stop(&self, lua: &Lua, reason: &str) -> Result<Stop> {
        let line = self.state.borrow().line;
        self.log(format!("* Stopped at {line}, stop reason = {reason}").as_bytes());
        let text = console::source_line(&self.state.borrow(), line);
        self.log(&text);
        loop {
            self.flush();
            let request = match self.next_request() {
                Ok(request) => request,
                Err(Heard::Killed) => return Ok(Stop::Killed),
                Err(_) => {
                    let mut state = self.state.borrow_mut();
                    state.breakpoints.clear();
                    return Ok(Stop::GoOn);
                }
            };
            let Some(request) = request else { return Err(misuse(lua, "protocol error")) };
            match console::follow(self, lua, &request) {
                console::Next::Stay => {}
                console::Next::GoOn => break,
                console::Next::Abort => return Err(misuse(lua, "script aborted for user request")),
            }
        }
        self.state.borrow_mut().went_on = crate::clock::instant();
        Ok(Stop::GoOn)
    }
}

/// How a stop ends.
enum Stop {
    GoOn,
    Killed,
}

/// What a function raises that is called in the wrong way: a table, as commands do.
pub(super) fn misuse(lua: &Lua, text: &str) -> Error {
    if let Some(debugger) = current().filter(|debugger| debugger.steps()) {
        debugger.log(format!("<error> {text}").as_bytes());
    }
    let table = || {
        let table = lua.create_table()?;
        table.raw_set("err", format!("ERR {text}"))?;
        Ok(Value::Table(table))
    };
    table().map_or_else(|error| error, larder_lua::throw)
}

/// The hook of the interpreter.
fn watch(lua: &Lua, debug: &Debug<'_>) -> Result<VmState> {
    if debug.event() != DebugEvent::Line {
        return caller::tick(lua, debug);
    }
    let Some(debugger) = current() else { return Ok(VmState::Continue) };
    let is_script = debug.source().short_src.is_some_and(|source| source.contains("user_script"));
    let Some(line) = debug.current_line().filter(|_| is_script) else { return Ok(VmState::Continue) };
    let Some(reason) = debugger.reason(line) else { return Ok(VmState::Continue) };
    match debugger.stop(lua, reason)? {
        Stop::GoOn => Ok(VmState::Continue),
        Stop::Killed => caller::tick(lua, debug),
    }
}
