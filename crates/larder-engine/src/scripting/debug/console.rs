//! The commands of the debugger.

use super::requests::Request;
use super::show::{self, until_zero};
use super::state::{Debugger, Eyes, State};
use crate::scripting::caller;
use mlua::thread::ThreadStatus;
use mlua::{Error, Function, Lua, Result, Value};

/// What happens after a command.
pub(super) enum Next {
    /// The script stays where it is.
    Stay,
    /// It goes on.
    GoOn,
    /// It ends.
    Abort,
}

/// Breakpoints of a session.
const BREAKPOINTS_MAX: usize = 64;
/// Lines shown on either side of the one asked for.
const AROUND: i64 = 5;
/// The least that lines can be cut to.
const LINE_BYTES_MIN: i64 = 60;

const HELP: &[&str] = &[
    "Commands of the debugger (the part in brackets is enough):",
    "[h]elp               Print this list.",
    "[max]len [bytes]     Cut values and replies after so many bytes, 0 for",
    "                     never; without a number, tell where they are cut.",
    "[s]tep               Run this line, then stop.",
    "[n]ext               The same.",
    "[c]ontinue           Run until a breakpoint or the end.",
    "[l]ist [line] [ctx]  Print the lines around this one, or another; [ctx]",
    "                     is how many on either side.",
    "[w]hole              Print the whole script.",
    "[p]rint [name]       Print a local variable, KEYS or ARGV; without a",
    "                     name, all local variables of the current call.",
    "[b]reak [line|-line] Stop whenever this line is reached, or no longer if",
    "                     there is a minus; 0 removes all breakpoints, and",
    "                     without a number they are printed.",
    "[t]race              Print the calls that have led here.",
    "[e]val <code>        Run Lua code, which sees no local variables.",
    "[v]alkey <command>   Run a command, as the script would.",
    "[a]bort              End the script with an error. With SYNC, what it",
    "                     has written stays.",
];

/// Does what the client asks.
pub(super) fn follow(debugger: &Debugger, lua: &Lua, request: &Request) -> Next {
    let name = String::from_utf8_lossy(&request[0]).to_ascii_lowercase();
    let args = &request[1..];
    match (&*name, args.len()) {
        ("h" | "help", 0) => HELP.iter().for_each(|line| debugger.log(line.as_bytes())),
        ("s" | "step" | "n" | "next", 0) => {
            debugger.state.borrow_mut().steps = true;
            return Next::GoOn;
        }
        ("c" | "continue", 0) => return Next::GoOn,
        ("a" | "abort", 0) => return Next::Abort,
        ("t" | "trace", 0) => trace(debugger),
        ("max" | "maxlen", 0 | 1) => cut_lines(debugger, args.first()),
        ("b" | "break", 0) => list_breakpoints(debugger),
        ("b" | "break", 1) => set_breakpoint(debugger, &args[0]),
        ("e" | "eval", 1..) => evaluate(debugger, lua, &args.join(&b' ')),
        ("r" | "redis" | "v" | "valkey" | "server", 1..) => call(debugger, args),
        ("p" | "print", 0) => print_all(debugger, lua),
        ("p" | "print", 1) => print(debugger, lua, &args[0]),
        ("l" | "list", 0..=2) => {
            let around = args.first().map_or(0, |text| leading_number(text));
            let context = args.get(1).map_or(AROUND, |text| leading_number(text));
            list(debugger, around, context);
        }
        ("w" | "whole", 0) => list(debugger, 1, 1_000_000),
        _ => debugger.log(b"<error> Unknown debugger command or wrong number of arguments."),
    }
    Next::Stay
}

/// A line of the script with its number and its marks.
pub(super) fn source_line(state: &State, line: usize) -> Vec<u8> {
    let mark = match (line == state.line, state.breakpoints.contains(&line)) {
        (true, true) => "->#",
        (true, false) => "-> ",
        (false, true) => "  #",
        (false, false) => "   ",
    };
    let known = line.checked_sub(1).and_then(|at| state.source.get(at));
    let text = known.map_or(&b"<out of range source code line>"[..], |text| until_zero(text));
    [format!("{mark}{line:<3} ").as_bytes(), text].concat()
}

