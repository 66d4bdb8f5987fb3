//! `cmsgpack`: values as MessagePack, both ways.

mod pack;
mod unpack;

use crate::arguments::Arguments;
use mlua::{Lua, MultiValue};

/// Adds the library to the globals.
pub(crate) fn install(lua: &Lua) -> mlua::Result<()> {
    let library = lua.create_table()?;
    library.set("_NAME", "cmsgpack")?;
    library.set("_VERSION", "lua-cmsgpack 0.4.0")?;
    library.set("_COPYRIGHT", "Copyright (C) 2012, Redis Ltd.")?;
    library.set("_DESCRIPTION", "MessagePack C implementation for Lua")?;
    library.set(
        "pack",
        lua.create_function(|lua, values: MultiValue| pack::pack(&Arguments::new(lua, values)))?,
    )?;
    library.set(
        "unpack",
        lua.create_function(|lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            let count = arguments.len();
            unpack::unpack(&arguments, 0, 0, count)
        })?,
    )?;
    library.set(
        "unpack_one",
        lua.create_function(|lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            let offset = arguments.integer_or(2, 0)?;
            unpack::unpack(&arguments, 1, offset, 1)
        })?,
    )?;
    library.set(
        "unpack_limit",
        lua.create_function(|lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            let limit = arguments.integer(2)?;
            let offset = arguments.integer_or(3, 0)?;
            unpack::unpack(&arguments, limit, offset, 1)
        })?,
    )?;
    lua.globals().set("cmsgpack", library)
}
