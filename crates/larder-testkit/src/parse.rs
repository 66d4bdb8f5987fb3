//! Parses replies from a buffer, for clients that must not wait for the rest of one.

use crate::Value;
use std::io;

/// A position in a buffer.
struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Parses the reply at the beginning of `bytes`; returns it with its length, or `None` if it is incomplete.
///
/// # Errors
/// The bytes are not a reply.
pub fn parse(bytes: &[u8]) -> io::Result<Option<(Value, usize)>> {
    let mut parser = Parser { bytes, at: 0 };
    Ok(parser.value()?.map(|value| (value, parser.at)))
}

impl Parser<'_> {
    fn value(&mut self) -> io::Result<Option<Value>> {
        let Some((kind, rest)) = self.line() else { return Ok(None) };
        let number = || rest.parse::<i64>().map_err(|_| broken(&rest));
        Ok(Some(match kind {
            b'+' => Value::Simple(rest),
            b'-' => Value::Error(rest),
            b':' => Value::Int(number()?),
            b'_' => Value::Null,
            b'#' => Value::Bool(rest == "t"),
            b',' => Value::Double(rest),
            b'(' => Value::BigNumber(rest),
            b'$' if rest == "-1" => Value::NullBulk,
            b'*' if rest == "-1" => Value::NullArray,
            b'$' => return Ok(self.bulk(number()?)?.map(Value::Bulk)),
            b'=' => return Ok(self.bulk(number()?)?.map(Value::Verbatim)),
            b'*' => return Ok(self.list(number()?)?.map(Value::Array)),
            b'%' => return Ok(self.list(2 * number()?)?.map(Value::Map)),
            b'~' => return Ok(self.list(number()?)?.map(Value::Set)),
            b'>' => return Ok(self.list(number()?)?.map(Value::Push)),
            _ => return Err(broken(&rest)),
        }))
    }

    fn line(&mut self) -> Option<(u8, String)> {
        let rest = &self.bytes[self.at..];
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        self.at += end + 2;
        let (kind, text) = rest[..end].split_first().unwrap_or((&0, &[]));
        let text = match std::str::from_utf8(text) {
            Ok(text) => text.to_owned(),
            Err(_) => text.escape_ascii().to_string(),
        };
        Some((*kind, text))
    }

    fn bulk(&mut self, len: i64) -> io::Result<Option<Vec<u8>>> {
        let len = usize::try_from(len).map_err(|_| broken("a negative length"))?;
        let rest = &self.bytes[self.at..];
        if rest.len() < len + 2 {
            return Ok(None);
        }
        self.at += len + 2;
        Ok(Some(rest[..len].to_vec()))
    }

    fn list(&mut self, len: i64) -> io::Result<Option<Vec<Value>>> {
        let mut items = Vec::new();
        for _ in 0..len {
            let Some(item) = self.value()? else { return Ok(None) };
            items.push(item);
        }
        Ok(Some(items))
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a reply: {what}"))
}

#[cfg(test)]
mod tests {
    use super::{Value, parse};

    #[test]
    fn only_whole_replies_are_parsed() {
        let whole = b"*3\r\n$3\r\na\r\n\r\n:-7\r\n%1\r\n+k\r\n_\r\n";
        for len in 0..whole.len() {
            assert!(matches!(parse(&whole[..len]), Ok(None)), "{len} bytes");
        }
        let (value, len) = parse(&[&whole[..], b"+next"].concat()).expect("valid").expect("whole");
        let map = Value::Map(vec![Value::Simple("k".to_owned()), Value::Null]);
        assert_eq!(value, Value::Array(vec![Value::Bulk(b"a\r\n".to_vec()), Value::Int(-7), map]));
        assert_eq!(len, whole.len());
        assert!(parse(b"?x\r\n").is_err() && parse(b"$-7\r\n").is_err());
    }
}
