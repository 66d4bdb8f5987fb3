//! Reading MessagePack. Not recursive: containers that are not complete are on a stack of their own, so that input can
//! only take memory in proportion to its bytes. Lengths are promises of the input; nothing is allocated for them.

use super::stack_overflow;
use crate::arguments::{Arguments, STACK_SLOTS_MAX, within_memory};
use crate::errors::{fail, fail_plain};
use mlua::{Lua, MultiValue, Table, Value};

/// Lua values that one byte of input can make, in bytes: an empty table and its place in another.
const MADE_BYTES_MAX: usize = 160;

/// Containers in one another. Each may hold a table and a key, and there is room for 8000 such references.
const DEPTH_MAX: usize = 3000;

/// Results of one call that may be strings or tables, for the same reason.
const RESULTS_MAX: usize = 7000;

const TOO_MANY: &str = "too many return values at once; use unpack_one or unpack_limit instead.";

/// Reads up to `limit` values from `offset`; all when both are 0. `slots` of the Lua stack are taken.
pub(super) fn unpack(
    arguments: &Arguments,
    limit: i64,
    offset: i64,
    slots: usize,
) -> mlua::Result<MultiValue> {
    let lua = arguments.lua;
    let input = arguments.string(1)?;
    let bytes = input.as_bytes();
    if offset < 0 || limit < 0 {
        let (offset, length) = (offset as i32, bytes.len() as i32);
        let message = format!("Invalid request to unpack with offset of {offset} and limit of {length}.");
        return Err(fail(lua, &message));
    }
    let all = limit == 0 && offset == 0;
    let Some(rest) = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)) else {
        let (offset, length) = (offset as i32, bytes.len() as i32);
        return Err(fail(lua, &format!("Start offset {offset} greater than input length {length}.")));
    };
    let limit = if all { i64::from(i32::MAX) } else { limit };
    let mut reader = Reader { lua, rest, slots, open: Vec::new(), held: 0 };
    let mut results = Vec::new();
    within_memory(lua, rest.len().saturating_mul(MADE_BYTES_MAX), || {
        while !reader.rest.is_empty() && (results.len() as i64) < limit {
            if reader.held > RESULTS_MAX {
                return Err(stack_overflow(lua, TOO_MANY));
            }
            results.push(reader.value()?);
            reader.slots += 1;
            reader.held += usize::from(matches!(results.last(), Some(Value::String(_) | Value::Table(_))));
        }
        Ok::<_, mlua::Error>(())
    })?;
    if !all {
        let next = if reader.rest.is_empty() { -1 } else { (bytes.len() - reader.rest.len()) as i64 };
        results.insert(0, Value::Integer(next));
    }
    Ok(results.into())
}

/// A container that waits for the rest of its items.
struct Open {
    table: Table,
    left: usize,
    kind: Kind,
}

enum Kind {
    Array(i64),
    Key,
    Value(Value),
}

struct Reader<'a> {
    lua: &'a Lua,
    rest: &'a [u8],
    /// What the original would have on the Lua stack, which limits it.
    slots: usize,
    open: Vec<Open>,
    /// Results so far that are held by reference.
    held: usize,
}

impl<'a> Reader<'a> {
    /// One value with all that is in it.
    fn value(&mut self) -> mlua::Result<Value> {
        loop {
            self.reserve(TOO_MANY)?;
            let (mut value, opened) = self.item()?;
            if let Some((left, kind)) = opened {
                let table = self.lua.create_table()?;
                self.slots += 1;
                let what = match kind {
                    Kind::Array(_) => "in function mp_decode_to_lua_array",
                    _ => "in function mp_decode_to_lua_hash",
                };
                self.reserve(what)?;
                if self.open.len() > DEPTH_MAX {
                    return Err(stack_overflow(self.lua, what));
                }
                value = Value::Table(table.clone());
                if left > 0 {
                    if matches!(kind, Kind::Array(_)) {
                        self.slots += 1;
                    }
                    self.open.push(Open { table, left, kind });
                    continue;
                }
                self.slots -= 1;
            }
            // Puts the value into its container; a container that is complete by it is a value for the next.
            loop {
                let Some(open) = self.open.last_mut() else { return Ok(value) };
                match &mut open.kind {
                    Kind::Array(index) => {
                        open.table.raw_set(*index, value)?;
                        *index += 1;
                    }
                    Kind::Key => {
                        open.kind = Kind::Value(value);
                        self.slots += 1;
                        break;
                    }
                    Kind::Value(key) => {
                        check_key(key)?;
                        open.table.raw_set(std::mem::replace(key, Value::Nil), value)?;
                        open.kind = Kind::Key;
                        self.slots -= 1;
                    }
                }
                open.left -= 1;
                if open.left > 0 {
                    break;
                }
                if matches!(open.kind, Kind::Array(_)) {
                    self.slots -= 1;
                }
                self.slots -= 1;
                let Some(done) = self.open.pop() else { break };
                value = Value::Table(done.table);
            }
        }
    }

