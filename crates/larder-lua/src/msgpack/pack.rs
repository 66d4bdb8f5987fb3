//! Writing MessagePack.
//!
//! Numbers take the shortest form that keeps them: integers by size, others 4 bytes when a single-precision number is
//! the same, 8 otherwise. A table whose keys are 1 to n is an array, an empty one too. A table in 16 others
//! or more is written as nil, so that circles end.

use crate::arguments::{Arguments, BUILT_BYTES_MAX, STACK_SLOTS_MAX};
use mlua::{Error, Table, Value};

const NESTING_MAX: usize = 16;

pub(super) fn pack(arguments: &Arguments) -> mlua::Result<mlua::LuaString> {
    if arguments.len() == 0 {
        return Err(arguments.bad(0, "MessagePack pack needs input."));
    }
    // They are copied there before they are packed.
    if 2 * arguments.len() > STACK_SLOTS_MAX {
        return Err(arguments.bad(0, "Too many arguments for MessagePack pack."));
    }
    let mut out = Vec::new();
    for value in &arguments.values {
        put(&mut out, value, 0)?;
    }
    arguments.lua.create_string(out)
}

fn put(out: &mut Vec<u8>, value: &Value, level: usize) -> mlua::Result<()> {
    if out.len() > BUILT_BYTES_MAX {
        return Err(Error::runtime("MessagePack: the text is too long"));
    }
    match value {
        Value::String(string) => put_string(out, &string.as_bytes()),
        Value::Boolean(value) => out.push(if *value { 0xC3 } else { 0xC2 }),
        Value::Integer(number) => put_integer(out, *number),
        Value::Number(number) => put_number(out, *number),
        Value::Table(table) if level < NESTING_MAX => put_table(out, table, level)?,
        _ => out.push(0xC0),
    }
    Ok(())
}

fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        length @ 0..32 => out.push(0xA0 | length as u8),
        length @ 32..0x100 => out.extend([0xD9, length as u8]),
        length => put_length(out, length, 0xDA, 0xDB),
    }
    out.extend_from_slice(bytes);
}

/// A length in two bytes or four.
fn put_length(out: &mut Vec<u8>, length: usize, two: u8, four: u8) {
    if let Ok(length) = u16::try_from(length) {
        out.push(two);
        out.extend(length.to_be_bytes());
    } else {
        out.push(four);
        out.extend((length as u32).to_be_bytes());
    }
}

fn put_integer(out: &mut Vec<u8>, number: i64) {
    match number {
        -32..=0x7F => out.push(number as u8),
        0x80..=0xFF => out.extend([0xCC, number as u8]),
        0x100..=0xFFFF => {
            out.push(0xCD);
            out.extend((number as u16).to_be_bytes());
        }
        0x1_0000..=0xFFFF_FFFF => {
            out.push(0xCE);
            out.extend((number as u32).to_be_bytes());
        }
        0x1_0000_0000.. => {
            out.push(0xCF);
            out.extend(number.to_be_bytes());
        }
        -128..-32 => out.extend([0xD0, number as u8]),
        -0x8000..-128 => {
            out.push(0xD1);
            out.extend((number as i16).to_be_bytes());
        }
        -0x8000_0000..-0x8000 => {
            out.push(0xD2);
            out.extend((number as i32).to_be_bytes());
        }
        ..-0x8000_0000 => {
            out.push(0xD3);
            out.extend(number.to_be_bytes());
        }
    }
}

/// A number that Lua does not hand over as an integer.
fn put_number(out: &mut Vec<u8>, number: f64) {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) && number.trunc() == number {
        return put_integer(out, number as i64);
    }
    let single = number as f32;
    if f64::from(single) == number {
        out.push(0xCA);
        out.extend(single.to_be_bytes());
    } else {
        out.push(0xCB);
        out.extend(number.to_be_bytes());
    }
}

fn put_table(out: &mut Vec<u8>, table: &Table, level: usize) -> mlua::Result<()> {
    // A first key that is no index settles that it is a map, without a walk to find out.
    let header = out.len();
    out.push(0);
    let (mut count, mut maybe_array) = (0, false);
    let walked = table.for_each(|key: Value, value: Value| {
        if count == 0 && index(&key).is_some() {
            maybe_array = true;
            return Err(Error::StackError);
        }
        count += 1;
        put_pair(out, &key, &value, level)
    });
    if maybe_array {
        if let Some(length) = array_length(table)? {
            out.pop();
            return put_array(out, table, length, level);
        }
        table.for_each(|key: Value, value: Value| {
            count += 1;
            put_pair(out, &key, &value, level)
        })?;
    } else {
        walked?;
    }
    put_map_header(out, header, count);
    Ok(())
}

fn put_pair(out: &mut Vec<u8>, key: &Value, value: &Value, level: usize) -> mlua::Result<()> {
    put(out, key, level + 1)?;
    put(out, value, level + 1)
}

/// Fills in the byte that was left for the header, or makes room for a longer one. An empty table is an array.
fn put_map_header(out: &mut Vec<u8>, header: usize, count: usize) {
    match count {
        0 => out[header] = 0x90,
        1..16 => out[header] = 0x80 | count as u8,
        _ => {
            let mut long = Vec::with_capacity(5);
            put_length(&mut long, count, 0xDE, 0xDF);
            out.splice(header..=header, long);
        }
    }
}

/// How long the array is that a table with an index as its first key may be.
fn array_length(table: &Table) -> mlua::Result<Option<usize>> {
    let mut count: i64 = 0;
    let mut highest = Some(0);
    table.for_each(|key: Value, _: bool| {
        count += 1;
        highest = highest.and_then(|highest: i64| index(&key).map(|index| index.max(highest)));
        Ok(())
    })?;
    Ok((highest == Some(count)).then(|| table.raw_len()))
}

fn put_array(out: &mut Vec<u8>, table: &Table, length: usize, level: usize) -> mlua::Result<()> {
    match length {
        0..16 => out.push(0x90 | length as u8),
        _ => put_length(out, length, 0xDC, 0xDD),
    }
    for index in 1..=length {
        put(out, &table.raw_get(index)?, level + 1)?;
    }
    Ok(())
}

/// Whether a key counts as an index of an array, and which.
fn index(key: &Value) -> Option<i64> {
    match key {
        Value::Integer(number) if (1..=i64::from(i32::MAX)).contains(number) => Some(*number),
        _ => None,
    }
}
