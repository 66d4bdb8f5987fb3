//! Lua values, and replies of commands, as a person reads them.

use crate::text::quote::quote;
use larder_lua::inspect::Inspector;
use mlua::{Function, Lua, Value};

/// Tables in tables that are shown.
const DEPTH_MAX: usize = 10;

/// Digits of a number.
const DIGITS: i32 = 6;

/// A Lua value. Of a table that scripts see through a proxy, what scripts see.
pub(super) fn value(inspector: &Inspector, lua: &Lua, value: &Value) -> Vec<u8> {
    let next = lua.globals().get("next").ok();
    let mut text = Vec::new();
    Show { inspector, next }.value(value, 0, &mut text);
    text
}

struct Show<'a> {
    inspector: &'a Inspector,
    /// `next`, as scripts have it.
    next: Option<Function>,
}

impl Show<'_> {
    fn value(&self, value: &Value, depth: usize, to: &mut Vec<u8>) {
        if depth == DEPTH_MAX {
            to.extend_from_slice(b"<max recursion level reached! Nested table?>");
            return;
        }
        match value {
            Value::String(text) => to.extend_from_slice(&text.as_bytes()),
            Value::Boolean(is_true) => to.extend_from_slice(if *is_true { b"true" } else { b"false" }),
            Value::Integer(number) => to.extend_from_slice(general(*number as f64).as_bytes()),
            Value::Number(number) => to.extend_from_slice(general(*number).as_bytes()),
            Value::Nil => to.extend_from_slice(b"nil"),
            Value::Table(_) => self.table(value, depth, to),
            Value::Function(_) => self.address("function", value, to),
            Value::Thread(_) => self.address("thread", value, to),
            Value::LightUserData(_) => self.address("light-userdata", value, to),
            Value::UserData(_) => self.address("userdata", value, to),
            _ => to.extend_from_slice(b"\"unknown-lua-type\""),
        }
    }

    /// A table whose keys are 1, 2, 3 and so on, in this order, is shown without them.
    fn table(&self, table: &Value, depth: usize, to: &mut Vec<u8>) {
        let (mut values, mut pairs) = (Vec::new(), Vec::new());
        let (mut is_list, mut count, mut key) = (true, 0, Value::Nil);
        while let Some((next, value)) = self.after(table, key) {
            count += 1;
            is_list &= match next {
                Value::Integer(number) => number == count,
                Value::Number(number) => number == count as f64,
                _ => false,
            };
            pairs.push(b'[');
            self.value(&next, depth + 1, &mut pairs);
            pairs.extend_from_slice(b"]=");
            let at = pairs.len();
            self.value(&value, depth + 1, &mut pairs);
            pairs.extend_from_slice(b"; ");
            if is_list {
                values.extend_from_slice(&pairs[at..]);
            }
            key = next;
        }
        to.push(b'{');
        to.extend_from_slice(if is_list { &values } else { &pairs });
        to.push(b'}');
    }

    /// The pair after a key.
    fn after(&self, table: &Value, key: Value) -> Option<(Value, Value)> {
        let (key, value): (Value, Value) = self.next.as_ref()?.call((table, key)).ok()?;
        (!key.is_nil()).then_some((key, value))
    }

    fn address(&self, kind: &str, value: &Value, to: &mut Vec<u8>) {
        let place = match self.inspector.address(value) {
            Ok(0) | Err(_) => "(nil)".to_owned(),
            Ok(address) => format!("{address:#x}"),
        };
        to.extend_from_slice(format!(" \"{kind}@{place}\"").as_bytes());
    }
}

/// A number as `%g` of C writes it.
fn general(number: f64) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let scientific = format!("{number:.*e}", DIGITS as usize - 1);
    let (digits, exponent) = scientific.split_once('e').expect("this form has an exponent");
    let exponent: i32 = exponent.parse().expect("this form has an exponent");
    let bare = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if !(-4..DIGITS).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", bare(digits), exponent.abs());
    }
    bare(&format!("{number:.*}", (DIGITS - 1 - exponent).max(0) as usize))
}