/// What a number in front of a text is, as `atoi` of C has it.
fn leading_number(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let sign = usize::from(text.first().is_some_and(|b| b"+-".contains(b)));
    let digits = text[sign..].iter().take_while(|b| b.is_ascii_digit()).take(9).count();
    let number = std::str::from_utf8(&text[..sign + digits]).ok().and_then(|text| text.parse().ok());
    number.unwrap_or(0)
}

fn list(debugger: &Debugger, around: i64, context: i64) {
    let mut state = debugger.state.borrow_mut();
    let around = if around <= 0 { state.line as i64 } else { around };
    let lines: Vec<_> = (1..=state.source.len())
        .filter(|&line| (line as i64 - around).abs() <= context)
        .map(|line| source_line(&state, line))
        .collect();
    state.lines.extend(lines);
}

fn list_breakpoints(debugger: &Debugger) {
    let mut state = debugger.state.borrow_mut();
    let first = match state.breakpoints.len() {
        0 => "No breakpoints set. Use 'b <line>' to add one.".to_owned(),
        count => format!("{count} breakpoints set:"),
    };
    let mut lines = vec![first.into_bytes()];
    lines.extend(state.breakpoints.iter().map(|&line| source_line(&state, line)));
    state.lines.extend(lines);
}

fn set_breakpoint(debugger: &Debugger, text: &[u8]) {
    let Some(line) = crate::text::number::parse_i64(text) else {
        return debugger.log(&[b"Invalid argument:'", text, b"'"].concat());
    };
    let mut state = debugger.state.borrow_mut();
    let (at, last) = (line.unsigned_abs() as usize, state.source.len());
    let answer = match line {
        0 => {
            state.breakpoints.clear();
            "All breakpoints removed."
        }
        ..0 => match state.breakpoints.iter().position(|&line| line == at) {
            Some(found) => {
                state.breakpoints.remove(found);
                "Breakpoint removed."
            }
            None => "No breakpoint in the specified line.",
        },
        _ if state.breakpoints.len() == BREAKPOINTS_MAX => "Too many breakpoints set.",
        _ if at > last || state.breakpoints.contains(&at) => "Wrong line number.",
        _ => {
            state.breakpoints.push(at);
            drop(state);
            return list(debugger, line, 1);
        }
    };
    state.lines.push(answer.as_bytes().to_vec());
}

fn cut_lines(debugger: &Debugger, text: Option<&Vec<u8>>) {
    let mut state = debugger.state.borrow_mut();
    let answer = match text.map(|text| crate::text::number::parse_i64(text).filter(|number| *number >= 0)) {
        None => format!("Current maxlen is {}", state.line_bytes_max),
        Some(None) => "<error> Invalid maxlen value.".to_owned(),
        Some(Some(number)) => {
            let max = if number == 0 { 0 } else { number.max(LINE_BYTES_MIN) };
            state.line_bytes_max = max as usize;
            state.knows_of_cuts = true;
            match max {
                0 => "<value> replies are not truncated.".to_owned(),
                max => format!("<value> replies are truncated at {max} bytes."),
            }
        }
    };
    state.lines.push(answer.into_bytes());
}

/// The calls in the text of the script, the innermost first.
fn trace(debugger: &Debugger) {
    let Eyes { inspector, thread, .. } = debugger.eyes();
    for level in 0.. {
        let Ok(Some(frame)) = inspector.frame(thread, level) else { return };
        let Some(line) = frame.line.filter(|_| memchr::memmem::find(&frame.source, b"user_script").is_some())
        else {
            continue;
        };
        let place = if level == 0 { "In" } else { "From" };
        let name = frame.name.as_deref().unwrap_or(b"top level");
        debugger.log(&[place.as_bytes(), b" ", name, b":"].concat());
        let line = source_line(&debugger.state.borrow(), line);
        debugger.log(&line);
    }
}

