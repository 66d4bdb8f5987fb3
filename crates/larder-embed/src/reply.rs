//! Replies: what a command has answered, read from the protocol and owned.

pub mod fields;
pub mod raw;

use std::io::{self, BufRead, Read};

/// Aggregates within aggregates.
const DEPTH_MAX: u32 = 128;
/// The longest line: that of a status, an error or a number.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// A reply. Which command gives which: as RESP3 has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// An array, or a push message.
    Array(Vec<Reply>),
    /// A number of any size, in digits.
    BigNumber(String),
    /// Yes or no.
    Bool(bool),
    /// A string, verbatim text among them.
    Bytes(Vec<u8>),
    /// A number with a fraction.
    Double(f64),
    /// An error inside of a reply, as of a command of a transaction. One that is the whole reply is [`Error::Command`](crate::Error).
    Error(String),
    /// A number.
    Int(i64),
    /// Pairs of a name and what it has.
    Map(Vec<(Reply, Reply)>),
    /// Nothing.
    Null,
    /// Members in no order.
    Set(Vec<Reply>),
    /// A word such as `OK`.
    Status(String),
}

impl Reply {
    /// The bytes of a string or status.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Reply::Bytes(bytes) => Some(bytes),
            Reply::Status(text) | Reply::BigNumber(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// The number.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Reply::Int(number) => Some(*number),
            Reply::Bool(yes) => Some(i64::from(*yes)),
            _ => None,
        }
    }

    /// The items of an array or a set.
    pub fn items(&self) -> Option<&[Reply]> {
        match self {
            Reply::Array(items) | Reply::Set(items) => Some(items),
            _ => None,
        }
    }

    /// Reads one reply. Memory is taken as bytes come, whatever lengths are announced.
    ///
    /// # Errors
    /// The source fails, ends, or holds what is no reply (`InvalidData`).
    pub(crate) fn read(source: &mut impl BufRead) -> io::Result<Reply> {
        read(source, DEPTH_MAX)
    }
}

fn odd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a reply of the protocol")
}

fn read(source: &mut impl BufRead, depth: u32) -> io::Result<Reply> {
    let mut line = Vec::new();
    source.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.strip_suffix(b"\r\n").ok_or_else(odd)?;
    let (&mark, rest) = line.split_first().ok_or_else(odd)?;
    let text = || String::from_utf8_lossy(rest).into_owned();
    let number = || text().parse::<i64>().map_err(|_| odd());
    let len = || u64::try_from(number()?).map_err(|_| odd());
    let inner = depth.checked_sub(1);
    let mut many = |len: u64| -> io::Result<Vec<Reply>> {
        let depth = inner.ok_or_else(odd)?;
        (0..len).map(|_| read(source, depth)).collect()
    };
    Ok(match mark {
        b'+' => Reply::Status(text()),
        b'-' => Reply::Error(text()),
        b':' => Reply::Int(number()?),
        b'_' => Reply::Null,
        b'#' => Reply::Bool(rest == b"t"),
        b',' => Reply::Double(double(&text())?),
        b'(' => Reply::BigNumber(text()),
        b'$' | b'*' if rest == b"-1" => Reply::Null,
        b'$' => Reply::Bytes(bulk(source, len()?)?),
        // Three letters and a colon name the form of the text.
        b'=' => Reply::Bytes(bulk(source, len()?)?.get(4..).ok_or_else(odd)?.to_vec()),
        b'!' => Reply::Error(String::from_utf8_lossy(&bulk(source, len()?)?).into_owned()),
        b'*' | b'>' => Reply::Array(many(len()?)?),
        b'~' => Reply::Set(many(len()?)?),
        b'%' => {
            let mut flat = many(len()?.checked_mul(2).ok_or_else(odd)?)?.into_iter();
            let mut pairs = Vec::with_capacity(flat.len() / 2);
            while let (Some(name), Some(value)) = (flat.next(), flat.next()) {
                pairs.push((name, value));
            }
            Reply::Map(pairs)
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

    fn read_all(bytes: &[u8]) -> io::Result<Reply> {
        let mut source = bytes;
        Reply::read(&mut source)
    }

    #[test]
    fn every_form() {
        let bytes = |text: &str| Reply::Bytes(text.as_bytes().to_vec());
        let cases = [
            (&b"+OK\r\n"[..], Reply::Status("OK".to_owned())),
            (b"-ERR no\r\n", Reply::Error("ERR no".to_owned())),
            (b":-5\r\n", Reply::Int(-5)),
            (b"$2\r\nab\r\n", bytes("ab")),
            (b"$0\r\n\r\n", bytes("")),
            (b"$-1\r\n", Reply::Null),
            (b"*-1\r\n", Reply::Null),
            (b"_\r\n", Reply::Null),
            (b"#t\r\n", Reply::Bool(true)),
            (b",1.5\r\n", Reply::Double(1.5)),
            (b",inf\r\n", Reply::Double(f64::INFINITY)),
            (b",-inf\r\n", Reply::Double(f64::NEG_INFINITY)),
            (b"(123\r\n", Reply::BigNumber("123".to_owned())),
            (b"=6\r\ntxt:ab\r\n", bytes("ab")),
            (b"*2\r\n:1\r\n*0\r\n", Reply::Array(vec![Reply::Int(1), Reply::Array(vec![])])),
            (b"~1\r\n$1\r\na\r\n", Reply::Set(vec![bytes("a")])),
            (b"%1\r\n$1\r\na\r\n:1\r\n", Reply::Map(vec![(bytes("a"), Reply::Int(1))])),
            (b">1\r\n+x\r\n", Reply::Array(vec![Reply::Status("x".to_owned())])),
        ];
        for (text, wanted) in cases {
            assert_eq!(read_all(text).unwrap(), wanted, "{}", text.escape_ascii());
            (0..text.len()).for_each(|len| assert!(read_all(&text[..len]).is_err(), "{len}"));
        }
    }

    #[test]
    fn what_is_no_reply() {
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
