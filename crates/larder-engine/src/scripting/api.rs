//! What the Lua side asks of the server. The functions that scripts see are in `prelude.lua`, above these.

use super::convert::{push_number, sha1_hex};
use super::debug;
use super::header::ScriptFlags;
use crate::host::LogLevel;
use larder_lua::gateway::{Exchange, Service};
use larder_resp::{Args, OwnedArgs};
use mlua::debug::{Debug, DebugSource, HookTriggers};
use mlua::{Error, Lua, LuaString, MultiValue, Result, Table, Value, VmState};
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};

/// What a script can ask for while it runs.
pub(super) trait Caller {
    /// Executes a command. False when it failed: then its reply is an error.
    fn call(&mut self, exchange: &mut Exchange) -> bool;
    /// Writes the keys and the arguments of the script as two arrays.
    fn arguments(&mut self, reply: &mut Vec<u8>);
    /// From now on replies of commands become Lua values as RESP2 or RESP3 have them.
    fn set_protocol(&mut self, version: i64);
    /// From now on effects go into the log, or not.
    fn set_logged(&mut self, on: bool);
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

/// The caller whose script runs on this thread.
struct Current<'a>(&'a mut (dyn Caller + 'a));

impl<'a> ReborrowMut<'a> for Current<'_> {
    type Result = Current<'a>;

    fn reborrow_mut(&'a mut self) -> Current<'a> {
        Current(&mut *self.0)
    }
}

scoped_thread_local!(static mut CURRENT: for<'a> Current<'a>);

/// Runs Lua code that asks `caller`.
pub(super) fn with_caller<R>(caller: &mut dyn Caller, f: impl FnOnce() -> R) -> R {
    CURRENT.set(Current(caller), f)
}

/// Asks the current caller; outside a script there is none.
pub(super) fn ask<R>(f: impl FnOnce(&mut dyn Caller) -> R) -> Result<R> {
    if !CURRENT.is_set() {
        return Err(Error::runtime("there is no script"));
    }
    Ok(CURRENT.with(|current| f(current.0)))
}

/// Instructions between two ticks.
pub(super) const TICK_INSTRUCTIONS: u32 = 100_000;

const SERVICE: Service = Service { call, arguments, number: push_number };

fn call(exchange: &mut Exchange) -> bool {
    if CURRENT.is_set() {
        return CURRENT.with(|current| current.0.call(exchange));
    }
    exchange.reply.extend_from_slice(b"-ERR there is no script\r\n");
    false
}

fn arguments(exchange: &mut Exchange) {
    if CURRENT.is_set() {
        CURRENT.with(|current| current.0.arguments(&mut exchange.reply));
    }
}

/// The functions for the prelude.
pub(super) fn host(lua: &Lua) -> Result<Table> {
    let host = lua.create_table()?;
    let gateway = larder_lua::gateway::gateway(lua, SERVICE)?;
    host.raw_set("call", gateway.call)?;
    host.raw_set("pcall", gateway.pcall)?;
    host.raw_set("arguments", gateway.arguments)?;
    host.raw_set("invoke", gateway.invoke)?;
    host.raw_set(
        "thrown",
        lua.create_function(|lua, value: Value| match value {
            Value::Error(error) => larder_lua::thrown(lua, &error),
            value => Ok(value),
        })?,
    )?;
    host.raw_set("position", lua.create_function(|lua, ()| Ok(position(lua).unzip()))?)?;
    host.raw_set("acl_check_cmd", lua.create_function(|lua, args: MultiValue| acl_check_cmd(lua, &args))?)?;
    host.raw_set("breakpoint", lua.create_function(|_, ()| Ok(breakpoint()))?)?;
    host.raw_set("debug", lua.create_function(|lua, values: MultiValue| say(lua, values))?)?;
    host.raw_set("sha1hex", lua.create_function(|lua, args: MultiValue| sha1hex(lua, &args))?)?;
    host.raw_set("log", lua.create_function(|lua, args: MultiValue| log(lua, &args))?)?;
    host.raw_set("setresp", lua.create_function(|lua, args: MultiValue| setresp(lua, &args))?)?;
    host.raw_set("set_repl", lua.create_function(|lua, args: MultiValue| set_repl(lua, &args))?)?;
    host.raw_set(
        "is_flag",
        lua.create_function(|_, name: LuaString| Ok(ScriptFlags::default().add(&name.as_bytes())))?,
    )?;
    Ok(host)
}

/// Whether the script is debugged; then it stops at its next line.
fn breakpoint() -> bool {
    let debugger = debug::current();
    debugger.inspect(|debugger| debugger.stop_soon()).is_some()
}

/// Tells the client that debugs the script.
fn say(lua: &Lua, values: MultiValue) -> Result<()> {
    if let Some(debugger) = debug::current() {
        debugger.say(lua, &values.into_vec());
    }
    Ok(())
}

/// What a function raises that is called in the wrong way: a table, as commands do.
pub(super) fn misuse(lua: &Lua, text: &str) -> Error {
    if let Some(debugger) = debug::current().filter(|debugger| debugger.steps()) {
        debugger.log(format!("<error> {text}").as_bytes());
    }
    let table = || {
        let table = lua.create_table()?;
        table.raw_set("err", format!("ERR {text}"))?;
        Ok(Value::Table(table))
    };
    table().map_or_else(|error| error, larder_lua::throw)
}

/// A number, or text that is one.
fn number(lua: &Lua, value: &Value) -> Option<f64> {
    lua.coerce_number(value.clone()).ok().flatten()
}

/// A number without its fraction; one that is none is too small for everything.
fn whole(number: f64) -> i64 {
    if number.is_nan() { i64::MIN } else { number as i64 }
}

fn sha1hex(lua: &Lua, args: &MultiValue) -> Result<String> {
    if args.len() != 1 {
        return Err(misuse(lua, "wrong number of arguments"));
    }
    // What is not text counts as none.
    let text = lua.coerce_string(args[0].clone()).ok().flatten();
    Ok(text.map_or_else(|| sha1_hex(b""), |text| sha1_hex(&text.as_bytes())))
}

fn log(lua: &Lua, args: &MultiValue) -> Result<()> {
    if args.len() < 2 {
        return Err(misuse(lua, "server.log() requires two arguments or more."));
    }
    let Some(level) = number(lua, &args[0]) else {
        return Err(misuse(lua, "First argument must be a number (log level)."));
    };
    let level = match whole(level) {
        0 => LogLevel::Debug,
        1 => LogLevel::Verbose,
        2 => LogLevel::Notice,
        3 => LogLevel::Warning,
        _ => return Err(misuse(lua, "Invalid log level.")),
    };
    let parts = args.iter().skip(1).filter_map(|part| lua.coerce_string(part.clone()).ok().flatten());
    let text = parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(" ");
    ask(|caller| caller.log(level, &text))
}

fn setresp(lua: &Lua, args: &MultiValue) -> Result<()> {
    if args.len() != 1 {
        return Err(misuse(lua, "server.setresp() requires one argument."));
    }
    match number(lua, &args[0]) {
        Some(version) if (2.0..4.0).contains(&version) => ask(|caller| caller.set_protocol(version as i64)),
        _ => Err(misuse(lua, "RESP version must be 2 or 3.")),
    }
}

fn set_repl(lua: &Lua, args: &MultiValue) -> Result<()> {
    if args.len() != 1 {
        return Err(misuse(lua, "server.set_repl() requires one argument."));
    }
    match whole(number(lua, &args[0]).unwrap_or(0.0)) {
        flags @ 0..=3 => ask(|caller| caller.set_logged(flags & 1 != 0)),
        _ => {
            Err(misuse(lua, "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."))
        }
    }
}

fn acl_check_cmd(lua: &Lua, args: &MultiValue) -> Result<bool> {
    if args.is_empty() {
        return Err(misuse(lua, "Please specify at least one argument for this call"));
    }
    let words: Option<Vec<Vec<u8>>> = args.iter().map(argument).collect();
    let Some(words) = words else {
        return Err(misuse(lua, "Command arguments must be strings or integers"));
    };
    let args: OwnedArgs = words.iter().map(|word| &**word).collect();
    let answer = ask(|caller| caller.may_execute(args.as_args()))?;
    answer.ok_or_else(|| misuse(lua, "Invalid command passed to server.acl_check_cmd()"))
}

/// An argument of a command as the command would get it.
fn argument(value: &Value) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    match value {
        Value::String(given) => text.extend_from_slice(&given.as_bytes()),
        Value::Integer(n) => text.extend_from_slice(n.to_string().as_bytes()),
        Value::Number(n) => push_number(*n, &mut text),
        _ => return None,
    }
    Some(text)
}

/// What the hook does: asks whether the script may go on.
pub(super) fn tick(lua: &Lua, debug: &Debug<'_>) -> Result<VmState> {
    if !CURRENT.is_set() || CURRENT.with(|current| current.0.tick()) {
        return Ok(VmState::Continue);
    }
    let place = place(&debug.source(), debug.current_line()).or_else(|| position(lua));
    if let Some((source, line)) = place {
        CURRENT.with(|current| current.0.ended_at(source, line));
    }
    // It may catch this error. Not if there is one at its every step.
    lua.set_global_hook(HookTriggers::new().every_nth_instruction(1), tick)?;
    Err(Error::runtime("the script has to end"))
}

/// The innermost place in the text of a script.
fn position(lua: &Lua) -> Option<(String, usize)> {
    (1..)
        .map_while(|level| lua.inspect_stack(level, |d| place(&d.source(), d.current_line())))
        .flatten()
        .next()
}

fn place(source: &DebugSource<'_>, line: Option<usize>) -> Option<(String, usize)> {
    let name = source.source.as_deref().filter(|name| name.starts_with("@user_"))?;
    Some((name.to_owned(), line?))
}
