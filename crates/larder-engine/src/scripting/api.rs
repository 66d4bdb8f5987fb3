//! What the Lua side asks of the server. The functions that scripts see are in `prelude.lua`, above these.

use super::caller::{arguments, ask, call, position};
use super::convert::push_number;
use super::debug::{self, misuse};
use crate::aof::effects::Targets;
use crate::host::LogLevel;
use crate::scripts::cache::sha_of;
use crate::scripts::header::ScriptFlags;
use larder_lua::gateway::Service;
use larder_resp::OwnedArgs;
use mlua::{Lua, LuaString, MultiValue, Result, Table, Value};

const SERVICE: Service = Service { call, arguments, number: push_number };

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

/// A number, or text that is one.
fn number(lua: &Lua, value: &Value) -> Option<f64> {
    lua.coerce_number(value.clone()).ok().flatten()
}

/// A number without its fraction; one that is none is too small for everything.
fn whole(number: f64) -> i64 {
    if number.is_nan() { i64::MIN } else { number as i64 }
}

fn sha1hex(lua: &Lua, args: &MultiValue) -> Result<LuaString> {
    if args.len() != 1 {
        return Err(misuse(lua, "wrong number of arguments"));
    }
    // What is not text counts as none.
    let text = lua.coerce_string(args[0].clone()).ok().flatten();
    lua.create_string(text.map_or_else(|| sha_of(b""), |text| sha_of(&text.as_bytes())))
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
        flags @ 0..=3 => {
            ask(|caller| caller.set_targets(Targets { file: flags & 1 != 0, stream: flags & 2 != 0 }))
        }
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
