//! Reading JSON. Not recursive: the tables that are not complete are on a stack.
//!
//! As lenient as the original: control characters in strings, numbers as `strtod` takes them, and a zero byte outside of
//! strings ends the text.

use super::number;
use super::settings::{DEPTH_MAX, Settings};
use crate::arguments::{Arguments, within_memory};
use crate::errors::fail;
use mlua::{Error, IntoLua, Lua, Table, Value};

/// Lua values that one byte of text can make, in bytes: `[` makes a table and a place in another.
const MADE_BYTES_MAX: usize = 160;

pub(super) fn decode(settings: &Settings, arguments: &Arguments) -> mlua::Result<Value> {
    if arguments.len() != 1 {
        return Err(arguments.bad(1, "expected 1 argument"));
    }
    let text = arguments.string(1)?;
    let text = text.as_bytes();
    if text.len() >= 2 && (text[0] == 0 || text[1] == 0) {
        return Err(fail(arguments.lua, "JSON parser does not support UTF-16 or UTF-32"));
    }
    let depth_max = (settings.decode_depth_max.get() as usize).min(DEPTH_MAX);
    let invalid = settings.decode_invalid.get();
    let mut tokens = Tokens { text: &text, at: 0, scratch: Vec::new(), invalid };
    within_memory(arguments.lua, text.len().saturating_mul(MADE_BYTES_MAX), || {
        Reader { lua: arguments.lua, tokens: &mut tokens, around: Vec::new(), depth_max }.document()
    })
}

/// What text consists of. A string is a range of the text when nothing in it is escaped, else it is in the scratch.
#[derive(Clone, Copy, PartialEq)]
enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    Plain(usize, usize),
    Escaped,
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

impl Token {
    /// As messages call it.
    fn name(self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::Plain(..) | Token::Escaped => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Error(what) => what,
        }
    }
}

struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    scratch: Vec<u8>,
    /// Whether numbers that are no JSON are read.
    invalid: bool,
}

impl Tokens<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The next token and where it begins; for an error, where it was found.
    fn next(&mut self) -> (Token, usize) {
        while matches!(self.peek(0), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        let start = self.at;
        let single = match self.peek(0) {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            0 => return (Token::End, start),
            b'"' => {
                let token = self.string();
                return (token, if matches!(token, Token::Error(_)) { self.at } else { start });
            }
            b'-' | b'0'..=b'9' => return (self.number(), start),
            b't' | b'f' | b'n' | b'i' | b'I' | b'N' | b'+' => return (self.word(), start),
            _ => return (Token::Error("invalid token"), start),
        };
        self.at += 1;
        (single, start)
    }

    fn number(&mut self) -> Token {
        if !self.invalid && self.is_invalid_number() {
            return Token::Error("invalid number");
        }
        match number::read(&self.text[self.at..]) {
            Some((number, length)) => {
                self.at += length;
                Token::Number(number)
            }
            None => Token::Error("invalid number"),
        }
    }

    fn word(&mut self) -> Token {
        for (word, token) in
            [("true", Token::Boolean(true)), ("false", Token::Boolean(false)), ("null", Token::Null)]
        {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return token;
            }
        }
        if self.invalid && self.is_invalid_number() { self.number() } else { Token::Error("invalid token") }
    }

    /// Whether a number begins here that JSON has not: a plus, leading zeros, hexadecimal, infinity, NaN.
    fn is_invalid_number(&self) -> bool {
        if self.peek(0) == b'+' {
            return true;
        }
        let body = &self.text[self.at + usize::from(self.peek(0) == b'-')..];
        match body.first().copied().unwrap_or(0) {
            b'0' => matches!(body.get(1), Some(b'x' | b'X' | b'0'..=b'9')),
            0..=b'9' => false,
            _ => body
                .get(..3)
                .is_some_and(|head| head.eq_ignore_ascii_case(b"inf") || head.eq_ignore_ascii_case(b"nan")),
        }
    }

    /// A string, after its first quote. Without escapes, which is usual, it stays where it is.
    fn string(&mut self) -> Token {
        self.at += 1;
        let start = self.at;
        let length = self.text[start..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0));
        self.at = length.map_or(self.text.len(), |length| start + length);
        if self.peek(0) == b'"' {
            self.at += 1;
            return Token::Plain(start, self.at - 1);
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.text[start..self.at]);
        loop {
            match self.peek(0) {
                b'"' => break,
                0 => return Token::Error("unexpected end of string"),
                b'\\' => {
                    if let Err(message) = self.escape() {
                        return Token::Error(message);
                    }
                }
                byte => {
                    self.scratch.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Token::Escaped
    }

    fn escape(&mut self) -> Result<(), &'static str> {
        let byte = match self.peek(1) {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 8,
            b't' => 9,
            b'n' => 10,
            b'f' => 12,
            b'r' => 13,
            b'u' => return self.unicode_escape().ok_or("invalid unicode escape code"),
            _ => return Err("invalid escape code"),
        };
        self.scratch.push(byte);
        self.at += 2;
        Ok(())
    }

    /// `\uXXXX`, and a second one when it is half of a pair.
    fn unicode_escape(&mut self) -> Option<()> {
        let first = self.hex4(2)?;
        let (code, length) = match first {
            0xD800..0xDC00 => {
                if self.peek(6) != b'\\' || self.peek(7) != b'u' {
                    return None;
                }
                let low = self.hex4(8).filter(|low| (0xDC00..0xE000).contains(low))?;
                (0x10000 + ((first & 0x3FF) << 10 | low & 0x3FF), 12)
            }
            other => (other, 6),
        };
        let mut utf8 = [0; 4];
        self.scratch.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut utf8).as_bytes());
        self.at += length;
        Some(())
    }

    fn hex4(&self, ahead: usize) -> Option<u32> {
        let start = self.at + ahead;
        self.text
            .get(start..start + 4)?
            .iter()
            .try_fold(0, |code, byte| char::from(*byte).to_digit(16).map(|digit| code << 4 | digit))
    }
}

