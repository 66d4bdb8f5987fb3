//! Reading MessagePack. Not recursive: containers that are not complete are on a stack of their own, so that input can
//! only take memory in proportion to its bytes. Lengths are promises of the input; nothing is allocated for them.

use crate::arguments::{Arguments, STACK_SLOTS_MAX, within_memory};
use crate::errors::{fail, fail_plain};
use mlua::{IntoLua, Lua, MultiValue, Table, Value};

/// Lua values that one byte of input can make, in bytes: an empty table and its place in another.
const MADE_BYTES_MAX: usize = 160;

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
    let mut reader = Reader { lua, rest, slots, open: Vec::new() };
    let mut results = Vec::new();
    within_memory(lua, rest.len().saturating_mul(MADE_BYTES_MAX), || {
        while !reader.rest.is_empty() && (results.len() as i64) < limit {
            let value = reader.value()?;
            reader.slots += 1;
            results.push(value);
        }
        Ok::<_, mlua::Error>(())
    })?;
    if !all {
        let next = if reader.rest.is_empty() { -1 } else { (bytes.len() - reader.rest.len()) as i64 };
        results.insert(0, Value::Integer(next));
    }
    Ok(results.into())
}

/// What input consists of.
#[derive(Clone, Copy)]
enum Item<'a> {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(&'a [u8]),
    Array(usize),
    Map(usize),
}

/// A container that waits for the rest of its items.
struct Open<'a> {
    table: Table,
    left: usize,
    next: Next<'a>,
    /// What is wrong with the key that it is under: said when it is complete.
    bad_key: Option<&'static str>,
}

enum Next<'a> {
    Index(i64),
    Key,
    /// The value of a key that is no container.
    Value(Item<'a>),
    /// The value of a key that is one.
    ValueOf(Table),
}

struct Reader<'a> {
    lua: &'a Lua,
    rest: &'a [u8],
    /// What the original would have on the Lua stack, which limits it.
    slots: usize,
    open: Vec<Open<'a>>,
}

impl<'a> Reader<'a> {
    /// One value with all that is in it.
    fn value(&mut self) -> mlua::Result<Value> {
        loop {
            self.reserve(TOO_MANY)?;
            let item = self.item()?;
            let (length, next) = match item {
                Item::Array(length) => (length, Next::Index(1)),
                Item::Map(length) => (length, Next::Key),
                scalar => {
                    if self.open.is_empty() {
                        return self.scalar(scalar);
                    }
                    self.place(scalar)?;
                    if let Some(done) = self.close()? {
                        return Ok(Value::Table(done));
                    }
                    continue;
                }
            };
            let table = self.begin(&next)?;
            let bad_key = if self.open.is_empty() { None } else { self.place_container(&table)? };
            self.slots += 1 + usize::from(matches!(next, Next::Index(_)));
            self.open.push(Open { table, left: length, next, bad_key });
            if let Some(done) = self.close()? {
                return Ok(Value::Table(done));
            }
        }
    }

    fn begin(&self, next: &Next) -> mlua::Result<Table> {
        let what = match next {
            Next::Index(_) => "in function mp_decode_to_lua_array",
            _ => "in function mp_decode_to_lua_hash",
        };
        if self.slots + 2 > STACK_SLOTS_MAX {
            return Err(stack_overflow(self.lua, what));
        }
        self.lua.create_table()
    }

    fn reserve(&self, what: &str) -> mlua::Result<()> {
        if self.slots + 1 > STACK_SLOTS_MAX { Err(stack_overflow(self.lua, what)) } else { Ok(()) }
    }

    /// Puts a scalar into the innermost container.
    fn place(&mut self, item: Item<'a>) -> mlua::Result<()> {
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        match &mut open.next {
            Next::Index(index) => {
                set(self.lua, &open.table, *index, item)?;
                *index += 1;
            }
            Next::Key => {
                open.next = Next::Value(item);
                self.slots += 1;
                return Ok(());
            }
            Next::Value(key) => {
                if let Some(message) = key_fault(*key) {
                    return Err(fail_plain(message));
                }
                match *key {
                    Item::Text(bytes) => match std::str::from_utf8(bytes) {
                        Ok(text) => set(self.lua, &open.table, text, item)?,
                        Err(_) => set(self.lua, &open.table, self.lua.create_string(bytes)?, item)?,
                    },
                    Item::Number(number) => set(self.lua, &open.table, number, item)?,
                    Item::Boolean(value) => set(self.lua, &open.table, value, item)?,
                    _ => {}
                }
                open.next = Next::Key;
                self.slots -= 1;
            }
            Next::ValueOf(key) => {
                set(self.lua, &open.table, &*key, item)?;
                open.next = Next::Key;
                self.slots -= 1;
            }
        }
        open.left -= 1;
        Ok(())
    }

