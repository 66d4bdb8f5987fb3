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
mod copy;
mod requests;
mod show;

pub(crate) use copy::CopiedBytes;
pub use copy::{Copy, Twin};
pub(super) use show::{human, joined};

use super::api::{self, Heard};
use super::interpreter::Interpreter;
use crate::command::Command;
use crate::context::Context;
use crate::error::CommandResult;
use crate::session::Session;
use crate::worker::Flow;
use larder_lua::inspect::Inspector;
use larder_resp::Args;
use mlua::debug::{Debug, DebugEvent, HookTriggers};
use mlua::{Function, Lua, Result, Thread, Value, VmState};
use requests::{Parsed, Request};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Replies and values longer than this are cut, until `maxlen` says otherwise.
const LINE_BYTES_MAX: usize = 256;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Debugger>>> = const { RefCell::new(None) };
}

/// The session of this thread.
pub(super) fn current() -> Option<Rc<Debugger>> {
    CURRENT.with_borrow(Clone::clone)
}

/// How the scripts of a client are debugged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They are not.
    #[default]
    Off,
    /// On a copy of the data.
    Copy,
    /// On the data.
    InPlace,
}

/// Whether a command is a script to be debugged on a copy of the data.
pub(crate) fn wants_copy(session: &Session, command: &Command) -> bool {
    session.debugging == Mode::Copy && matches!(command.name, "eval" | "eval_ro")
}