    fn reserve(&self, what: &str) -> mlua::Result<()> {
        if self.slots + 1 > STACK_SLOTS_MAX { Err(stack_overflow(self.lua, what)) } else { Ok(()) }
    }

    /// A scalar, or the length of the container that begins here.
    fn item(&mut self) -> mlua::Result<(Value, Option<(usize, Kind)>)> {
        let [tag] = self.take::<1>()?;
        let array = |length: usize| Ok((Value::Nil, Some((length, Kind::Array(1)))));
        let map = |length: usize| Ok((Value::Nil, Some((length, Kind::Key))));
        let number = |number: f64| Value::Number(number);
        let value = match tag {
            0..=0x7F => Value::Integer(i64::from(tag)),
            0xE0.. => Value::Integer(i64::from(tag.cast_signed())),
            0x80..=0x8F => return map(usize::from(tag & 0xF)),
            0x90..=0x9F => return array(usize::from(tag & 0xF)),
            0xA0..=0xBF => self.string(usize::from(tag & 0x1F))?,
            0xC0 => Value::Nil,
            0xC2 => Value::Boolean(false),
            0xC3 => Value::Boolean(true),
            0xCA => number(f64::from(f32::from_be_bytes(self.take()?))),
            0xCB => number(f64::from_be_bytes(self.take()?)),
            0xCC => number(f64::from(u8::from_be_bytes(self.take()?))),
            0xCD => number(f64::from(u16::from_be_bytes(self.take()?))),
            0xCE => number(f64::from(u32::from_be_bytes(self.take()?))),
            0xCF => number(i64::from_be_bytes(self.take()?) as f64),
            0xD0 => number(f64::from(i8::from_be_bytes(self.take()?))),
            0xD1 => number(f64::from(i16::from_be_bytes(self.take()?))),
            0xD2 => number(f64::from(i32::from_be_bytes(self.take()?))),
            0xD3 => number(i64::from_be_bytes(self.take()?) as f64),
            0xD9 => {
                let length = u8::from_be_bytes(self.take()?);
                self.string(usize::from(length))?
            }
            0xDA => {
                let length = u16::from_be_bytes(self.take()?);
                self.string(usize::from(length))?
            }
            0xDB => {
                let length = u32::from_be_bytes(self.take()?);
                self.string(length as usize)?
            }
            0xDC => return array(usize::from(u16::from_be_bytes(self.take()?))),
            0xDD => return array(u32::from_be_bytes(self.take()?) as usize),
            0xDE => return map(usize::from(u16::from_be_bytes(self.take()?))),
            0xDF => return map(u32::from_be_bytes(self.take()?) as usize),
            _ => return Err(fail(self.lua, "Bad data format in input.")),
        };
        Ok((value, None))
    }

    fn take<const N: usize>(&mut self) -> mlua::Result<[u8; N]> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else { return Err(self.missing()) };
        self.rest = rest;
        Ok(*head)
    }

    fn string(&mut self, length: usize) -> mlua::Result<Value> {
        let Some((head, rest)) = self.rest.split_at_checked(length) else { return Err(self.missing()) };
        self.rest = rest;
        Ok(Value::String(self.lua.create_string(head)?))
    }

    fn missing(&self) -> mlua::Error {
        fail(self.lua, "Missing bytes in input.")
    }
}

fn check_key(key: &Value) -> mlua::Result<()> {
    match key {
        Value::Nil => Err(fail_plain("table index is nil")),
        Value::Number(number) if number.is_nan() => Err(fail_plain("table index is NaN")),
        _ => Ok(()),
    }
}
