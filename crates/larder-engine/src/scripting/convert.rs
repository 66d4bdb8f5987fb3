//! Replies as Lua values, and Lua values as replies.
//!
//! | RESP | in Lua |
//! |---|---|
//! | integer | number |
//! | bulk string | string; `false` for null |
//! | simple string, error | `{ok = ...}`, `{err = ...}` |
//! | array | table; `false` for null |
//! | RESP3: null, boolean | `nil`, boolean |
//! | RESP3: double, big number | `{double = ...}`, `{big_number = ...}` |
//! | RESP3: map, set | `{map = {...}}`, `{set = {member = true, ...}}` |
//! | RESP3: verbatim string | `{verbatim_string = {format = ..., string = ...}}` |

use crate::number::ScoreText;
use larder_resp::Reply;
use mlua::{Lua, LuaString, Result, Table, Value};

/// Tables in tables that a reply may be made of.
const DEPTH_MAX: usize = 1000;

/// The names of fields that say what a table stands for, made once.
pub(super) struct Fields {
    pub err: LuaString,
    pub ok: LuaString,
    pub ignore: LuaString,
    pub source: LuaString,
    pub line: LuaString,
    double: LuaString,
    map: LuaString,
    set: LuaString,
    big_number: LuaString,
    verbatim: LuaString,
    string: LuaString,
    format: LuaString,
}

impl Fields {
    pub(super) fn new(lua: &Lua) -> Result<Fields> {
        Ok(Fields {
            err: lua.create_string("err")?,
            ok: lua.create_string("ok")?,
            ignore: lua.create_string("ignore_error_stats_update")?,
            source: lua.create_string("source")?,
            line: lua.create_string("line")?,
            double: lua.create_string("double")?,
            map: lua.create_string("map")?,
            set: lua.create_string("set")?,
            big_number: lua.create_string("big_number")?,
            verbatim: lua.create_string("verbatim_string")?,
            string: lua.create_string("string")?,
            format: lua.create_string("format")?,
        })
    }

    /// The table that an error is in Lua. `text` has its code in front.
    pub(super) fn error(&self, lua: &Lua, text: &[u8]) -> Result<Value> {
        let table = lua.create_table_with_capacity(0, 2)?;
        table.raw_set(&self.err, lua.create_string(text)?)?;
        table.raw_set(&self.ignore, true)?;
        Ok(Value::Table(table))
    }
}

/// Reads replies that the server itself has written.
pub(super) struct Reader<'a> {
    pub lua: &'a Lua,
    pub fields: &'a Fields,
    pub bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The next reply.
    pub(super) fn value(&mut self) -> Result<Value> {
        let (kind, line) = self.line();
        Ok(match kind {
            b':' => number(line),
            b'$' => match length(line) {
                Some(len) => Value::String(self.lua.create_string(self.take(len))?),
                None => Value::Boolean(false),
            },
            b'+' => self.tagged(&self.fields.ok, self.lua.create_string(line)?)?,
            b'-' => self.fields.error(self.lua, line)?,
            b'*' | b'>' => match length(line) {
                Some(len) => self.array(len)?,
                None => Value::Boolean(false),
            },
            b'%' => self.map(length(line).unwrap_or(0))?,
            b'~' => self.set(length(line).unwrap_or(0))?,
            b'#' => Value::Boolean(line == b"t"),
            b',' => self.tagged(&self.fields.double, crate::number::parse_f64(line).unwrap_or(f64::NAN))?,
            b'(' => self.tagged(&self.fields.big_number, self.lua.create_string(line)?)?,
            b'=' => self.verbatim(length(line).unwrap_or(0))?,
            _ => Value::Nil,
        })
    }

    /// The kind of the next reply, and the rest of its line.
    fn line(&mut self) -> (u8, &'a [u8]) {
        let end = memchr::memchr(b'\r', self.bytes).unwrap_or(self.bytes.len());
        let (line, rest) = self.bytes.split_at(end);
        self.bytes = rest.get(2..).unwrap_or(b"");
        line.split_first().map_or((b'_', b""), |(kind, rest)| (*kind, rest))
    }

    /// The next `len` bytes, before a line break.
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(len.min(self.bytes.len()));
        self.bytes = rest.get(2..).unwrap_or(b"");
        taken
    }

    fn tagged(&self, field: &LuaString, value: impl mlua::IntoLua) -> Result<Value> {
        let table = self.lua.create_table_with_capacity(0, 1)?;
        table.raw_set(field, value)?;
        Ok(Value::Table(table))
    }

    fn array(&mut self, len: usize) -> Result<Value> {
        let table = self.lua.create_table_with_capacity(len, 0)?;
        for at in 1..=len {
            let value = self.value()?;
            table.raw_seti(at, value)?;
        }
        Ok(Value::Table(table))
    }

    fn map(&mut self, len: usize) -> Result<Value> {
        let table = self.lua.create_table_with_capacity(0, len)?;
        for _ in 0..len {
            let (key, value) = (self.value()?, self.value()?);
            table.raw_set(key, value)?;
        }
        self.tagged(&self.fields.map, table)
    }

    fn set(&mut self, len: usize) -> Result<Value> {
        let table = self.lua.create_table_with_capacity(0, len)?;
        for _ in 0..len {
            let member = self.value()?;
            table.raw_set(member, true)?;
        }
        self.tagged(&self.fields.set, table)
    }

    fn verbatim(&mut self, len: usize) -> Result<Value> {
        let text = self.take(len);
        let (format, string) = text.split_at(text.len().min(3));
        let table = self.lua.create_table_with_capacity(0, 2)?;
        table.raw_set(&self.fields.format, self.lua.create_string(format)?)?;
        table.raw_set(&self.fields.string, self.lua.create_string(string.get(1..).unwrap_or(b""))?)?;
        self.tagged(&self.fields.verbatim, table)
    }
}

