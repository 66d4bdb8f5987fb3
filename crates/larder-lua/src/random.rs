//! `math.random` and `math.randomseed`: the 48-bit linear congruential generator of `drand48`, the same numbers on every
//! machine. As in Valkey, a script goes on where the last one left off, whichever interpreter ran that: no two scripts draw the
//! same numbers, and applications count on it when they draw tokens.

use crate::arguments::Arguments;
use crate::errors::fail;
use mlua::{Lua, MultiValue};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const STATE_BITS: u64 = 48;
/// Where the generator of a server that has just started stands.
const START: u64 = 0x1234_ABCD_330E;
/// Numbers are drawn from 0 to this, exclusive.
const RANGE: u64 = i32::MAX as u64;

/// What `math.random` draws from. Clones are the same generator: interpreters that are made with them share one sequence.
#[derive(Clone, Debug)]
pub struct Generator(Arc<AtomicU64>);

impl Default for Generator {
    /// The generator of a server that has just started.
    fn default() -> Self {
        Generator(Arc::new(AtomicU64::new(START)))
    }
}

impl Generator {
    fn seed(&self, seed: i32) {
        self.0.store(u64::from(seed.cast_unsigned()) << 16 | 0x330E, Relaxed);
    }

    /// A number in [0, 1).
    fn draw(&self) -> f64 {
        let before = self.0.fetch_update(Relaxed, Relaxed, |state| Some(next(state)));
        let state = next(before.unwrap_or_else(|state| state));
        ((state >> 17) % RANGE) as f64 / RANGE as f64
    }
}

/// The state after one.
fn next(state: u64) -> u64 {
    state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & ((1 << STATE_BITS) - 1)
}

/// Replaces the stock functions.
pub(crate) fn install(lua: &Lua, generator: &Generator) -> mlua::Result<()> {
    let math: mlua::Table = lua.globals().get("math")?;
    let (own, seeded) = (generator.clone(), generator.clone());
    math.set(
        "random",
        lua.create_function(move |lua, arguments: MultiValue| random(&own, &Arguments::new(lua, arguments)))?,
    )?;
    math.set(
        "randomseed",
        lua.create_function(move |lua, arguments: MultiValue| {
            seeded.seed(Arguments::new(lua, arguments).int(1)?);
            Ok(())
        })?,
    )
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