/// A table that is being filled: with the next index, or as an object.
struct Open {
    table: Table,
    index: Option<i64>,
}

struct Reader<'a, 'b> {
    lua: &'a Lua,
    tokens: &'a mut Tokens<'b>,
    /// The tables around the one that is being filled.
    around: Vec<Open>,
    depth_max: usize,
}

impl Reader<'_, '_> {
    fn document(mut self) -> mlua::Result<Value> {
        let first = self.tokens.next();
        let result = match first.0 {
            Token::ObjectBegin | Token::ArrayBegin => self.container(first.0)?,
            _ => self.scalar(first)?,
        };
        match self.tokens.next() {
            (Token::End, _) => Ok(result),
            other => Err(self.unexpected("the end", other)),
        }
    }

    /// A container with all that is in it.
    fn container(&mut self, begin: Token) -> mlua::Result<Value> {
        let mut open = self.begin(begin, 1)?;
        let mut first = true;
        loop {
            let (end, comma) = match open.index {
                Some(_) => (Token::ArrayEnd, "comma or array end"),
                None => (Token::ObjectEnd, "comma or object end"),
            };
            let mut token = self.tokens.next();
            if token.0 == end {
                match self.around.pop() {
                    Some(outer) => open = outer,
                    None => return Ok(Value::Table(open.table)),
                }
                first = false;
                continue;
            }
            if !first {
                if token.0 != Token::Comma {
                    return Err(self.unexpected(comma, token));
                }
                token = self.tokens.next();
            }
            let child = match &mut open.index {
                Some(index) => {
                    *index += 1;
                    self.place(&open.table, *index - 1, token)?
                }
                None => self.member(&open.table, token)?,
            };
            first = child.is_some();
            if let Some(child) = child {
                self.around.push(std::mem::replace(&mut open, child));
            }
        }
    }

    fn begin(&self, token: Token, depth: usize) -> mlua::Result<Open> {
        if depth > self.depth_max {
            let at = self.tokens.at;
            let message = format!("Found too many nested data structures ({depth}) at character {at}");
            return Err(fail(self.lua, &message));
        }
        Ok(Open { table: self.lua.create_table()?, index: (token == Token::ArrayBegin).then_some(1) })
    }

    /// A member of an object, from its key on.
    fn member(&mut self, table: &Table, token: (Token, usize)) -> mlua::Result<Option<Open>> {
        match token.0 {
            Token::Plain(start, end) => {
                let text = self.tokens.text;
                match std::str::from_utf8(&text[start..end]) {
                    Ok(key) => self.member_value(table, key),
                    Err(_) => self.member_value(table, self.scalar(token)?),
                }
            }
            Token::Escaped => self.member_value(table, self.scalar(token)?),
            _ => Err(self.unexpected("object key string", token)),
        }
    }

    fn member_value(&mut self, table: &Table, key: impl IntoLua) -> mlua::Result<Option<Open>> {
        let colon = self.tokens.next();
        if colon.0 != Token::Colon {
            return Err(self.unexpected("colon", colon));
        }
        let token = self.tokens.next();
        self.place(table, key, token)
    }

    /// Puts a value into a table. Returns the table that it is, to be filled next.
    fn place(&self, table: &Table, key: impl IntoLua, token: (Token, usize)) -> mlua::Result<Option<Open>> {
        match token.0 {
            Token::Number(number) => table.raw_set(key, number)?,
            Token::Plain(start, end) => match std::str::from_utf8(&self.tokens.text[start..end]) {
                Ok(text) => table.raw_set(key, text)?,
                Err(_) => table.raw_set(key, self.scalar(token)?)?,
            },
            Token::ObjectBegin | Token::ArrayBegin => {
                let child = self.begin(token.0, self.around.len() + 2)?;
                table.raw_set(key, &child.table)?;
                return Ok(Some(child));
            }
            _ => table.raw_set(key, self.scalar(token)?)?,
        }
        Ok(None)
    }

    /// A value that is no container.
    fn scalar(&self, token: (Token, usize)) -> mlua::Result<Value> {
        Ok(match token.0 {
            Token::Plain(start, end) => Value::String(self.lua.create_string(&self.tokens.text[start..end])?),
            Token::Escaped => Value::String(self.lua.create_string(&self.tokens.scratch)?),
            Token::Number(number) => Value::Number(number),
            Token::Boolean(value) => Value::Boolean(value),
            Token::Null => Value::NULL,
            _ => return Err(self.unexpected("value", token)),
        })
    }

    fn unexpected(&self, expected: &str, (token, at): (Token, usize)) -> Error {
        fail(self.lua, &format!("Expected {expected} but found {} at character {}", token.name(), at + 1))
    }
}
