//! `bit`: operations on the low 32 bits of numbers, with signed results.
//!
//! Numbers are brought into range as LuaJIT's library does it: adding 2^52 + 2^51 leaves the integer, rounded to even,
//! in the low bits of the double.

use crate::arguments::Arguments;
use mlua::{Lua, MultiValue};

const INTEGER_BIAS: f64 = 6_755_399_441_055_744.0;

/// Adds the library to the globals.
pub(crate) fn install(lua: &Lua) -> mlua::Result<()> {
    let library = lua.create_table()?;
    let unary = |name, apply: fn(u32) -> u32| {
        library.set(
            name,
            lua.create_function(move |lua, values: MultiValue| {
                Ok(signed(apply(bits(&Arguments::new(lua, values), 1)?)))
            })?,
        )
    };
    unary("tobit", |bits| bits)?;
    unary("bnot", |bits| !bits)?;
    unary("bswap", u32::swap_bytes)?;
    let fold = |name, apply: fn(u32, u32) -> u32| {
        library.set(
            name,
            lua.create_function(move |lua, values: MultiValue| {
                let arguments = Arguments::new(lua, values);
                let mut result = bits(&arguments, 1)?;
                for position in 2..=arguments.len() {
                    result = apply(result, bits(&arguments, position)?);
                }
                Ok(signed(result))
            })?,
        )
    };
    fold("band", |a, b| a & b)?;
    fold("bor", |a, b| a | b)?;
    fold("bxor", |a, b| a ^ b)?;
    let shift = |name, apply: fn(u32, u32) -> u32| {
        library.set(
            name,
            lua.create_function(move |lua, values: MultiValue| {
                let arguments = Arguments::new(lua, values);
                let value = bits(&arguments, 1)?;
                Ok(signed(apply(value, bits(&arguments, 2)? & 31)))
            })?,
        )
    };
    shift("lshift", |bits, by| bits << by)?;
    shift("rshift", |bits, by| bits >> by)?;
    shift("arshift", |bits, by| (bits.cast_signed() >> by).cast_unsigned())?;
    shift("rol", u32::rotate_left)?;
    shift("ror", u32::rotate_right)?;
    library
        .set("tohex", lua.create_function(|lua, values: MultiValue| tohex(&Arguments::new(lua, values)))?)?;
    lua.globals().set("bit", library)
}

fn bits(arguments: &Arguments, position: usize) -> mlua::Result<u32> {
    Ok((arguments.number(position)? + INTEGER_BIAS).to_bits() as u32)
}

fn signed(bits: u32) -> i32 {
    bits.cast_signed()
}

/// Up to eight digits, from the lowest; a negative count asks for capital ones.
fn tohex(arguments: &Arguments) -> mlua::Result<String> {
    let value = bits(arguments, 1)?;
    let count = if arguments.len() < 2 { 8 } else { bits(arguments, 2)?.cast_signed() };
    let digits = count.unsigned_abs().min(8) as usize;
    let all = if count < 0 { format!("{value:08X}") } else { format!("{value:08x}") };
    Ok(all[8 - digits..].to_owned())
}
