//! Values as clients read them: of both versions of the protocol, owned.

use std::io::{self, BufRead, Read};

/// The longest line: that of a status, an error or a number.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// What a value that is read may be.
#[derive(Clone, Copy, Debug)]
pub struct ValueLimits {
    /// Aggregates within aggregates.
    pub depth: u32,
    /// Bytes of a string, and items of an aggregate.
    pub len_max: u64,
}

/// A value that a server sends, read and owned: a reply or a push message. Which command gives which: as RESP3 has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An array, or a push message.
    Array(Vec<Value>),
    /// A number of any size, in digits.
    BigNumber(String),
    /// Yes or no.
    Bool(bool),
    /// A string, verbatim text among them.
    Bytes(Vec<u8>),
    /// A number with a fraction.
    Double(f64),
    /// An error, as a whole reply or inside of one.
    Error(String),
    /// A number.
    Int(i64),
    /// Pairs of a name and what it has.
    Map(Vec<(Value, Value)>),
    /// Nothing.
    Null,
    /// Members in no order.
    Set(Vec<Value>),
    /// A word such as `OK`.
    Status(String),
}

impl Value {
    /// The bytes of a string or a status, and the digits of a big number.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Status(text) | Value::BigNumber(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// The number; 1 and 0 for yes and no.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Bool(yes) => Some(i64::from(*yes)),
            _ => None,
        }
    }

    /// The items of an array or a set.
    pub fn items(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) | Value::Set(items) => Some(items),
            _ => None,
        }
    }

    /// Reads one value. Memory is taken as bytes come, whatever lengths are announced.
    ///
    /// # Errors
    /// The source fails, ends (`UnexpectedEof`, wherever that is), or holds what is no value or one beyond the limits (`InvalidData`).
    pub fn read(source: &mut impl BufRead, limits: ValueLimits) -> io::Result<Value> {
        read(source, limits)
    }
}

fn odd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a reply of the protocol")
}

