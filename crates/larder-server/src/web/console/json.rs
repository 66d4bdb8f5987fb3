//! Replies as JSON, and arguments out of it.
//!
//! ```text
//! RESP3                      JSON
//! bulk, simple, verbatim     "text", or {"hex": "ff00"} if it is no UTF-8
//! error                      {"error": "ERR ..."}
//! integer, big number        number, or {"int": "digits"} beyond 2^53
//! double                     number, or {"double": "inf"}
//! map                        {"map": [[key, value], ...]}: keys may be of any kind
//! array, set, push           [...]
//! boolean, null              true, false, null
//! ```
//! An argument is a text, or bytes as `{"hex": "..."}`.

use serde_json::Value;

/// Numbers beyond this are not exact in a browser.
const EXACT_MAX: i64 = 1 << 53;
/// Replies within replies.
const DEPTH_MAX: usize = 64;

/// Appends replies, one after the other, as the elements of an array.
pub fn write_replies(mut replies: &[u8], out: &mut String) {
    out.push('[');
    let mut is_first = true;
    while !replies.is_empty() {
        separate(&mut is_first, out);
        let mut reader = Reader { bytes: replies };
        if reader.write(out, 0).is_none() {
            out.push_str("null");
            break;
        }
        replies = reader.bytes;
    }
    out.push(']');
}

/// Appends a text that others have no part in.
pub fn write_plain(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

/// Appends a text as a JSON string, or as its bytes if it is no UTF-8.
pub fn write_text(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => out.push_str(&Value::from(text).to_string()),
        Err(_) => {
            out.push_str("{\"hex\":\"");
            bytes.iter().for_each(|byte| out.push_str(&format!("{byte:02x}")));
            out.push_str("\"}");
        }
    }
}

/// The bytes of an argument.
pub fn argument(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Object(object) if object.len() == 1 => unhex(object.get("hex")?.as_str()?),
        _ => None,
    }
}

/// Bytes from pairs of hexadecimal digits.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? << 4 | digit(*pair.get(1)?)?) as u8)).collect()
}

fn separate(is_first: &mut bool, out: &mut String) {
    if !std::mem::take(is_first) {
        out.push(',');
    }
}

