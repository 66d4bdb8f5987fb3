//! Writing JSON.
//!
//! Objects are walked by the interpreter itself, which is fast but takes a call within a call; Lua allows 200 of those,
//! so that those deeper than [`CALLS_MAX`] levels are walked from outside.

use super::number;
use super::settings::{DEPTH_MAX, Invalid, Settings};
use crate::arguments::{Arguments, BUILT_BYTES_MAX, type_name};
use crate::errors::fail;
use mlua::{Error, LuaString, Table, Value};
use std::cell::Cell;

/// Levels of objects walked by the interpreter.
const CALLS_MAX: usize = 32;

/// Largest integers that `%.14g` writes as such.
const PLAIN_MAX: i64 = 99_999_999_999_999;

const HEX: &[u8; 16] = b"0123456789abcdef";

pub(super) fn encode(settings: &Settings, arguments: &Arguments) -> mlua::Result<LuaString> {
    if arguments.len() != 1 {
        return Err(arguments.bad(1, "expected 1 argument"));
    }
    let mut writer = Writer { settings, out: Vec::with_capacity(128), refusal: Cell::new(None) };
    if let Some(value) = arguments.get(1)
        && let Err(error) = writer.value(value, 0)
    {
        return Err(writer.refusal.take().map_or(error, |message| fail(arguments.lua, &message)));
    }
    arguments.lua.create_string(writer.out)
}

