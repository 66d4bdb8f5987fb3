//! A reply of either protocol.

use std::fmt;

/// A reply, kept as it was framed, so that two servers can be compared exactly.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `+`
    Simple(String),
    /// `-`
    Error(String),
    /// `:`
    Int(i64),
    /// `$`
    Bulk(Vec<u8>),
    /// `$-1`
    NullBulk,
    /// `*-1`
    NullArray,
    /// `*`
    Array(Vec<Value>),
    /// `_`
    Null,
    /// `%`, flat: key, value, key, value.
    Map(Vec<Value>),
    /// `~`
    Set(Vec<Value>),
    /// `>`
    Push(Vec<Value>),
    /// `#`
    Bool(bool),
    /// `,` as text
    Double(String),
    /// `(` as text
    BigNumber(String),
    /// `=` with its format
    Verbatim(Vec<u8>),
}

impl Value {
    /// The items of an aggregate; none for other replies.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::Array(items) | Value::Map(items) | Value::Set(items) | Value::Push(items) => items,
            _ => &[],
        }
    }

    /// The bytes of a string of any kind; empty for other replies.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Value::Bulk(bytes) | Value::Verbatim(bytes) => bytes,
            Value::Simple(text) | Value::Error(text) | Value::Double(text) | Value::BigNumber(text) => {
                text.as_bytes()
            }
            _ => &[],
        }
    }

    /// The string as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// The integer, also of a string that is one; panics otherwise.
    pub fn int(&self) -> i64 {
        match self {
            Value::Int(n) => *n,
            other => other.text().parse().unwrap_or_else(|_| panic!("no integer: {other}")),
        }
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        matches!(self, Value::Error(_))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, sign: char, items: &[Value]| {
            write!(f, "{sign}[")?;
            for (at, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if at > 0 { " " } else { "" })?;
            }
            f.write_str("]")
        };
        match self {
            Value::Simple(text) => write!(f, "+{text}"),
            Value::Error(text) => write!(f, "-{text}"),
            Value::Int(n) => write!(f, ":{n}"),
            Value::Bulk(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Value::NullBulk => f.write_str("$-1"),
            Value::NullArray => f.write_str("*-1"),
            Value::Null => f.write_str("_"),
            Value::Array(items) => list(f, '*', items),
            Value::Map(items) => list(f, '%', items),
            Value::Set(items) => list(f, '~', items),
            Value::Push(items) => list(f, '>', items),
            Value::Bool(value) => write!(f, "#{value}"),
            Value::Double(text) => write!(f, ",{text}"),
            Value::BigNumber(text) => write!(f, "({text}"),
            Value::Verbatim(bytes) => write!(f, "={}", bytes.escape_ascii()),
        }
    }
}
