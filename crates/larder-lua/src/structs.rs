//! `struct`: values in the binary layout that a format describes, both ways.
//!
//! A format is read up to its first zero byte. Options: `b B h H l L T i I` (integers, small letters signed, `i` and `I`
//! with a size), `f d`, `s` (ends with a zero), `c` (fixed size; `c0` writes the whole string, and reads as
//! many bytes as the value before says), `x` (a zero), `< > !` (order of bytes, alignment).

use crate::arguments::{Arguments, BUILT_BYTES_MAX, STACK_SLOTS_MAX, truncate, truncate_unsigned};
use crate::errors::fail;
use mlua::{Lua, MultiValue, Value};

const INTEGER_BYTES_MAX: usize = 32;
const ALIGNMENT_DEFAULT: usize = 8;

/// Adds the library to the globals.
pub(crate) fn install(lua: &Lua) -> mlua::Result<()> {
    let library = lua.create_table()?;
    library
        .set("pack", lua.create_function(|lua, values: MultiValue| pack(&Arguments::new(lua, values)))?)?;
    library.set(
        "unpack",
        lua.create_function(|lua, values: MultiValue| unpack(&Arguments::new(lua, values)))?,
    )?;
    library
        .set("size", lua.create_function(|lua, values: MultiValue| size(&Arguments::new(lua, values)))?)?;
    lua.globals().set("struct", library)
}

/// A format as it is read, with the byte order and alignment in force.
struct Format<'a> {
    lua: &'a Lua,
    text: Vec<u8>,
    at: usize,
    big_endian: bool,
    alignment: usize,
}

/// One option, and the size that it has by itself.
struct Item {
    option: u8,
    size: usize,
}

impl<'a> Format<'a> {
    fn new(arguments: &Arguments<'a>) -> mlua::Result<Self> {
        let text = arguments.string(1)?;
        let bytes = text.as_bytes();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Ok(Self {
            lua: arguments.lua,
            text: bytes[..end].to_vec(),
            at: 0,
            big_endian: cfg!(target_endian = "big"),
            alignment: 1,
        })
    }

    fn next(&mut self) -> mlua::Result<Option<Item>> {
        let Some(&option) = self.text.get(self.at) else { return Ok(None) };
        self.at += 1;
        let size = match option {
            b'B' | b'b' | b'x' => 1,
            b'H' | b'h' => 2,
            b'L' | b'l' | b'T' | b'd' => 8,
            b'f' => 4,
            b'c' => self.number(1)?,
            b'i' | b'I' => {
                let size = self.number(4)?;
                if size > INTEGER_BYTES_MAX {
                    let message = format!("integral size {size} is larger than limit of {INTEGER_BYTES_MAX}");
                    return Err(fail(self.lua, &message));
                }
                size
            }
            _ => 0,
        };
        Ok(Some(Item { option, size }))
    }

    /// The number that follows, a C `int`.
    fn number(&mut self, default: usize) -> mlua::Result<usize> {
        let start = self.at;
        let mut number: usize = 0;
        while let Some(digit) = self.text.get(self.at).filter(|byte| byte.is_ascii_digit()) {
            number = number * 10 + usize::from(digit - b'0');
            if number > i32::MAX as usize {
                return Err(fail(self.lua, "integral size overflow"));
            }
            self.at += 1;
        }
        Ok(if self.at == start { default } else { number })
    }

    /// Zeros before an item at this position.
    fn padding(&self, position: usize, item: &Item) -> usize {
        if item.size == 0 || item.option == b'c' {
            return 0;
        }
        let size = item.size.min(self.alignment);
        size.wrapping_sub(position & (size - 1)) & (size - 1)
    }

    /// What is no item: byte order, alignment, blanks.
    fn control(&mut self, arguments: &Arguments, option: u8) -> mlua::Result<()> {
        match option {
            b' ' => {}
            b'>' => self.big_endian = true,
            b'<' => self.big_endian = false,
            b'!' => {
                let alignment = self.number(ALIGNMENT_DEFAULT)?;
                if !alignment.is_power_of_two() {
                    return Err(fail(self.lua, &format!("alignment {alignment} is not a power of 2")));
                }
                self.alignment = alignment;
            }
            other => {
                let shown = String::from_utf8_lossy(&[other]).into_owned();
                return Err(arguments.bad(1, &format!("invalid format option '{shown}'")));
            }
        }
        Ok(())
    }

    fn ordered<const N: usize>(&self, mut bytes: [u8; N], native_big: bool) -> [u8; N] {
        if self.big_endian != native_big {
            bytes.reverse();
        }
        bytes
    }
}

fn pack(arguments: &Arguments) -> mlua::Result<mlua::LuaString> {
    let mut format = Format::new(arguments)?;
    let mut out = Vec::new();
    let mut position = 2;
    while let Some(item) = format.next()? {
        if out.len() > BUILT_BYTES_MAX {
            return Err(fail(arguments.lua, "the text is too long"));
        }
        out.resize(out.len() + format.padding(out.len(), &item), 0);
        match item.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                put_integer(&mut out, number(arguments, position)?, format.big_endian, item.size);
                position += 1;
            }
            b'x' => out.push(0),
            b'f' => {
                let bytes = (number(arguments, position)? as f32).to_le_bytes();
                out.extend_from_slice(&format.ordered(bytes, false));
                position += 1;
            }
            b'd' => {
                let bytes = number(arguments, position)?.to_le_bytes();
                out.extend_from_slice(&format.ordered(bytes, false));
                position += 1;
            }
            b'c' | b's' => {
                put_string(&mut out, arguments, position, &item)?;
                position += 1;
            }
            other => format.control(arguments, other)?,
        }
    }
    arguments.lua.create_string(out)
}