struct Writer<'a> {
    settings: &'a Settings,
    out: Vec<u8>,
    /// Why a value cannot be written. An error with a position is made of it outside of the walk through a table, which
    /// is a call of its own to Lua.
    refusal: Cell<Option<String>>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> mlua::Result<()> {
        if self.out.len() > BUILT_BYTES_MAX {
            return Err(self.refuse("Cannot serialise, the text is too long".to_owned()));
        }
        match value {
            Value::String(string) => self.string(&string.as_bytes()),
            Value::Integer(number) => self.integer(*number),
            Value::Number(number) => self.number(*number)?,
            Value::Boolean(true) => self.out.extend_from_slice(b"true"),
            Value::Boolean(false) => self.out.extend_from_slice(b"false"),
            Value::Nil => self.out.extend_from_slice(b"null"),
            Value::LightUserData(pointer) if pointer.0.is_null() => self.out.extend_from_slice(b"null"),
            Value::Table(table) => self.table(table, depth + 1)?,
            other => return Err(self.refused(other, "type not supported")),
        }
        Ok(())
    }

    fn table(&mut self, table: &Table, depth: usize) -> mlua::Result<()> {
        if depth > DEPTH_MAX || depth > self.settings.encode_depth_max.get() as usize {
            return Err(self.refuse(format!("Cannot serialise, excessive nesting ({depth})")));
        }
        if depth > CALLS_MAX {
            return match self.array_length(table)? {
                Some(length) => self.array(table, length, depth),
                None => self.object_from_outside(table, depth),
            };
        }
        // A first key that is no index settles that it is an object, without a walk to find out.
        let start = self.out.len();
        let mut maybe_array = false;
        let walked = table.for_each(|key: Value, value: Value| {
            if self.out.len() == start && is_index(&key) {
                maybe_array = true;
                return Err(Error::StackError);
            }
            self.pair(start, &key, &value, depth)
        });
        if maybe_array {
            return match self.array_length(table)? {
                Some(length) => self.array(table, length, depth),
                None => {
                    table.for_each(|key: Value, value: Value| self.pair(start, &key, &value, depth))?;
                    self.out.push(b'}');
                    Ok(())
                }
            };
        }
        walked?;
        self.close_object(start);
        Ok(())
    }

    fn close_object(&mut self, start: usize) {
        if self.out.len() == start {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }

    fn object_from_outside(&mut self, table: &Table, depth: usize) -> mlua::Result<()> {
        let start = self.out.len();
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            self.pair(start, &key, &value, depth)?;
        }
        self.close_object(start);
        Ok(())
    }

    /// One member of the object that begins at `start`.
    fn pair(&mut self, start: usize, key: &Value, value: &Value, depth: usize) -> mlua::Result<()> {
        self.out.push(if self.out.len() == start { b'{' } else { b',' });
        match key {
            Value::String(string) => self.string(&string.as_bytes()),
            Value::Integer(number) => {
                self.out.push(b'"');
                self.integer(*number);
                self.out.push(b'"');
            }
            Value::Number(number) => {
                self.out.push(b'"');
                self.number(*number)?;
                self.out.push(b'"');
            }
            other => return Err(self.refused(other, "table key must be a number or string")),
        }
        self.out.push(b':');
        self.value(value, depth)
    }

    fn array(&mut self, table: &Table, length: i32, depth: usize) -> mlua::Result<()> {
        self.out.push(b'[');
        for index in 1..=length {
            if index > 1 {
                self.out.push(b',');
            }
            let value: Value = table.raw_get(index)?;
            self.value(&value, depth)?;
        }
        self.out.push(b']');
        Ok(())
    }

    /// How long the array is that a table is; none when it is an object.
    fn array_length(&self, table: &Table) -> mlua::Result<Option<i32>> {
        let (mut highest, mut items, mut array) = (0_i32, 0_i32, true);
        table.for_each(|key: Value, _: bool| {
            if !is_index(&key) {
                array = false;
                return Ok(());
            }
            let key = match key {
                Value::Integer(number) => number as f64,
                Value::Number(number) => number,
                _ => 0.0,
            };
            if key > f64::from(highest) {
                // As the processor converts it: what does not fit is the smallest integer.
                highest = if key <= f64::from(i32::MAX) { key as i32 } else { i32::MIN };
            }
            items = items.saturating_add(1);
            Ok(())
        })?;
        if !array {
            return Ok(None);
        }
        let ratio = self.settings.sparse_ratio.get();
        if ratio > 0 && highest > items.wrapping_mul(ratio) && highest > self.settings.sparse_safe.get() {
            if !self.settings.sparse_convert.get() {
                return Err(self.refused_name("table", "excessively sparse array"));
            }
            return Ok(None);
        }
        Ok((highest > 0).then_some(highest))
    }

    fn integer(&mut self, number: i64) {
        if self.settings.precision.get() == 14 && (-PLAIN_MAX..=PLAIN_MAX).contains(&number) {
            number::write_integer(&mut self.out, number);
        } else {
            number::write(&mut self.out, number as f64, self.settings.precision.get() as usize);
        }
    }

    fn number(&mut self, number: f64) -> mlua::Result<()> {
        if !number.is_finite() {
            match self.settings.encode_invalid.get() {
                Invalid::Refused => return Err(self.refused_name("number", "must not be NaN or Inf")),
                Invalid::Null => {
                    self.out.extend_from_slice(b"null");
                    return Ok(());
                }
                Invalid::Allowed if number.is_nan() => {
                    self.out.extend_from_slice(b"nan");
                    return Ok(());
                }
                Invalid::Allowed => {}
            }
        }
        number::write(&mut self.out, number, self.settings.precision.get() as usize);
        Ok(())
    }

    fn string(&mut self, bytes: &[u8]) {
        self.out.reserve(bytes.len() + 2);
        self.out.push(b'"');
        let mut written = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if !ESCAPED[usize::from(byte)] {
                continue;
            }
            self.out.extend_from_slice(&bytes[written..at]);
            written = at + 1;
            let short = match byte {
                b'"' | b'\\' | b'/' => byte,
                8 => b'b',
                9 => b't',
                10 => b'n',
                12 => b'f',
                13 => b'r',
                _ => {
                    let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                    self.out.extend_from_slice(b"\\u00");
                    self.out.extend_from_slice(&digits);
                    continue;
                }
            };
            self.out.extend_from_slice(&[b'\\', short]);
        }
        self.out.extend_from_slice(&bytes[written..]);
        self.out.push(b'"');
    }

    fn refused(&self, value: &Value, reason: &str) -> Error {
        self.refused_name(type_name(value), reason)
    }

    fn refused_name(&self, name: &str, reason: &str) -> Error {
        self.refuse(format!("Cannot serialise {name}: {reason}"))
    }

    fn refuse(&self, message: String) -> Error {
        self.refusal.set(Some(message));
        Error::StackError
    }
}

/// Whether a key may be that of an array.
fn is_index(key: &Value) -> bool {
    match key {
        Value::Integer(number) => *number >= 1,
        Value::Number(number) => number.floor() == *number && *number >= 1.0,
        _ => false,
    }
}

/// Bytes that are not written as they are.
const ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 32 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table[b'/' as usize] = true;
    table[127] = true;
    table
};
