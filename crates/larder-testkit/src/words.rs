//! Lines of text as commands.

use std::fmt::Write as _;

/// Splits a line much as redis-cli does: blanks separate, and in double quotes there are the escapes `\n`,
/// `\r`, `\0` and `\xNN`. Single quotes mean nothing.
pub fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = if let Some(quoted) = rest.strip_prefix('"') {
            unquote(quoted)
        } else {
            let end = rest.find(' ').unwrap_or(rest.len());
            (rest.as_bytes()[..end].to_vec(), &rest[end..])
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn unquote(text: &str) -> (Vec<u8>, &str) {
    let mut word = Vec::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (word, &text[at + 1..]),
            '\\' => match chars.next().map(|(_, escaped)| escaped) {
                Some('n') => word.push(b'\n'),
                Some('r') => word.push(b'\r'),
                Some('0') => word.push(0),
                Some('x') => {
                    let hex = &text[at + 2..at + 4];
                    word.push(u8::from_str_radix(hex, 16).expect("two hexadecimal digits"));
                    chars.nth(1);
                }
                Some(other) => word.extend(other.to_string().bytes()),
                None => {}
            },
            other => word.extend(other.to_string().bytes()),
        }
    }
    (word, "")
}

/// Writes an argument as a word that [`words`] reads back.
pub fn quote(arg: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    if !arg.is_empty() && arg.iter().all(is_plain) {
        return String::from_utf8_lossy(arg).into_owned();
    }
    let mut text = String::from("\"");
    for &byte in arg {
        match byte {
            b'"' | b'\\' => {
                text.push('\\');
                text.push(byte as char);
            }
            b' '..=b'~' => text.push(byte as char),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::{quote, words};

    #[test]
    fn quotes_and_escapes() {
        let expected: [&[u8]; 5] = [b"set", b"a b", b"\x01\r\n\0\"", b"", b"x"];
        assert_eq!(words(r#" set "a b"  "\x01\r\n\0\"" "" x "#), expected);
        let line = expected.map(quote).join(" ");
        assert_eq!(words(&line), expected, "{line}");
    }
}