fn number(line: &[u8]) -> Value {
    crate::number::parse_i64(line).map_or(Value::Nil, Value::Integer)
}

fn length(line: &[u8]) -> Option<usize> {
    crate::number::parse_i64(line).and_then(|n| usize::try_from(n).ok())
}

/// Writes what a script returned. `resp3`: the script has asked for RESP3.
pub(super) struct Writer<'a> {
    pub fields: &'a Fields,
    pub resp3: bool,
}

impl Writer<'_> {
    /// Writes a value as one reply.
    pub(super) fn write(&self, value: &Value, reply: &mut Reply<'_>, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            reply.error(b"ERR reached lua stack limit");
            return Ok(());
        }
        match value {
            Value::String(text) => reply.bulk(&text.as_bytes()),
            Value::Integer(n) => reply.int(*n),
            Value::Number(n) => reply.int(truncated(*n)),
            Value::Boolean(value) if self.resp3 => reply.bool(*value),
            Value::Boolean(true) => reply.int(1),
            Value::Table(table) => self.table(table, reply, depth)?,
            _ => reply.null(),
        }
        Ok(())
    }

    fn table(&self, table: &Table, reply: &mut Reply<'_>, depth: usize) -> Result<()> {
        if let Value::String(text) = table.raw_get(&self.fields.err)? {
            reply.error(&text.as_bytes());
            return Ok(());
        }
        if let Value::String(text) = table.raw_get(&self.fields.ok)? {
            reply.status(&text.as_bytes());
            return Ok(());
        }
        match table.raw_get(&self.fields.double)? {
            Value::Integer(n) => return reply_double(reply, n as f64),
            Value::Number(n) => return reply_double(reply, n),
            _ => {}
        }
        if let Value::Table(map) = table.raw_get(&self.fields.map)? {
            return self.map(&map, reply, depth);
        }
        if let Value::Table(set) = table.raw_get(&self.fields.set)? {
            return self.set(&set, reply, depth);
        }
        if let Value::String(digits) = table.raw_get(&self.fields.big_number)? {
            reply.big_number(&digits.to_string_lossy().replace(['\r', '\n'], " "));
            return Ok(());
        }
        if let Value::Table(verbatim) = table.raw_get(&self.fields.verbatim)?
            && let Value::String(text) = verbatim.raw_get(&self.fields.string)?
            && let Value::String(format) = verbatim.raw_get(&self.fields.format)?
        {
            let format = format.to_string_lossy();
            let format = if format.len() == 3 && format.is_ascii() { &*format } else { "txt" };
            reply.verbatim(format, &text.as_bytes());
            return Ok(());
        }
        self.array(table, reply, depth)
    }

    /// The elements up to the first nil.
    fn array(&self, table: &Table, reply: &mut Reply<'_>, depth: usize) -> Result<()> {
        let mut values = Vec::with_capacity(table.raw_len().min(1024));
        for at in 1_i64.. {
            match table.raw_get(at)? {
                Value::Nil => break,
                value => values.push(value),
            }
        }
        reply.array(values.len());
        values.iter().try_for_each(|value| self.write(value, reply, depth + 1))
    }

    fn map(&self, map: &Table, reply: &mut Reply<'_>, depth: usize) -> Result<()> {
        let pairs = map.pairs::<Value, Value>().collect::<Result<Vec<_>>>()?;
        reply.map(pairs.len());
        for (key, value) in &pairs {
            self.write(key, reply, depth + 1)?;
            self.write(value, reply, depth + 1)?;
        }
        Ok(())
    }

    fn set(&self, set: &Table, reply: &mut Reply<'_>, depth: usize) -> Result<()> {
        let members = set.pairs::<Value, Value>().collect::<Result<Vec<_>>>()?;
        reply.set(members.len());
        members.iter().try_for_each(|(member, _)| self.write(member, reply, depth + 1))
    }
}

fn reply_double(reply: &mut Reply<'_>, n: f64) -> Result<()> {
    reply.double(ScoreText::of(n).as_bytes());
    Ok(())
}

/// The number without its fraction. What does not fit is what a conversion in C makes of it here: the smallest number.
fn truncated(n: f64) -> i64 {
    if n >= -(2_f64.powi(63)) && n < 2_f64.powi(63) { n as i64 } else { i64::MIN }
}

/// Appends an argument of `redis.call`; `None` when it is neither string nor number.
pub(super) fn push_argument(value: &Value, to: &mut Vec<u8>) -> Option<()> {
    /// From here on the shortest text of a number has an exponent.
    const EXPONENT_FROM: u64 = 100_000_000_000_000_000;
    match value {
        Value::String(text) => to.extend_from_slice(&text.as_bytes()),
        Value::Integer(n) if n.unsigned_abs() < EXPONENT_FROM => {
            to.extend_from_slice(itoa::Buffer::new().format(*n).as_bytes());
        }
        Value::Integer(n) => to.extend_from_slice(ScoreText::of(*n as f64).as_bytes()),
        Value::Number(n) => to.extend_from_slice(ScoreText::of(*n).as_bytes()),
        _ => return None,
    }
    Some(())
}

/// The SHA-1 of a text in hexadecimal digits.
pub(super) fn sha1_hex(text: &[u8]) -> String {
    sha1_smol::Sha1::from(text).digest().to_string()
}
