//! `math.random` and `math.randomseed`: the 48-bit linear congruential generator of `drand48`, the same numbers on every
//! machine. As in redis-server 7, a script goes on where the last one left off.

use crate::errors::{bad_argument, fail};
use mlua::{Lua, MultiValue, Value};
use std::{cell::Cell, rc::Rc};

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const STATE_BITS: u64 = 48;
/// Where the generator of a server that has just started stands.
const START: u64 = 0x1234_ABCD_330E;
/// Numbers are drawn from 0 to this, exclusive.
const RANGE: u64 = i32::MAX as u64;

/// The state of the generator of one interpreter.
#[derive(Clone)]
struct Generator(Rc<Cell<u64>>);

impl Generator {
    fn seed(&self, seed: i32) {
        self.0.set(u64::from(seed.cast_unsigned()) << 16 | 0x330E);
    }

    /// A number in [0, 1).
    fn draw(&self) -> f64 {
        let state = self.0.get().wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & ((1 << STATE_BITS) - 1);
        self.0.set(state);
        ((state >> 17) % RANGE) as f64 / RANGE as f64
    }
}

/// Replaces the stock functions.
pub(crate) fn install(lua: &Lua) -> mlua::Result<()> {
    let generator = Generator(Rc::new(Cell::new(START)));
    lua.set_app_data(generator.clone());
    let math: mlua::Table = lua.globals().get("math")?;
    let own = generator.clone();
    math.set(
        "random",
        lua.create_function(move |lua, arguments: MultiValue| random(lua, &own, &arguments))?,
    )?;
    math.set(
        "randomseed",
        lua.create_function(move |lua, arguments: MultiValue| {
            generator.seed(int_argument(lua, &arguments, 1)?);
            Ok(())
        })?,
    )
}

/// Back to the start.
pub(crate) fn restart(lua: &Lua) {
    if let Some(generator) = lua.app_data_ref::<Generator>() {
        generator.0.set(START);
    }
}

fn random(lua: &Lua, generator: &Generator, arguments: &MultiValue) -> mlua::Result<f64> {
    let drawn = generator.draw();
    match arguments.len() {
        0 => Ok(drawn),
        1 => {
            let high = int_argument(lua, arguments, 1)?;
            if high < 1 {
                return Err(bad_argument(lua, 1, "interval is empty"));
            }
            Ok((drawn * f64::from(high)).floor() + 1.0)
        }
        2 => {
            let low = int_argument(lua, arguments, 1)?;
            let high = int_argument(lua, arguments, 2)?;
            if low > high {
                return Err(bad_argument(lua, 2, "interval is empty"));
            }
            let count = high.wrapping_sub(low).wrapping_add(1);
            Ok((drawn * f64::from(count)).floor() + f64::from(low))
        }
        _ => Err(fail(lua, "wrong number of arguments")),
    }
}

/// An argument as a C `int`: cut off at the point, then to its low 32 bits.
pub(crate) fn int_argument(lua: &Lua, arguments: &MultiValue, position: usize) -> mlua::Result<i32> {
    Ok(integer_argument(lua, arguments, position)? as i32)
}

/// An argument as a 64-bit integer, as a processor converts doubles: what does not fit is the smallest integer.
pub(crate) fn integer_argument(lua: &Lua, arguments: &MultiValue, position: usize) -> mlua::Result<i64> {
    number_argument(lua, arguments, position).map(truncate)
}

/// A double cut off at the point, as a processor does it: what does not fit is the smallest integer.
pub(crate) fn truncate(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

/// An argument as a number; strings that are numbers count.
pub(crate) fn number_argument(lua: &Lua, arguments: &MultiValue, position: usize) -> mlua::Result<f64> {
    let argument = arguments.get(position - 1);
    if let Some(number) = argument.and_then(|value| to_number(lua, value)) {
        return Ok(number);
    }
    let message = format!("number expected, got {}", argument.map_or("no value", Value::type_name));
    Err(bad_argument(lua, position, &message))
}

/// A value as a number, with the conversion that Lua has for strings.
pub(crate) fn to_number(lua: &Lua, value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        Value::String(_) => lua.coerce_number(value.clone()).ok().flatten(),
        _ => None,
    }
}
