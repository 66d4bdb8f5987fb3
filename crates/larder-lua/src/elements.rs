//! Reading the elements of a table by Lua's own interface in C: through a handle for each, reading costs more than what is done with it.

use mlua::ffi;
use mlua::{Lua, Result, Table};
use std::any::Any;
use std::ffi::c_int;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// An element that needs no handle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plain<'a> {
    /// A string.
    Text(&'a [u8]),
    /// A number.
    Number(f64),
}

/// Calls `visit` with the elements of a table that are strings or numbers, in order, up to the first one in `range` that is something else, or
/// nil; returns how many these were. The first element of a table has index 1. Fields that a metatable adds are none.
///
/// `visit` must not use Lua. O(1) for each.
///
/// # Errors
/// Only when Lua has no room left on its stack.
pub fn plain_elements(
    lua: &Lua,
    table: &Table,
    range: Range<usize>,
    mut visit: impl FnMut(Plain<'_>),
) -> Result<usize> {
    let mut count = 0;
    let mut panic: Option<Box<dyn Any + Send>> = None;
    // SAFETY: the table is what is on the stack, at 1, and there is room for one more, which is taken away before the next. Nothing called here
    // raises an error: a string is read as one only where it is one, so that nothing is converted; its bytes are valid as long as it stands on the
    // stack. No panic leaves the closure.
    unsafe {
        lua.exec_raw::<()>(table, |state| {
            let visited = catch_unwind(AssertUnwindSafe(|| {
                for index in range {
                    let Ok(index) = c_int::try_from(index) else { break };
                    ffi::lua_rawgeti_(state, 1, index);
                    match ffi::lua_type(state, -1) {
                        ffi::LUA_TSTRING => {
                            let mut len = 0;
                            let text = ffi::lua_tolstring(state, -1, &raw mut len);
                            visit(Plain::Text(std::slice::from_raw_parts(text.cast(), len)));
                        }
                        ffi::LUA_TNUMBER => visit(Plain::Number(ffi::lua_tonumber(state, -1))),
                        _ => break,
                    }
                    ffi::lua_settop(state, 1);
                    count += 1;
                }
            }));
            panic = visited.err();
            ffi::lua_settop(state, 0);
        })?;
    }
    panic.map_or(Ok(count), |panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lua: &Lua, code: &str, range: Range<usize>) -> (usize, Vec<String>) {
        let table: Table = lua.load(code).eval().unwrap();
        let mut seen = Vec::new();
        let count = plain_elements(lua, &table, range, |element| {
            seen.push(match element {
                Plain::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Plain::Number(n) => format!("{n:?}"),
            });
        });
        (count.unwrap(), seen)
    }

    #[test]
    fn strings_and_numbers_up_to_something_else() {
        let lua = Lua::new();
        for (code, range, want) in [
            ("{}", 1..9, &[][..]),
            ("{'a', 2, 'c\\0', 4.5}", 1..5, &["a", "2.0", "c\0", "4.5"]),
            ("{'a', 2, 'c', 4.5}", 2..4, &["2.0", "c"]),
            ("{'a', 2, nil, 4}", 1..5, &["a", "2.0"]),
            ("{'a', {}, 'c'}", 1..4, &["a"]),
            ("{'a', true}", 1..3, &["a"]),
            ("{0/0, 1/0, -0}", 1..4, &["NaN", "inf", "0.0"]),
            ("setmetatable({}, {__index = function() return 'x' end})", 1..4, &[]),
            ("{'a'}", 1..1, &[]),
            ("{'a'}", usize::MAX - 1..usize::MAX, &[]),
        ] {
            let (count, seen) = read(&lua, code, range);
            let seen: Vec<String> = seen.into_iter().map(|text| text.replace("-0.0", "0.0")).collect();
            assert_eq!(
                (count, seen),
                (want.len(), want.iter().map(|&text| text.to_owned()).collect()),
                "{code}"
            );
        }
    }

    #[test]
    fn many_elements_take_no_room() {
        let lua = Lua::new();
        let (count, _) =
            read(&lua, "(function() local t = {} for i = 1, 1e5 do t[i] = i end return t end)()", 1..200_000);
        assert_eq!(count, 100_000);
    }

    #[test]
    fn a_panic_goes_on() {
        let lua = Lua::new();
        let table: Table = lua.load("{1, 2}").eval().unwrap();
        let read = || plain_elements(&lua, &table, 1..3, |_| panic!("asked for"));
        assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
        assert_eq!(plain_elements(&lua, &table, 1..3, |_| ()).unwrap(), 2);
    }
}