/// What is left of replies that the server has written itself.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The bytes up to the end of the line.
    fn line(&mut self) -> Option<&'a [u8]> {
        let at = memchr::memchr(b'\r', self.bytes)?;
        let line = &self.bytes[..at];
        self.bytes = self.bytes.get(at + 2..)?;
        Some(line)
    }

    fn bulk(&mut self, len: usize) -> Option<&'a [u8]> {
        let bulk = self.bytes.get(..len)?;
        self.bytes = self.bytes.get(len.checked_add(2)?..)?;
        Some(bulk)
    }

    /// Appends a reply. `None`: it is none.
    fn write(&mut self, out: &mut String, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        let line = self.line()?;
        let (&kind, rest) = line.split_first()?;
        let text = std::str::from_utf8(rest).ok();
        match kind {
            b'+' => write_text(rest, out),
            b'-' => write_error(rest, out),
            b':' => write_integer(text?, out),
            b'(' => write_integer(text?, out),
            b',' => write_double(text?, out),
            b'#' => out.push_str(if rest == b"t" { "true" } else { "false" }),
            b'_' => out.push_str("null"),
            b'$' | b'=' | b'!' | b'*' | b'~' | b'>' | b'%' | b'|' => {
                let Ok(len) = text?.parse::<usize>() else {
                    out.push_str("null");
                    return Some(());
                };
                self.write_long(kind, len, out, depth)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn write_long(&mut self, kind: u8, len: usize, out: &mut String, depth: usize) -> Option<()> {
        match kind {
            b'$' => write_text(self.bulk(len)?, out),
            b'=' => write_text(self.bulk(len)?.get(4..)?, out),
            b'!' => write_error(self.bulk(len)?, out),
            b'%' => self.write_map(len, out, depth)?,
            // Attributes say something about the reply that follows.
            b'|' => {
                self.write_map(len, &mut String::new(), depth)?;
                self.write(out, depth + 1)?;
            }
            _ => {
                out.push('[');
                let mut is_first = true;
                for _ in 0..len {
                    separate(&mut is_first, out);
                    self.write(out, depth + 1)?;
                }
                out.push(']');
            }
        }
        Some(())
    }

    fn write_map(&mut self, len: usize, out: &mut String, depth: usize) -> Option<()> {
        out.push_str("{\"map\":[");
        let mut is_first = true;
        for _ in 0..len {
            separate(&mut is_first, out);
            out.push('[');
            self.write(out, depth + 1)?;
            out.push(',');
            self.write(out, depth + 1)?;
            out.push(']');
        }
        out.push_str("]}");
        Some(())
    }
}

fn write_error(text: &[u8], out: &mut String) {
    out.push_str("{\"error\":");
    write_text(text, out);
    out.push('}');
}

fn write_integer(digits: &str, out: &mut String) {
    match digits.parse::<i64>() {
        Ok(n) if (-EXACT_MAX..=EXACT_MAX).contains(&n) => out.push_str(&n.to_string()),
        _ => write_named("int", digits, out),
    }
}

fn write_double(digits: &str, out: &mut String) {
    match digits.parse::<f64>() {
        Ok(n) if n.is_finite() => out.push_str(&Value::from(n).to_string()),
        _ => write_named("double", digits, out),
    }
}

fn write_named(name: &str, text: &str, out: &mut String) {
    out.push_str(&serde_json::json!({ name: text }).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(replies: &[u8]) -> String {
        let mut out = String::new();
        write_replies(replies, &mut out);
        let _: Value = serde_json::from_str(&out).expect("it is JSON");
        out
    }

    #[test]
    fn each_kind_of_reply() {
        for (reply, expected) in [
            (&b"+OK\r\n"[..], r#"["OK"]"#),
            (b"-ERR no\r\n", r#"[{"error":"ERR no"}]"#),
            (b":12\r\n:-3\r\n", "[12,-3]"),
            (b":9007199254740993\r\n", r#"[{"int":"9007199254740993"}]"#),
            (b"(123456789012345678901234567890\r\n", r#"[{"int":"123456789012345678901234567890"}]"#),
            (b",1.5\r\n,inf\r\n", r#"[1.5,{"double":"inf"}]"#),
            (b"$-1\r\n*-1\r\n_\r\n", "[null,null,null]"),
            (b"$5\r\na\"\r\n\x01\r\n", r#"["a\"\r\n\u0001"]"#),
            (b"$2\r\n\xff\x00\r\n", r#"[{"hex":"ff00"}]"#),
            (b"#t\r\n#f\r\n", "[true,false]"),
            (b"=7\r\ntxt:abc\r\n", r#"["abc"]"#),
            (b"*2\r\n:1\r\n*0\r\n", "[[1,[]]]"),
            (b"%1\r\n+a\r\n~1\r\n:1\r\n", r#"[{"map":[["a",[1]]]}]"#),
            (b"|1\r\n+a\r\n:1\r\n:2\r\n", "[2]"),
            (b"", "[]"),
        ] {
            assert_eq!(json(reply), expected, "{reply:?}");
        }
    }

    #[test]
    fn what_nests_too_deep_is_cut() {
        let mut deep = "*1\r\n".repeat(100).into_bytes();
        deep.extend_from_slice(b":1\r\n");
        let mut out = String::new();
        write_replies(&deep, &mut out);
        assert!(out.len() < 200, "{out}");
    }

    #[test]
    fn arguments_are_texts_or_bytes() {
        let argument = |text: &str| argument(&serde_json::from_str(text).expect("JSON"));
        assert_eq!(argument(r#""GET""#), Some(b"GET".to_vec()));
        assert_eq!(argument(r#"{"hex":"FF0a"}"#), Some(b"\xff\x0a".to_vec()));
        for wrong in [r#"{"hex":"f"}"#, r#"{"hex":"zz"}"#, r#"{"hex":1}"#, "{}", "1", "null", "[]"] {
            assert_eq!(argument(wrong), None, "{wrong}");
        }
    }
}