/// Arguments with blanks between them, each up to its first zero byte.
pub(in crate::scripting) fn joined<'a>(prefix: &[u8], args: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut text = prefix.to_vec();
    for arg in args {
        text.push(b' ');
        text.extend_from_slice(until_zero(arg));
    }
    text
}

/// Text as C sees it.
pub(super) fn until_zero(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(0, text).unwrap_or(text.len())]
}

/// A reply in RESP. What kinds it knows not are nothing.
pub(in crate::scripting) fn human(reply: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    add_reply(reply, &mut text);
    text
}

/// Adds a reply; returns what is after it.
fn add_reply<'r>(reply: &'r [u8], to: &mut Vec<u8>) -> &'r [u8] {
    let end = memchr::memchr(b'\r', reply).unwrap_or(reply.len());
    let (line, rest) = (&reply[..end], reply.get(end + 2..).unwrap_or_default());
    let Some((kind, line)) = line.split_first() else { return rest };
    let number = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok());
    let len = number.and_then(|number: i64| usize::try_from(number).ok());
    match (kind, len) {
        (b':', _) => to.extend_from_slice(line),
        (b'+' | b'-', _) => quote(to, &reply[..end]),
        (b'$' | b'*', None) => to.extend_from_slice(b"NULL"),
        (b'$', Some(len)) => {
            quote(to, rest.get(..len).unwrap_or(rest));
            return rest.get(len + 2..).unwrap_or_default();
        }
        (b'*', Some(len)) => return add_all(rest, len, b"[", b"]", to),
        (b'~', Some(len)) => return add_all(rest, len, b"~(", b")", to),
        (b'%', Some(len)) => return add_map(rest, len, to),
        (b'_', _) => to.extend_from_slice(b"(null)"),
        (b'#', _) => to.extend_from_slice(if line == b"t" { b"#true" } else { b"#false" }),
        (b',', _) => to.extend_from_slice(&[b"(double) ", line].concat()),
        _ => return &[],
    }
    rest
}

fn add_all<'r>(mut reply: &'r [u8], len: usize, open: &[u8], close: &[u8], to: &mut Vec<u8>) -> &'r [u8] {
    to.extend_from_slice(open);
    for at in 0..len {
        if at > 0 {
            to.push(b',');
        }
        reply = add_reply(reply, to);
    }
    to.extend_from_slice(close);
    reply
}

fn add_map<'r>(mut reply: &'r [u8], len: usize, to: &mut Vec<u8>) -> &'r [u8] {
    to.push(b'{');
    for at in 0..len {
        if at > 0 {
            to.push(b',');
        }
        reply = add_reply(reply, to);
        to.extend_from_slice(b" => ");
        reply = add_reply(reply, to);
    }
    to.push(b'}');
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_six_digits() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (100_000.0, "100000"),
            (123_456.0, "123456"),
            (999_999.5, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (1e15, "1e+15"),
            (1e100, "1e+100"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (2.123_456_789, "2.12346"),
            (9_007_199_254_740_992.0, "9.0072e+15"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (-f64::NAN, "-nan"),
        ] {
            assert_eq!(general(number), text);
        }
    }

    #[test]
    fn replies() {
        for (reply, text) in [
            (":12\r\n", "12"),
            ("+OK\r\n", "\"+OK\""),
            ("-ERR no\r\n", "\"-ERR no\""),
            ("$3\r\na\r\"\r\n", "\"a\\r\\\"\""),
            ("$-1\r\n", "NULL"),
            ("*-1\r\n", "NULL"),
            ("*2\r\n*1\r\n:1\r\n$0\r\n\r\n", "[[1],\"\"]"),
            ("%1\r\n+a\r\n#t\r\n", "{\"+a\" => #true}"),
            ("~2\r\n_\r\n,1.5\r\n", "~((null),(double) 1.5)"),
            ("=7\r\ntxt:abc\r\n", ""),
            ("", ""),
            ("*2\r\n", "[,]"),
            ("$9\r\nshort", "\"short\""),
        ] {
            assert_eq!(String::from_utf8_lossy(&human(reply.as_bytes())), text, "{reply:?}");
        }
    }
}