/// After the last argument the original finds a nil of its own.
fn present(arguments: &Arguments, position: usize, expected: &str) -> mlua::Result<()> {
    if position > arguments.len() {
        return Err(arguments.bad(position, &format!("{expected} expected, got nil")));
    }
    Ok(())
}

fn number(arguments: &Arguments, position: usize) -> mlua::Result<f64> {
    present(arguments, position, "number")?;
    arguments.number(position)
}

fn put_integer(out: &mut Vec<u8>, number: f64, big_endian: bool, size: usize) {
    let value = if number < 0.0 { truncate(number) as u64 } else { truncate_unsigned(number) };
    let byte = |index: usize| if index < 8 { (value >> (8 * index)) as u8 } else { 0 };
    if big_endian {
        out.extend((0..size).rev().map(byte));
    } else {
        out.extend((0..size).map(byte));
    }
}

fn put_string(out: &mut Vec<u8>, arguments: &Arguments, position: usize, item: &Item) -> mlua::Result<()> {
    present(arguments, position, "string")?;
    let string = arguments.string(position)?;
    let bytes = string.as_bytes();
    let size = if item.size == 0 { bytes.len() } else { item.size };
    // The original counts the argument before it checks.
    let Some(head) = bytes.get(..size) else { return Err(arguments.bad(position + 1, "string too short")) };
    out.extend_from_slice(head);
    if item.option == b's' {
        out.push(0);
    }
    Ok(())
}

fn unpack(arguments: &Arguments) -> mlua::Result<MultiValue> {
    let mut format = Format::new(arguments)?;
    let data = arguments.string(2)?;
    let data = data.as_bytes();
    let mut at = arguments.integer_or(3, 1)? as u64 as usize;
    if at == 0 {
        return Err(arguments.bad(3, "offset must be 1 or greater"));
    }
    at -= 1;
    let mut results: Vec<Value> = Vec::new();
    let too_short = || arguments.bad(2, "data string too short");
    let field =
        |at: usize, size: usize| data.get(at..).and_then(|rest| rest.get(..size)).ok_or_else(too_short);
    while let Some(item) = format.next()? {
        at = at.wrapping_add(format.padding(at, &item));
        let bytes = field(at, item.size)?;
        if arguments.len() + results.len() + 2 > STACK_SLOTS_MAX {
            return Err(fail(arguments.lua, "stack overflow (too many results)"));
        }
        let mut size = item.size;
        match item.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let signed = item.option.is_ascii_lowercase();
                results.push(Value::Number(integer(bytes, format.big_endian, signed)));
            }
            b'x' => {}
            b'f' => {
                let bytes = <[u8; 4]>::try_from(bytes).map_err(|_| too_short())?;
                results.push(Value::Number(f64::from(f32::from_le_bytes(format.ordered(bytes, false)))));
            }
            b'd' => {
                let bytes = <[u8; 8]>::try_from(bytes).map_err(|_| too_short())?;
                results.push(Value::Number(f64::from_le_bytes(format.ordered(bytes, false))));
            }
            b'c' => {
                if size == 0 {
                    size = previous_size(arguments.lua, &mut results)?;
                }
                results.push(Value::String(arguments.lua.create_string(field(at, size)?)?));
            }
            b's' => {
                let rest = field(at, 0).map(|_| &data[at..])?;
                let Some(end) = rest.iter().position(|byte| *byte == 0) else {
                    return Err(fail(arguments.lua, "unfinished string in data"));
                };
                results.push(Value::String(arguments.lua.create_string(&rest[..end])?));
                size = end + 1;
            }
            other => format.control(arguments, other)?,
        }
        at += size;
    }
    results.push(Value::Number((at + 1) as f64));
    Ok(results.into())
}

/// `c0` takes the number before it as its size.
fn previous_size(lua: &Lua, results: &mut Vec<Value>) -> mlua::Result<usize> {
    let number = match results.last() {
        Some(Value::Number(number)) => Some(*number),
        Some(text @ Value::String(_)) => lua.coerce_number(text.clone()).ok().flatten(),
        _ => None,
    };
    let Some(number) = number else { return Err(fail(lua, "format 'c0' needs a previous size")) };
    results.pop();
    Ok(truncate_unsigned(number) as usize)
}

fn integer(bytes: &[u8], big_endian: bool, signed: bool) -> f64 {
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let value = if big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) };
    if !signed {
        return value as f64;
    }
    // Shifts count modulo 64, which is how the processor takes the sizes above 8 of the original.
    let mask = u64::MAX << ((bytes.len() * 8).wrapping_sub(1) & 63);
    let extended = if value & mask != 0 { value | mask } else { value };
    extended as i64 as f64
}

fn size(arguments: &Arguments) -> mlua::Result<f64> {
    let mut format = Format::new(arguments)?;
    let mut total: usize = 0;
    while let Some(item) = format.next()? {
        total += format.padding(total, &item);
        match item.option {
            b's' => return Err(arguments.bad(1, "option 's' has no fixed size")),
            b'c' if item.size == 0 => return Err(arguments.bad(1, "option 'c0' has no fixed size")),
            option if !option.is_ascii_alphanumeric() => format.control(arguments, option)?,
            _ => {}
        }
        total += item.size;
    }
    Ok(total as f64)
}
