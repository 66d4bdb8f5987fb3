//! `cjson`: values as JSON, both ways, with the limits and leniencies of the library that Redis has.
//!
//! Each instance (`cjson` itself, and what `cjson.new()` returns) has its own settings. Arrays are tables whose keys are
//! positive integers, unless they are too sparse; an empty table is an object.

mod decode;
mod encode;
mod number;
mod settings;

use crate::arguments::Arguments;
use mlua::{Lua, MultiValue, Table, Value};
use settings::Settings;
use std::rc::Rc;

/// Adds the library to the globals.
pub(crate) fn install(lua: &Lua) -> mlua::Result<()> {
    lua.globals().set("cjson", instance(lua)?)
}

/// A table of functions that share settings.
fn instance(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let settings = Rc::new(Settings::default());
    library.set("_NAME", "cjson")?;
    library.set("_VERSION", "2.1.0")?;
    library.set("null", Value::NULL)?;
    library.set("new", lua.create_function(|lua, _: MultiValue| instance(lua))?)?;
    let own = Rc::clone(&settings);
    library.set(
        "encode",
        lua.create_function(move |lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            encode::encode(&own, &arguments)
        })?,
    )?;
    let own = Rc::clone(&settings);
    library.set(
        "decode",
        lua.create_function(move |lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            decode::decode(&own, &arguments)
        })?,
    )?;
    for (name, change) in settings::FUNCTIONS {
        let own = Rc::clone(&settings);
        library.set(
            *name,
            lua.create_function(move |lua, values: MultiValue| change(&own, &Arguments::new(lua, values)))?,
        )?;
    }
    Ok(library)
}
