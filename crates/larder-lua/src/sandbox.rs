//! Which names scripts have, and that they cannot change them. The functions that need to know of proxies are in
//! `sandbox.lua`; what they raise is made here.

use crate::errors::{bad_argument_at, fail, fail_at, fail_plain, is_ended, thrown};
use mlua::{Function, Lua, Table, Value};

/// The globals that scripts have of stock Lua; whatever else it offers is taken away.
const GLOBALS: &[&str] = &[
    "_G",
    "_VERSION",
    "assert",
    "collectgarbage",
    "coroutine",
    "error",
    "gcinfo",
    "getmetatable",
    "ipairs",
    "load",
    "loadstring",
    "math",
    "next",
    "os",
    "pairs",
    "pcall",
    "rawequal",
    "rawget",
    "rawset",
    "select",
    "setmetatable",
    "string",
    "table",
    "tonumber",
    "tostring",
    "type",
    "unpack",
    "xpcall",
];

/// Those that scripts have only with `lua-enable-insecure-api yes`.
const INSECURE: &[&str] = &["getfenv", "newproxy", "setfenv"];

const READONLY: &str = "Attempt to modify a readonly table";

/// The function that seals, kept until it is called.
struct Seal(Function);

/// Takes away what scripts may not have and replaces what must know of proxies.
pub(crate) fn install(lua: &Lua, insecure: bool) -> mlua::Result<()> {
    let globals = lua.globals();
    let names: Vec<String> =
        globals.pairs::<String, Value>().map(|pair| Ok(pair?.0)).collect::<mlua::Result<_>>()?;
    let is_kept = |name: &str| GLOBALS.contains(&name) || insecure && INSECURE.contains(&name);
    for name in names.iter().filter(|name| !is_kept(name.as_str())) {
        globals.raw_set(name.as_str(), Value::Nil)?;
    }
    let os: Table = globals.raw_get("os")?;
    let only = lua.create_table()?;
    only.raw_set("clock", os.raw_get::<Function>("clock")?)?;
    globals.raw_set("os", only)?;
    let handler = lua.create_function(handle)?;
    globals.raw_set("__redis__err__handler", &handler)?;
    globals.raw_set("__server__err__handler", handler)?;
    let seal = lua.load(include_str!("sandbox.lua")).set_name("=sandbox").call::<Function>((
        globals,
        lua.create_function(argument_error)?,
        lua.create_function(plain_error)?,
        lua.create_function(|_, ()| Err::<(), _>(fail_plain(READONLY)))?,
        lua.create_function(|lua, _: Value| Err::<(), _>(fail(lua, READONLY)))?,
        lua.create_function(missing)?,
        lua.create_function(caught)?,
        lua.create_function(|_, value: Value| Ok(matches!(value, Value::Error(error) if is_ended(&error))))?,
    ))?;
    lua.set_app_data(Seal(seal));
    Ok(())
}

/// See [`crate::seal`].
pub(crate) fn seal(lua: &Lua) -> mlua::Result<Table> {
    let Seal(seal) = lua.remove_app_data().ok_or_else(|| fail_plain("the interpreter is sealed"))?;
    let behind = lua.globals();
    lua.set_globals(seal.call(())?)?;
    Ok(behind)
}

/// What the functions of sandbox.lua raise for their callers: level 0 is this function, level 1 theirs.
fn argument_error(lua: &Lua, (position, message): (usize, String)) -> mlua::Result<()> {
    Err(bad_argument_at(lua, 1, position, &message))
}

fn plain_error(lua: &Lua, (level, message): (usize, String)) -> mlua::Result<()> {
    Err(fail_at(lua, level, &message))
}

/// Reading a global that is not there.
fn missing(lua: &Lua, (_, name): (Value, Value)) -> mlua::Result<()> {
    let Some(name) = lua.coerce_string(name)? else {
        return Err(fail(lua, "Second argument to luaProtectedTableError must be a string or number"));
    };
    let name = name.to_string_lossy();
    Err(fail(lua, &format!("Script attempted to access nonexistent global variable '{name}'")))
}

/// What a script sees of an error that it has caught.
fn caught(lua: &Lua, value: Value) -> mlua::Result<Value> {
    match value {
        Value::Error(error) => thrown(lua, &error),
        other => Ok(other),
    }
}

/// The handler of errors that nobody catches: a table with `err`, and where it was raised (`source`, `line`).
fn handle(lua: &Lua, value: Value) -> mlua::Result<Value> {
    let value = caught(lua, value)?;
    let table = match value {
        Value::Table(table) => table,
        other => {
            let table = lua.create_table()?;
            table.raw_set("err", described(lua, &other)?)?;
            table
        }
    };
    // Level 1 has raised it. When that is a C function (`error`), it is its caller that matters.
    let place = |level| {
        lua.inspect_stack(level, |call| {
            let source = call.source();
            (source.what == "C", source.source.map(std::borrow::Cow::into_owned), call.current_line())
        })
    };
    let raiser = match place(1) {
        Some((true, ..)) => place(2),
        other => other,
    };
    if let Some((_, source, line)) = raiser {
        table.raw_set("source", source)?;
        table.raw_set("line", line.map_or(-1, |line| line as i64))?;
    }
    Ok(Value::Table(table))
}

/// `ERR ` and the value as text.
fn described(lua: &Lua, value: &Value) -> mlua::Result<mlua::LuaString> {
    let mut text = b"ERR ".to_vec();
    match lua.coerce_string(value.clone())? {
        Some(string) => text.extend_from_slice(&string.as_bytes()),
        None => text.extend_from_slice(value.to_string()?.as_bytes()),
    }
    lua.create_string(text)
}