fn read(source: &mut impl BufRead, limits: ValueLimits) -> io::Result<Value> {
    let mut line = Vec::new();
    source.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    if !line.ends_with(b"\n") && (line.len() as u64) < LINE_BYTES_MAX {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.strip_suffix(b"\r\n").ok_or_else(odd)?;
    let (&mark, rest) = line.split_first().ok_or_else(odd)?;
    let text = || String::from_utf8_lossy(rest).into_owned();
    let number = || text().parse::<i64>().map_err(|_| odd());
    let len = || u64::try_from(number()?).ok().filter(|&len| len <= limits.len_max).ok_or_else(odd);
    let mut many = |len: u64| -> io::Result<Vec<Value>> {
        let depth = limits.depth.checked_sub(1).ok_or_else(odd)?;
        (0..len).map(|_| read(source, ValueLimits { depth, ..limits })).collect()
    };
    Ok(match mark {
        b'+' => Value::Status(text()),
        b'-' => Value::Error(text()),
        b':' => Value::Int(number()?),
        b'_' => Value::Null,
        b'#' => Value::Bool(rest == b"t"),
        b',' => Value::Double(double(&text())?),
        b'(' => Value::BigNumber(text()),
        b'$' | b'*' if rest == b"-1" => Value::Null,
        b'$' => Value::Bytes(bulk(source, len()?)?),
        // Three letters and a colon name the form of the text.
        b'=' => Value::Bytes(bulk(source, len()?)?.get(4..).ok_or_else(odd)?.to_vec()),
        b'!' => Value::Error(String::from_utf8_lossy(&bulk(source, len()?)?).into_owned()),
        b'*' | b'>' => Value::Array(many(len()?)?),
        b'~' => Value::Set(many(len()?)?),
        b'%' => {
            let mut flat = many(len()?.checked_mul(2).ok_or_else(odd)?)?.into_iter();
            let mut pairs = Vec::with_capacity(flat.len() / 2);
            while let (Some(name), Some(value)) = (flat.next(), flat.next()) {
                pairs.push((name, value));
            }
            Value::Map(pairs)
        }
        _ => return Err(odd()),
    })
}

fn bulk(source: &mut impl BufRead, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let end = len.checked_add(2).ok_or_else(odd)?;
    source.by_ref().take(end).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < end {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if !bytes.ends_with(b"\r\n") {
        return Err(odd());
    }
    bytes.truncate(len as usize);
    Ok(bytes)
}

fn double(text: &str) -> io::Result<f64> {
    text.parse().map_err(|_| odd())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8]) -> io::Result<Value> {
        let mut source = bytes;
        Value::read(&mut source, ValueLimits { depth: 128, len_max: u64::MAX })
    }

    #[test]
    fn every_form() {
        let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let cases = [
            (&b"+OK\r\n"[..], Value::Status("OK".to_owned())),
            (b"-ERR no\r\n", Value::Error("ERR no".to_owned())),
            (b":-5\r\n", Value::Int(-5)),
            (b"$2\r\nab\r\n", bytes("ab")),
            (b"$0\r\n\r\n", bytes("")),
            (b"$-1\r\n", Value::Null),
            (b"*-1\r\n", Value::Null),
            (b"_\r\n", Value::Null),
            (b"#t\r\n", Value::Bool(true)),
            (b",1.5\r\n", Value::Double(1.5)),
            (b",inf\r\n", Value::Double(f64::INFINITY)),
            (b",-inf\r\n", Value::Double(f64::NEG_INFINITY)),
            (b"(123\r\n", Value::BigNumber("123".to_owned())),
            (b"=6\r\ntxt:ab\r\n", bytes("ab")),
            (b"*2\r\n:1\r\n*0\r\n", Value::Array(vec![Value::Int(1), Value::Array(vec![])])),
            (b"~1\r\n$1\r\na\r\n", Value::Set(vec![bytes("a")])),
            (b"%1\r\n$1\r\na\r\n:1\r\n", Value::Map(vec![(bytes("a"), Value::Int(1))])),
            (b">1\r\n+x\r\n", Value::Array(vec![Value::Status("x".to_owned())])),
        ];
        for (text, wanted) in cases {
            assert_eq!(read_all(text).unwrap(), wanted, "{}", text.escape_ascii());
            for len in 0..text.len() {
                let kind = read_all(&text[..len]).unwrap_err().kind();
                assert_eq!(kind, io::ErrorKind::UnexpectedEof, "{}", text[..len].escape_ascii());
            }
        }
    }

    #[test]
    fn limits() {
        let read = |mut bytes: &[u8], depth| Value::read(&mut bytes, ValueLimits { depth, len_max: 2 });
        assert!(read(b"*1\r\n*0\r\n", 2).is_ok() && read(b"*1\r\n*0\r\n", 1).is_err());
        assert!(read(b"$2\r\nab\r\n", 1).is_ok() && read(b"$3\r\nabc\r\n", 1).is_err());
        assert!(read(b"*2\r\n:1\r\n:2\r\n", 1).is_ok() && read(b"*3\r\n:1\r\n:2\r\n:3\r\n", 1).is_err());
    }

    #[test]
    fn what_is_no_value() {
        let deep = b"*1\r\n".repeat(10_000);
        let bad: &[&[u8]] = &[
            b"x\r\n",
            b"\r\n",
            b":x\r\n",
            b"$99999999999999999999\r\n",
            b"$9223372036854775807\r\nab",
            b"*9223372036854775807\r\n",
            b"%9223372036854775807\r\n",
            b"$-2\r\n",
            b"*-2\r\n",
            b"$2\r\nabcd",
            b"=2\r\nab\r\n",
            b",x\r\n",
            b"+no end",
            &deep,
        ];
        for text in bad {
            assert!(read_all(text).is_err(), "{}", text[..text.len().min(40)].escape_ascii());
        }
    }
}