/// The variables of a call that the script can name, with their names.
fn locals(debugger: &Debugger, level: usize) -> impl Iterator<Item = (Vec<u8>, Value)> {
    let Eyes { inspector, thread, .. } = debugger.eyes();
    let each = (1..).map_while(move |number| inspector.local(thread, level, number).ok().flatten());
    each.filter(|(name, _)| !name.starts_with(b"(*"))
}

fn print_all(debugger: &Debugger, lua: &Lua) {
    let mut found = false;
    for (name, value) in locals(debugger, 0) {
        let value = show::value(&debugger.eyes().inspector, lua, &value);
        debugger.log_cut(&[b"<value> ", &*name, b" = ", &value].concat());
        found = true;
    }
    if !found {
        debugger.log(b"No local variables in the current context.");
    }
}

fn print(debugger: &Debugger, lua: &Lua, name: &[u8]) {
    let Eyes { inspector, thread, .. } = debugger.eyes();
    let name = until_zero(name);
    let calls = (0..).take_while(|&level| matches!(inspector.frame(thread, level), Ok(Some(_))));
    let local = calls
        .flat_map(|level| locals(debugger, level))
        .find(|(local, _)| local == name)
        .map(|(_, value)| value);
    let global = || match name {
        b"KEYS" | b"ARGV" => lua.globals().get(lua.create_string(name).ok()?).ok(),
        _ => None,
    };
    match local.or_else(global) {
        Some(value) => debugger.log_cut(&[b"<value> ", &*show::value(inspector, lua, &value)].concat()),
        None => debugger.log(b"No such variable."),
    }
}

/// Runs code as an expression if it is one. On a Lua thread of its own, for hooks are not called within one: so a loop that
/// does not end can be ended.
fn evaluate(debugger: &Debugger, lua: &Lua, code: &[u8]) {
    let expression = [b"return ", code].concat();
    let compiled = larder_lua::compile(lua, &expression, "@ldb_eval")
        .or_else(|_| larder_lua::compile(lua, code, "@ldb_eval"));
    let function = match compiled {
        Ok(function) => function,
        Err(error) => {
            return debugger.log(&[b"Error compiling code: ", &*larder_lua::message(&error)].concat());
        }
    };
    match run(debugger, lua, function) {
        Ok((true, value)) => {
            debugger
                .log_cut(&[b"<retval> ", &*show::value(&debugger.eyes().inspector, lua, &value)].concat());
        }
        Ok((false, error)) => debugger.log(&[b"<error> ", &*error_text(lua, error)].concat()),
        Err(error) => debugger.log(format!("<error> {error}").as_bytes()),
    }
}

fn run(debugger: &Debugger, lua: &Lua, function: Function) -> Result<(bool, Value)> {
    let thread = lua.create_thread(debugger.eyes().evaluate.clone())?;
    let outcome = thread.resume(function);
    if thread.status() == ThreadStatus::Resumable {
        return Err(Error::runtime("attempt to yield across metamethod/C-call boundary"));
    }
    outcome
}

/// The text of an error, if it is one.
fn error_text(lua: &Lua, error: Value) -> Vec<u8> {
    let error = match error {
        Value::Error(error) => larder_lua::thrown(lua, &error).unwrap_or(Value::Nil),
        other => other,
    };
    let text = lua.coerce_string(error).ok().flatten();
    text.map_or_else(|| b"(null)".to_vec(), |text| text.as_bytes().to_vec())
}

/// Runs a command and shows its reply.
fn call(debugger: &Debugger, args: &[Vec<u8>]) {
    debugger.state.borrow_mut().steps = true;
    let _ = caller::ask(|caller| caller.call_for_client(args));
    debugger.state.borrow_mut().steps = false;
}
