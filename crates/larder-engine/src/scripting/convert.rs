//! Lua values as replies, and as arguments. The other way is [`larder_lua::gateway`]'s.

use crate::text::number::ScoreText;
use larder_lua::elements::{Plain, plain_elements};
use larder_resp::Reply;
use mlua::{Lua, LuaString, Result, Table, Value};

/// Slots of Lua's stack that Valkey has for tables in tables of a reply; we have none on it.
const SLOTS_MAX: usize = 7994;
/// What an array takes of them, and a map or a set.
const ARRAY_SLOTS: usize = 1;
const MAP_SLOTS: usize = 3;
/// Where fewer are taken, the length of an array is not counted before it is written, which takes half as long again.
const GUESSED_SLOTS: usize = 4;

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
}

/// Writes what a script returned. `resp3`: the script has asked for RESP3.
pub(super) struct Writer<'a> {
    pub lua: &'a Lua,
    pub fields: &'a Fields,
    pub resp3: bool,
    /// Counts an error.
    pub count: &'a dyn Fn(&[u8]),
}

impl Writer<'_> {
    /// Writes a value as one reply. This many slots are taken by the tables around it.
    pub(super) fn write(&self, value: &Value, reply: &mut Reply<'_>, slots: usize) -> Result<()> {
        if slots > SLOTS_MAX {
            reply.error(b"ERR reached lua stack limit");
            return Ok(());
        }
        match value {
            Value::String(text) => reply.bulk(&text.as_bytes()),
            Value::Integer(n) => reply.int(*n),
            Value::Number(n) => reply.int(truncated(*n)),
            Value::Boolean(value) if self.resp3 => reply.bool(*value),
            Value::Boolean(true) => reply.int(1),
            Value::Table(table) => self.table(table, reply, slots)?,
            _ => reply.null(),
        }
        Ok(())
    }

    fn table(&self, table: &Table, reply: &mut Reply<'_>, slots: usize) -> Result<()> {
        if let Value::String(text) = table.raw_get(&self.fields.err)? {
            if table.raw_get::<Value>(&self.fields.ignore)? != Value::Boolean(true) {
                (self.count)(&text.as_bytes());
            }
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
            return self.map(&map, reply, slots);
        }
        if let Value::Table(set) = table.raw_get(&self.fields.set)? {
            return self.set(&set, reply, slots);
        }
        if let Value::String(digits) = table.raw_get(&self.fields.big_number)? {
            reply.big_number(&digits.to_string_lossy().replace(['\r', '\n'], " "));
            return Ok(());
        }
        if let Value::Table(verbatim) = table.raw_get(&self.fields.verbatim)?
            && let Value::String(text) = verbatim.raw_get(&self.fields.string)?
            && let Value::String(format) = verbatim.raw_get(&self.fields.format)?
        {
            // Three characters, whatever was given.
            let format = format.to_string_lossy();
            let ascii = format.chars().map(|c| if c.is_ascii_graphic() { c } else { '?' });
            let format: String = ascii.chain("   ".chars()).take(3).collect();
            reply.verbatim(&format, &text.as_bytes());
            return Ok(());
        }
        self.array(table, reply, slots)
    }

    // Values are not collected before they are written: Lua holds a limited number of them for others.

    /// The elements up to the first nil. Most tables have as many as Lua says. Where that is not so, what has been written after their length is
    /// moved; tables in more tables are counted first, since that would be done once for each.
    fn array(&self, table: &Table, reply: &mut Reply<'_>, slots: usize) -> Result<()> {
        let start = reply.mark();
        let len = if slots < GUESSED_SLOTS { table.raw_len() } else { elements(table)? };
        reply.array(len);
        let first = reply.mark();
        let have_room = slots + ARRAY_SLOTS <= SLOTS_MAX;
        let (mut at, mut are_plain) = (0, have_room);
        while at < len {
            // Those that need no handle are written together, as long as they come.
            if std::mem::take(&mut are_plain) {
                at += plain_elements(self.lua, table, at + 1..len + 1, |element| match element {
                    Plain::Text(text) => reply.bulk(text),
                    Plain::Number(n) => reply.int(truncated(n)),
                })?;
                continue;
            }
            match table.raw_get(at as i64 + 1)? {
                Value::Nil => {
                    let written = reply.written_since(first).to_vec();
                    reply.truncate(start);
                    reply.array(at);
                    reply.raw(&written);
                    break;
                }
                value => {
                    are_plain =
                        have_room && matches!(value, Value::String(_) | Value::Integer(_) | Value::Number(_));
                    self.write(&value, reply, slots + ARRAY_SLOTS)?;
                }
            }
            at += 1;
        }
        Ok(())
    }

    fn map(&self, map: &Table, reply: &mut Reply<'_>, slots: usize) -> Result<()> {
        reply.map(key_count(map)?);
        for pair in map.pairs::<Value, Value>() {
            let (key, value) = pair?;
            self.write(&key, reply, slots + MAP_SLOTS)?;
            self.write(&value, reply, slots + MAP_SLOTS)?;
        }
        Ok(())
    }

    fn set(&self, set: &Table, reply: &mut Reply<'_>, slots: usize) -> Result<()> {
        reply.set(key_count(set)?);
        for pair in set.pairs::<Value, Value>() {
            self.write(&pair?.0, reply, slots + MAP_SLOTS)?;
        }
        Ok(())
    }
}

/// How many elements a table has before the first nil.
fn elements(table: &Table) -> Result<usize> {
    let (mut count, most) = (0, table.raw_len());
    while count < most && table.raw_get::<Value>(count + 1)? != Value::Nil {
        count += 1;
    }
    Ok(count)
}

/// How many keys a table has.
fn key_count(table: &Table) -> Result<usize> {
    table.pairs::<Value, Value>().try_fold(0, |count, pair| pair.map(|_| count + 1))
}

fn reply_double(reply: &mut Reply<'_>, n: f64) -> Result<()> {
    reply.double(ScoreText::of(n).as_bytes());
    Ok(())
}

/// The number without its fraction. What does not fit is what a conversion in C makes of it here: the smallest number.
fn truncated(n: f64) -> i64 {
    if n >= -(2_f64.powi(63)) && n < 2_f64.powi(63) { n as i64 } else { i64::MIN }
}

/// Appends a number as an argument, as scores are written; zero has no sign there, and what is no number has one.
pub(super) fn push_number(n: f64, to: &mut Vec<u8>) {
    if n.is_nan() && n.is_sign_negative() {
        to.push(b'-');
    }
    // Without the sign of zero.
    to.extend_from_slice(ScoreText::of(n + 0.0).as_bytes());
}
