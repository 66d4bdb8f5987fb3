//! What Rust functions raise in scripts: strings with the position and wording that C functions of Lua give them, or
//! any value.
//!
//! `mlua` hands scripts an object for an error of Rust. The `pcall` and its like of sandbox.lua pass it through [`thrown`],
//! so that scripts only ever see the value that was meant.

use mlua::{Error, Function, Lua, LuaString, Value};
use std::fmt;

/// An error that is a Lua value. `mlua` wants errors to be printable; scripts never see that text.
struct Thrown(Value);

impl fmt::Debug for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Thrown")
    }
}

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => f.write_str(&text.to_string_lossy()),
            other => f.write_str(other.type_name()),
        }
    }
}

impl std::error::Error for Thrown {}

/// Raises a value, such as a table with a field `err`.
pub fn throw(value: Value) -> Error {
    Error::external(Thrown(value))
}

/// Raises a message after the position of the caller, as `luaL_error` does. To be called by the function that fails.
pub fn fail(lua: &Lua, message: &str) -> Error {
    fail_at(lua, 1, message)
}

/// `bad argument #1 to 'name' (message)`, by the name that the script knows the function by.
pub(crate) fn bad_argument(lua: &Lua, position: usize, message: &str) -> Error {
    bad_argument_at(lua, 0, position, message)
}

/// [`bad_argument`] for a function `level` calls up.
pub(crate) fn bad_argument_at(lua: &Lua, level: usize, mut position: usize, message: &str) -> Error {
    let (name, method) = lua
        .inspect_stack(level, |call| {
            let names = call.names();
            (names.name.map(std::borrow::Cow::into_owned), names.name_what == Some("method"))
        })
        .unwrap_or_default();
    let name = name.as_deref().unwrap_or("?");
    if method {
        position -= 1;
        if position == 0 {
            return fail_at(lua, level + 1, &format!("calling '{name}' on bad self ({message})"));
        }
    }
    fail_at(lua, level + 1, &format!("bad argument #{position} to '{name}' ({message})"))
}

/// Raises a message after the position of the function `level` calls up.
pub(crate) fn fail_at(lua: &Lua, level: usize, message: &str) -> Error {
    Error::RuntimeError(format!("{}{message}", place(lua, level)))
}

/// Raises a message without a position.
pub(crate) fn fail_plain(message: &str) -> Error {
    Error::RuntimeError(message.to_owned())
}

/// `user_script:1: ` for a Lua function, nothing for others.
fn place(lua: &Lua, level: usize) -> String {
    lua.inspect_stack(level, |call| {
        let line = call.current_line().filter(|line| *line > 0)?;
        Some(format!("{}:{line}: ", call.source().short_src.unwrap_or_default()))
    })
    .flatten()
    .unwrap_or_default()
}

/// A syntax error with the bytes of its message: where it quotes bytes that are not UTF-8, `mlua` has put signs in their place.
pub(crate) fn in_bytes(lua: &Lua, error: Error, source: &[u8], name: &str) -> Error {
    match &error {
        Error::SyntaxError { message, .. } if message.contains(char::REPLACEMENT_CHARACTER) => {}
        _ => return error,
    }
    let again = || {
        let load: Function = lua.globals().get("loadstring")?;
        load.call::<(Value, Option<LuaString>)>((lua.create_string(source)?, name))
    };
    match again() {
        Ok((Value::Nil, Some(message))) => throw(Value::String(message)),
        _ => error,
    }
}

/// The text of an error of [`crate::compile`], as Lua gives it.
pub fn message(error: &Error) -> Vec<u8> {
    match error {
        Error::SyntaxError { message, .. } => message.clone().into_bytes(),
        Error::ExternalError(inner) => match inner.downcast_ref::<Thrown>() {
            Some(Thrown(Value::String(text))) => text.as_bytes().to_vec(),
            _ => inner.to_string().into_bytes(),
        },
        error => error.to_string().into_bytes(),
    }
}

/// What a hook raises to end a script. The script may catch it, and gets the next one at its next step. The handlers that it gives to
/// `xpcall` are not told: they would run while hooks are off, and one that does not return could not be stopped.
#[derive(Debug)]
pub struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script has to end")
    }
}

impl std::error::Error for Ended {}

/// Whether an error is [`Ended`].
pub(crate) fn is_ended(error: &Error) -> bool {
    match error {
        Error::CallbackError { cause, .. } => is_ended(cause),
        Error::ExternalError(inner) => inner.is::<Ended>(),
        _ => false,
    }
}

/// What a script sees of an error when it catches it: a string, or the value that was thrown.
///
/// # Errors
/// Only when memory runs out.
pub fn thrown(lua: &Lua, error: &Error) -> mlua::Result<Value> {
    match error {
        Error::CallbackError { cause, .. } => thrown(lua, cause),
        Error::ExternalError(inner) => match inner.downcast_ref::<Thrown>() {
            Some(Thrown(value)) => Ok(value.clone()),
            None => text(lua, &inner.to_string()),
        },
        Error::RuntimeError(message) | Error::MemoryError(message) | Error::SyntaxError { message, .. } => {
            text(lua, message)
        }
        other => text(lua, &other.to_string()),
    }
}

fn text(lua: &Lua, message: &str) -> mlua::Result<Value> {
    Ok(Value::String(lua.create_string(message)?))
}
