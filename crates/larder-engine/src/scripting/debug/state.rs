//! What a session of the debugger knows, and its talk with the client.

use super::requests::{self, Parsed, Request};
use super::show;
use crate::scripting::caller::{self, Heard};
use larder_lua::inspect::Inspector;
use mlua::{Function, Lua, Thread, Value};
use std::cell::{OnceCell, RefCell};
use std::time::{Duration, Instant};

/// Replies and values longer than this are cut, until `maxlen` says otherwise.
const LINE_BYTES_MAX: usize = 256;

/// A session.
pub(in crate::scripting) struct Debugger {
    pub(super) state: RefCell<State>,
    /// Of the interpreter that runs the script.
    pub(super) eyes: OnceCell<Eyes>,
    /// A script that has run for this long without stopping is stopped.
    pub(super) patience: Option<Duration>,
}

/// What a session sees of an interpreter.
pub(super) struct Eyes {
    pub(super) inspector: Inspector,
    /// That the script began on.
    pub(super) thread: Thread,
    pub(super) evaluate: Function,
}

/// What changes in the course of it.
pub(super) struct State {
    /// The lines of the script.
    pub(super) source: Vec<Vec<u8>>,
    /// Where the script is.
    pub(super) line: usize,
    pub(super) breakpoints: Vec<usize>,
    /// It stops at the next line.
    pub(super) steps: bool,
    /// The script has asked to be stopped.
    pub(super) is_asked: bool,
    pub(super) line_bytes_max: usize,
    /// The client knows that lines are cut.
    pub(super) knows_of_cuts: bool,
    /// For the client.
    pub(super) lines: Vec<Vec<u8>>,
    /// From the client.
    pub(super) input: Vec<u8>,
    pub(super) went_on: Instant,
}

impl Debugger {
    pub(super) fn new(script: &[u8], patience: Option<Duration>) -> Debugger {
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
            went_on: crate::clock::instant(),
        };
        Debugger { state: RefCell::new(state), eyes: OnceCell::new(), patience }
    }

    pub(super) fn eyes(&self) -> &Eyes {
        self.eyes.get().expect("hooks are called in the interpreter that the session is attached to")
    }

    /// Whether the client sees what the script calls.
    pub(in crate::scripting) fn steps(&self) -> bool {
        self.state.borrow().steps
    }

    /// The script asks to be stopped at its next line.
    pub(in crate::scripting) fn stop_soon(&self) {
        self.state.borrow_mut().is_asked = true;
    }

    /// What the script says to the client.
    pub(in crate::scripting) fn say(&self, lua: &Lua, values: &[Value]) {
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
    pub(in crate::scripting) fn log(&self, line: &[u8]) {
        self.state.borrow_mut().lines.push(line.to_vec());
    }

    /// The same, cut if it is long.
    pub(in crate::scripting) fn log_cut(&self, line: &[u8]) {
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
    pub(in crate::scripting) fn hear(&self, input: &[u8]) {
        self.state.borrow_mut().input.extend_from_slice(input);
    }

    /// Whether the client has sent so much while the script ran that no more is kept.
    pub(in crate::scripting) fn has_heard_too_much(&self) -> bool {
        /// Far more than all commands of a session.
        const INPUT_BYTES_MAX: usize = 1 << 20;
        self.state.borrow().input.len() >= INPUT_BYTES_MAX
    }

    /// The lines so far, as they are sent.
    pub(super) fn take_lines(&self) -> Vec<u8> {
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
    pub(super) fn reason(&self, line: usize) -> Option<&'static str> {
        let mut state = self.state.borrow_mut();
        state.line = line;
        let is_asked = std::mem::take(&mut state.is_asked);
        let reason = if is_asked {
            "server.breakpoint() called"
        } else if state.breakpoints.contains(&line) {
            "break point"
        } else if state.steps {
            "step over"
        } else if self.patience.is_some_and(|patience| state.went_on.elapsed() >= patience) {
            "timeout reached, infinite loop?"
        } else {
            return None;
        };
        state.steps = false;
        Some(reason)
    }

    pub(super) fn flush(&self) {
        let lines = self.take_lines();
        let _ = caller::ask(|caller| caller.send(&lines));
    }

    /// The next command of the client; `None` for what is none.
    pub(super) fn next_request(&self) -> std::result::Result<Option<Request>, Heard> {
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
                Parsed::Incomplete => caller::ask(|caller| caller.listen(&mut input)).unwrap_or(Heard::Gone),
            };
            self.state.borrow_mut().input = input;
            if heard != Heard::Bytes {
                return Err(heard);
            }
        }
    }
}