/// Runs a script as a session. Its client is gone afterwards.
pub(crate) fn session(
    context: &mut Context<'_>,
    args: Args<'_>,
    run: impl FnOnce(&mut Context<'_>) -> CommandResult,
) -> CommandResult {
    let patience = context.engine.busy_after();
    let debugger = Rc::new(Debugger::new(&args[1], patience));
    CURRENT.set(Some(Rc::clone(&debugger)));
    let outcome = run(context);
    CURRENT.take();
    // Its hook is called at every line.
    Interpreter::discard();
    debugger.log(b"<endsession>");
    if let Some(beside) = &mut context.rounds {
        beside.send(&debugger.take_lines());
    }
    context.flow = Flow::CloseAfterFlush;
    outcome
}

/// A session.
pub(super) struct Debugger {
    state: RefCell<State>,
    /// Of the interpreter that runs the script.
    eyes: OnceCell<Eyes>,
    /// A script that has run for so long without stopping is stopped.
    patience: Option<Duration>,
}

/// What a session sees of an interpreter.
struct Eyes {
    inspector: Inspector,
    /// That the script began on.
    thread: Thread,
    evaluate: Function,
}

/// What changes in the course of it.
struct State {
    /// The lines of the script.
    source: Vec<Vec<u8>>,
    /// Where the script is.
    line: usize,
    breakpoints: Vec<usize>,
    /// It stops at the next line.
    steps: bool,
    /// The script has asked to be stopped.
    is_asked: bool,
    line_bytes_max: usize,
    /// The client knows that lines are cut.
    knows_of_cuts: bool,
    /// For the client.
    lines: Vec<Vec<u8>>,
    /// From the client.
    input: Vec<u8>,
    went_on: Instant,
}

impl Debugger {
    fn new(script: &[u8], patience: Option<Duration>) -> Debugger {
        let end = script.iter().rposition(|b| !b"\r\n".contains(b)).map_or(0, |last| last + 1);
        let state = State {
            source: script[..end].split(|&b| b == b'\n').map(<[u8]>::to_vec).collect(),
            line: 0,
            breakpoints: Vec::new(),
            steps: true,
            is_asked: false,
            line_bytes_max: LINE_BYTES_MAX,
            knows_of_cuts: false,
            lines: Vec::new(),
            input: Vec::new(),
            went_on: Instant::now(),
        };
        Debugger { state: RefCell::new(state), eyes: OnceCell::new(), patience }
    }

    /// The script begins, in this interpreter.
    pub(super) fn attach(&self, interpreter: &Interpreter) -> Result<()> {
        let lua = &interpreter.lua;
        let (inspector, thread) = (Inspector::new(lua)?, lua.current_thread());
        let eyes = Eyes { inspector, thread, evaluate: interpreter.evaluate.clone() };
        assert!(self.eyes.set(eyes).is_ok(), "a session has one script");
        let triggers = HookTriggers::new().every_line().every_nth_instruction(api::TICK_INSTRUCTIONS);
        lua.set_global_hook(triggers, watch)
    }

    fn eyes(&self) -> &Eyes {
        self.eyes.get().expect("hooks are called in the interpreter that the session is attached to")
    }

    /// Whether the client sees what the script calls.
    pub(super) fn steps(&self) -> bool {
        self.state.borrow().steps
    }

    /// The script asks to be stopped at its next line.
    pub(super) fn stop_soon(&self) {
        self.state.borrow_mut().is_asked = true;
    }

    /// What the script says to the client.
    pub(super) fn say(&self, lua: &Lua, values: &[Value]) {
        let line = self.state.borrow().line;
        let mut text = format!("<debug> line {line}: ").into_bytes();
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                text.extend_from_slice(b", ");
            }
            text.extend_from_slice(&show::value(&self.eyes().inspector, lua, value));
        }
        self.log(&text);
    }

    /// A line for the client.
    pub(super) fn log(&self, line: &[u8]) {
        self.state.borrow_mut().lines.push(line.to_vec());
    }

    /// The same, cut if it is long.
    pub(super) fn log_cut(&self, line: &[u8]) {
        let mut state = self.state.borrow_mut();
        let max = state.line_bytes_max;
        if max == 0 || line.len() <= max {
            state.lines.push(line.to_vec());
            return;
        }
        state.lines.push([&line[..max], b" ..."].concat());
        if !std::mem::replace(&mut state.knows_of_cuts, true) {
            let hint = b"<hint> The above reply was trimmed. Use 'maxlen 0' to disable trimming.";
            state.lines.push(hint.to_vec());
        }
    }

    /// What the client has sent while the script ran.
    pub(super) fn hear(&self, input: &[u8]) {
        self.state.borrow_mut().input.extend_from_slice(input);
    }

    /// The lines so far, as they are sent.
    fn take_lines(&self) -> Vec<u8> {
        let lines = std::mem::take(&mut self.state.borrow_mut().lines);
        let mut bytes = format!("*{}\r\n", lines.len()).into_bytes();
        for line in lines {
            bytes.push(b'+');
            bytes.extend(line.iter().map(|&b| if b == b'\r' || b == b'\n' { b' ' } else { b }));
            bytes.extend_from_slice(b"\r\n");
        }
        bytes
    }

    /// Why the script stops at a line, if it does.
    fn reason(&self, line: usize) -> Option<&'static str> {
        let mut state = self.state.borrow_mut();
        state.line = line;
        let is_asked = std::mem::take(&mut state.is_asked);
        let reason = match () {
            () if is_asked => "server.breakpoint() called",
            () if state.breakpoints.contains(&line) => "break point",
            () if state.steps => "step over",
            () if self.patience.is_some_and(|patience| state.went_on.elapsed() >= patience) => {
                "timeout reached, infinite loop?"
            }
            () => return None,
        };
        state.steps = false;
        Some(reason)
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
            let Some(request) = request else { return Err(api::misuse(lua, "protocol error")) };
            match console::follow(self, lua, &request) {
                console::Next::Stay => {}
                console::Next::GoOn => break,
                console::Next::Abort => return Err(api::misuse(lua, "script aborted for user request")),
            }
        }
        self.state.borrow_mut().went_on = Instant::now();
        Ok(Stop::GoOn)
    }

    fn flush(&self) {
        let lines = self.take_lines();
        let _ = api::ask(|caller| caller.send(&lines));
    }

    /// The next command of the client; `None` for what is none.
    fn next_request(&self) -> std::result::Result<Option<Request>, Heard> {
        loop {
            let mut input = std::mem::take(&mut self.state.borrow_mut().input);
            let parsed = requests::parse(&input);
            let heard = match parsed {
                Parsed::Request(request, used) => {
                    input.drain(..used);
                    self.state.borrow_mut().input = input;
                    return Ok(Some(request));
                }
                Parsed::Wrong => return Ok(None),
                Parsed::Incomplete => api::ask(|caller| caller.listen(&mut input)).unwrap_or(Heard::Gone),
            };
            self.state.borrow_mut().input = input;
            if heard != Heard::Bytes {
                return Err(heard);
            }
        }
    }
}

/// How a stop ends.
enum Stop {
    GoOn,
    Killed,
}

/// The hook of the interpreter.
fn watch(lua: &Lua, debug: &Debug<'_>) -> Result<VmState> {
    if debug.event() != DebugEvent::Line {
        return api::tick(lua, debug);
    }
    let Some(debugger) = current() else { return Ok(VmState::Continue) };
    let is_script = debug.source().short_src.is_some_and(|source| source.contains("user_script"));
    let Some(line) = debug.current_line().filter(|_| is_script) else { return Ok(VmState::Continue) };
    let Some(reason) = debugger.reason(line) else { return Ok(VmState::Continue) };
    match debugger.stop(lua, reason)? {
        Stop::GoOn => Ok(VmState::Continue),
        Stop::Killed => api::tick(lua, debug),
    }
}
