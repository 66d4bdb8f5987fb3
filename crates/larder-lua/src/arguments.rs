//! Arguments of library functions, checked and converted as the C interface of Lua does it (`luaL_check...`).

use crate::errors::bad_argument;
use mlua::{Lua, LuaString, MultiValue, Value};

/// Slots of the Lua stack that one call may use; what needs more fails with `stack overflow (...)`.
pub(crate) const STACK_SLOTS_MAX: usize = 8000;

/// Bytes of a text that a library builds. It is built outside of the interpreter, whose limit of memory does
/// not hold there; a longer one could be no value of a key.
pub(crate) const BUILT_BYTES_MAX: usize = if cfg!(test) { 1 << 20 } else { 512 << 20 };

/// The arguments of a call.
pub(crate) struct Arguments<'a> {
    pub(crate) lua: &'a Lua,
    pub(crate) values: MultiValue,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(lua: &'a Lua, values: MultiValue) -> Self {
        Self { lua, values }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The argument at a position that counts from 1, if there is one.
    pub(crate) fn get(&self, position: usize) -> Option<&Value> {
        self.values.get(position - 1)
    }

    /// Whether the argument is missing or nil.
    pub(crate) fn is_none_or_nil(&self, position: usize) -> bool {
        matches!(self.get(position), None | Some(Value::Nil))
    }

    /// An error about one argument.
    pub(crate) fn bad(&self, position: usize, message: &str) -> mlua::Error {
        bad_argument(self.lua, position, message)
    }

    fn wrong_type(&self, position: usize, expected: &str) -> mlua::Error {
        let got = self.get(position).map_or("no value", type_name);
        self.bad(position, &format!("{expected} expected, got {got}"))
    }

    /// A number, or a string that is one.
    pub(crate) fn number(&self, position: usize) -> mlua::Result<f64> {
        let number = match self.get(position) {
            Some(Value::Integer(number)) => Some(*number as f64),
            Some(Value::Number(number)) => Some(*number),
            Some(text @ Value::String(_)) => self.lua.coerce_number(text.clone()).ok().flatten(),
            _ => None,
        };
        number.ok_or_else(|| self.wrong_type(position, "number"))
    }

    /// A number cut off at the point.
    pub(crate) fn integer(&self, position: usize) -> mlua::Result<i64> {
        self.number(position).map(truncate)
    }

    /// The low 32 bits of [`Self::integer`], as a C `int` is made of it.
    pub(crate) fn int(&self, position: usize) -> mlua::Result<i32> {
        self.integer(position).map(|number| number as i32)
    }

    /// An integer that may be left out.
    pub(crate) fn integer_or(&self, position: usize, default: i64) -> mlua::Result<i64> {
        if self.is_none_or_nil(position) { Ok(default) } else { self.integer(position) }
    }

    /// A string, or a number as one.
    pub(crate) fn string(&self, position: usize) -> mlua::Result<LuaString> {
        match self.get(position) {
            Some(Value::String(string)) => Ok(string.clone()),
            Some(number @ (Value::Integer(_) | Value::Number(_))) => {
                self.lua.coerce_string(number.clone())?.ok_or_else(|| self.wrong_type(position, "string"))
            }
            _ => Err(self.wrong_type(position, "string")),
        }
    }
}

/// The name of a value's type as scripts know it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::LightUserData(_) | Value::UserData(_) | Value::Error(_) => "userdata",
        Value::Integer(_) => "number",
        other => other.type_name(),
    }
}

/// A number as an integer, cut off at the point as the processor does it: what does not fit is the smallest integer.
pub(crate) fn truncate(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

/// The same for an unsigned integer: negative numbers as their bits, too large ones as zero.
pub(crate) fn truncate_unsigned(number: f64) -> u64 {
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    if number >= HALF { (truncate(number - HALF) as u64) ^ (1 << 63) } else { truncate(number) as u64 }
}

/// Runs what makes Lua values without the memory limit being looked at for each: that costs a protected call every
/// time. `need_bytes` is the most that may be made; if the limit does not leave that much, it stays in force.
pub(crate) fn within_memory<T>(lua: &Lua, need_bytes: usize, make: impl FnOnce() -> T) -> T {
    struct Restore<'a>(&'a Lua, usize);
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            let _ = self.0.set_memory_limit(self.1);
        }
    }
    let Ok(limit) = lua.set_memory_limit(0) else { return make() };
    let _restore = Restore(lua, limit);
    if limit != 0 && lua.used_memory().saturating_add(need_bytes) > limit {
        let _ = lua.set_memory_limit(limit);
    }
    make()
}

/// The memory limit in force, in bytes; 0 is none.
pub(crate) fn memory_limit(lua: &Lua) -> usize {
    // Only setting it tells what it was.
    let limit = lua.set_memory_limit(0).unwrap_or(0);
    let _ = lua.set_memory_limit(limit);
    limit
}