    /// Puts a container that is still empty into the innermost one. Returns what is wrong with its key.
    fn place_container(&mut self, table: &Table) -> mlua::Result<Option<&'static str>> {
        let Some(open) = self.open.last_mut() else { return Ok(None) };
        match &mut open.next {
            Next::Index(index) => {
                open.table.raw_set(*index, table)?;
                *index += 1;
            }
            Next::Key => {
                open.next = Next::ValueOf(table.clone());
                self.slots += 1;
                return Ok(None);
            }
            Next::Value(key) => {
                if let Some(message) = key_fault(*key) {
                    return Ok(Some(message));
                }
                let key = *key;
                open.next = Next::Key;
                open.left -= 1;
                let outer = open.table.clone();
                outer.raw_set(self.scalar(key)?, table)?;
                self.slots -= 1;
                return Ok(None);
            }
            Next::ValueOf(key) => {
                open.table.raw_set(&*key, table)?;
                open.next = Next::Key;
                self.slots -= 1;
            }
        }
        open.left -= 1;
        Ok(None)
    }

    /// Takes off the containers that are complete; the outermost is the result.
    fn close(&mut self) -> mlua::Result<Option<Table>> {
        while let Some(open) = self.open.last() {
            // A container as a key counts when its value is there.
            if open.left > 0 {
                return Ok(None);
            }
            self.slots -= 1 + usize::from(matches!(open.next, Next::Index(_)));
            let Some(done) = self.open.pop() else { break };
            if let Some(message) = done.bad_key {
                return Err(fail_plain(message));
            }
            if self.open.is_empty() {
                return Ok(Some(done.table));
            }
        }
        Ok(None)
    }

    fn scalar(&self, item: Item) -> mlua::Result<Value> {
        Ok(match item {
            Item::Boolean(value) => Value::Boolean(value),
            Item::Number(number) => Value::Number(number),
            Item::Text(bytes) => Value::String(self.lua.create_string(bytes)?),
            Item::Nil | Item::Array(_) | Item::Map(_) => Value::Nil,
        })
    }

    /// A scalar, or the length of the container that begins here.
    fn item(&mut self) -> mlua::Result<Item<'a>> {
        let [tag] = self.take::<1>()?;
        Ok(match tag {
            0..=0x7F => Item::Number(f64::from(tag)),
            0xE0.. => Item::Number(f64::from(tag.cast_signed())),
            0x80..=0x8F => Item::Map(usize::from(tag & 0xF)),
            0x90..=0x9F => Item::Array(usize::from(tag & 0xF)),
            0xA0..=0xBF => self.text(usize::from(tag & 0x1F))?,
            0xC0 => Item::Nil,
            0xC2 => Item::Boolean(false),
            0xC3 => Item::Boolean(true),
            0xCA => Item::Number(f64::from(f32::from_be_bytes(self.take()?))),
            0xCB => Item::Number(f64::from_be_bytes(self.take()?)),
            0xCC => Item::Number(f64::from(u8::from_be_bytes(self.take()?))),
            0xCD => Item::Number(f64::from(u16::from_be_bytes(self.take()?))),
            0xCE => Item::Number(f64::from(u32::from_be_bytes(self.take()?))),
            0xD0 => Item::Number(f64::from(i8::from_be_bytes(self.take()?))),
            0xD1 => Item::Number(f64::from(i16::from_be_bytes(self.take()?))),
            0xD2 => Item::Number(f64::from(i32::from_be_bytes(self.take()?))),
            // The original reads large unsigned integers as signed ones.
            0xCF | 0xD3 => Item::Number(i64::from_be_bytes(self.take()?) as f64),
            0xD9 => {
                let length = u8::from_be_bytes(self.take()?);
                self.text(usize::from(length))?
            }
            0xDA => {
                let length = u16::from_be_bytes(self.take()?);
                self.text(usize::from(length))?
            }
            0xDB => {
                let length = u32::from_be_bytes(self.take()?);
                self.text(length as usize)?
            }
            0xDC => Item::Array(usize::from(u16::from_be_bytes(self.take()?))),
            0xDD => Item::Array(u32::from_be_bytes(self.take()?) as usize),
            0xDE => Item::Map(usize::from(u16::from_be_bytes(self.take()?))),
            0xDF => Item::Map(u32::from_be_bytes(self.take()?) as usize),
            _ => return Err(fail(self.lua, "Bad data format in input.")),
        })
    }

    fn take<const N: usize>(&mut self) -> mlua::Result<[u8; N]> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else { return Err(self.missing()) };
        self.rest = rest;
        Ok(*head)
    }

    fn text(&mut self, length: usize) -> mlua::Result<Item<'a>> {
        let Some((head, rest)) = self.rest.split_at_checked(length) else { return Err(self.missing()) };
        self.rest = rest;
        Ok(Item::Text(head))
    }

    fn missing(&self) -> mlua::Error {
        fail(self.lua, "Missing bytes in input.")
    }
}

/// Sets an entry to a scalar. Text goes in without a reference being made, when it is valid UTF-8 as the interface wants.
fn set(lua: &Lua, table: &Table, key: impl IntoLua, item: Item) -> mlua::Result<()> {
    match item {
        Item::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => table.raw_set(key, text),
            Err(_) => table.raw_set(key, lua.create_string(bytes)?),
        },
        Item::Number(number) => table.raw_set(key, number),
        Item::Boolean(value) => table.raw_set(key, value),
        Item::Nil | Item::Array(_) | Item::Map(_) => table.raw_set(key, Value::Nil),
    }
}

fn key_fault(key: Item) -> Option<&'static str> {
    match key {
        Item::Nil => Some("table index is nil"),
        Item::Number(number) if number.is_nan() => Some("table index is NaN"),
        _ => None,
    }
}

/// `stack overflow (what)`, as Lua says it when a function wants too many slots.
fn stack_overflow(lua: &Lua, what: &str) -> mlua::Error {
    fail(lua, &format!("stack overflow ({what})"))
}
