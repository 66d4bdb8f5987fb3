//! The Lua that scripts run in: the libraries that Redis gives them, tables that they cannot change, and errors that
//! read the same.
//!
//! What scripts share with Redis is a contract of many small things: names, texts of errors with their positions, how
//! numbers are written, limits. This crate holds all of it that needs no server. It is Lua 5.1 with the corrections of
//! `larder-lua-sys` (by `mlua`), with a sandbox made of proxies, since stock Lua has no read-only tables;
//! `cjson`, `cmsgpack`, `struct` and `bit` are written here, over the safe interface of `mlua`.
//!
//! Order of use: [`interpreter`], then the caller sets `redis` and whatever else in [`mlua::Lua::globals`], then
//! [`seal`], then [`compile`] for each script.
//!
//! # Errors
//!
//! A Rust function that scripts call returns [`fail`] or [`throw`] as its error. A script that catches it
//! (`pcall`, `xpcall`, `coroutine.resume`, `load`) gets the string or table meant; [`thrown`] gives the same
//! to the host.
//!
//! # Limits
//!
//! Memory: [`MEMORY_BYTES_MAX`] of Lua's own values, after which scripts fail with `not enough memory`. What
//! Rust functions put together before it becomes such a value (`cjson.encode`, `cmsgpack.pack`,
//! `struct.pack`, the arguments of a call) is not counted. Stack: pattern matching in Lua recurses for each
//! item of a pattern; run scripts on threads with [`STACK_BYTES_MIN`].
//!
//! Tested against Valkey: `tests/`.

#![deny(unsafe_code)]

mod arguments;
mod bit;
#[allow(unsafe_code, reason = "the interface of Lua in C")]
pub mod elements;
mod errors;
#[allow(unsafe_code, reason = "the interface of Lua in C")]
pub mod gateway;
#[allow(unsafe_code, reason = "the interface of Lua in C")]
pub mod inspect;
mod json;
mod msgpack;
mod random;
mod sandbox;
#[allow(unsafe_code, reason = "references of any lifetime in a static")]
pub mod scoped;
mod structs;

// Links Lua itself.
use larder_lua_sys as _;

pub use errors::{Ended, fail, message, throw, thrown};
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaOptions, StdLib, Table};
pub use random::Generator;
use std::cell::Cell;

/// What the values of an interpreter may take, in bytes; `Lua::set_memory_limit` changes it for one interpreter.
pub const MEMORY_BYTES_MAX: usize = 2 << 30;

/// Stack that a thread which runs scripts should have, in bytes. It is reserved, not used: calls nested as deep as Lua
/// lets them be take 2 MB, and matching a pattern about 100 bytes for each of its own.
pub const STACK_BYTES_MIN: usize = 64 << 20;

/// A Lua 5.1 state with the libraries that scripts have, not yet sealed: the caller adds `redis` and `server` to its
/// globals. With `insecure`, scripts also have `getfenv`, `setfenv` and `newproxy`. `math.random` draws from `generator`.
///
/// # Errors
/// Only when memory runs out.
pub fn interpreter(insecure: bool, generator: &Generator) -> mlua::Result<Lua> {
    let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::OS;
    let lua = Lua::new_with(libraries, LuaOptions::default())?;
    random::install(&lua, generator)?;
    sandbox::install(&lua, insecure)?;
    bit::install(&lua)?;
    json::install(&lua)?;
    msgpack::install(&lua)?;
    structs::install(&lua)?;
    lua.set_memory_limit(MEMORY_BYTES_MAX)?;
    Ok(lua)
}

/// From now on scripts see globals and all library tables read-only. Returns the table behind the globals, for the
/// caller to set KEYS and ARGV raw.
///
/// # Errors
/// When it is called twice, or memory runs out.
pub fn seal(lua: &Lua) -> mlua::Result<Table> {
    sandbox::seal(lua)
}

/// Compiles text (never bytecode) under a chunk name such as "@user_script".
///
/// # Errors
/// Lua's message, which [`message`] gives.
pub fn compile(lua: &Lua, source: &[u8], name: &str) -> mlua::Result<Function> {
    load(lua, source, name).map_err(|error| errors::in_bytes(lua, error, source, name))
}

fn load(lua: &Lua, source: &[u8], name: &str) -> mlua::Result<Function> {
    // Bytecode begins with an escape. Behind a blank it is text that does not compile, with the message for that.
    if source.first() == Some(&0x1b) {
        let text = [b" ", source].concat();
        return lua.load(text.as_slice()).set_name(name).set_mode(ChunkMode::Text).into_function();
    }
    lua.load(source).set_name(name).set_mode(ChunkMode::Text).into_function()
}

/// Memory that an interpreter may hold between scripts before [`relieve`] looks for garbage, in bytes.
const RELIEF_BYTES: usize = 64 << 20;

/// Below this nothing is looked at, whatever the limit.
const RELIEF_BYTES_MIN: usize = 4 << 20;

/// What an interpreter held after its last full collection, in bytes.
struct Floor(Cell<usize>);

/// To be called when a script has ended: collects garbage if it has left much. Lua does not collect by itself when an
/// allocation fails, so that an interpreter whose memory has run out would be of no use any more; and what one large
/// script has taken would stay with its thread. O(1) unless the memory has doubled since the last time.
pub fn relieve(lua: &Lua) {
    let used = lua.used_memory();
    if used < RELIEF_BYTES_MIN {
        return;
    }
    let limit = arguments::memory_limit(lua);
    let floor = lua.app_data_ref::<Floor>().map_or(0, |floor| floor.0.get());
    let room = if limit == 0 { floor } else { floor.min(limit.saturating_sub(floor) / 2) };
    let least = if limit == 0 { RELIEF_BYTES } else { RELIEF_BYTES.min(limit / 2) };
    if used <= (floor + room).max(least) {
        return;
    }
    // Nothing that scripts can make has a finalizer, so that collecting cannot fail.
    let _ = lua.gc_collect();
    lua.set_app_data(Floor(Cell::new(lua.used_memory())));
}
