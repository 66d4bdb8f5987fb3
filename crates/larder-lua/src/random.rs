//! `math.random` and `math.randomseed`: the 48-bit linear congruential generator of `drand48`, the same numbers on every
//! machine. As in redis-server 7, a script goes on where the last one left off.

use crate::arguments::Arguments;
use crate::errors::fail;
use mlua::{Lua, MultiValue};
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
        lua.create_function(move |lua, arguments: MultiValue| random(&own, &Arguments::new(lua, arguments)))?,
    )?;
    math.set(
        "randomseed",
        lua.create_function(move |lua, arguments: MultiValue| {
            generator.seed(Arguments::new(lua, arguments).int(1)?);
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

fn random(generator: &Generator, arguments: &Arguments) -> mlua::Result<f64> {
    let drawn = generator.draw();
    match arguments.len() {
        0 => Ok(drawn),
        1 => {
            let high = arguments.int(1)?;
            if high < 1 {
                return Err(arguments.bad(1, "interval is empty"));
            }
            Ok((drawn * f64::from(high)).floor() + 1.0)
        }
        2 => {
            let low = arguments.int(1)?;
            let high = arguments.int(2)?;
            if low > high {
                return Err(arguments.bad(2, "interval is empty"));
            }
            let count = high.wrapping_sub(low).wrapping_add(1);
            Ok((drawn * f64::from(count)).floor() + f64::from(low))
        }
        _ => Err(fail(arguments.lua, "wrong number of arguments")),
    }
}
