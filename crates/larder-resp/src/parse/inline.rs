//! Splits a line into arguments by the quoting rules that inline commands, configuration files and redis-cli share.
//!
//! Blanks separate. `"..."` understands `\n \r \t \b \a \xHH` and takes any other escaped byte as itself; `'...'`
//! understands only `\'`. Quotes may open and close within a word.

use crate::args::Span;

/// Splits `line`, putting the arguments' bytes into `bytes` and their positions there into `spans` (both emptied
/// first). `None` when quotes are unbalanced.
pub(crate) fn split(line: &[u8], bytes: &mut Vec<u8>, spans: &mut Vec<Span>) -> Option<()> {
    bytes.clear();
    spans.clear();
    let mut rest = skip_blanks(line);
    while !rest.is_empty() {
        let start = bytes.len();
        rest = skip_blanks(argument(rest, bytes)?);
        spans.push(Span { start, end: bytes.len() });
    }
    Some(())
}

/// Splits `line` into owned arguments; `None` when quotes are unbalanced.
pub fn split_args(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut bytes, mut spans) = (Vec::new(), Vec::new());
    split(line, &mut bytes, &mut spans)?;
    Some(spans.iter().map(|s| bytes[s.start..s.end].to_vec()).collect())
}

fn skip_blanks(line: &[u8]) -> &[u8] {
    let blanks = line.iter().take_while(|&&b| is_blank(b)).count();
    &line[blanks..]
}

/// C's `isspace`.
fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

/// Appends one argument and returns what follows it. Quotes may stand anywhere in a word, as in `a"b c"d`. As in
/// Valkey, vertical tab and form feed are blanks between words and yet part of a word that has begun.
fn argument<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    while let [first, tail @ ..] = rest {
        rest = match first {
            b'"' => double_quoted(tail, bytes)?,
            b'\'' => single_quoted(tail, bytes)?,
            b' ' | b'\t' | b'\r' | b'\n' => return Some(rest),
            b => {
                bytes.push(*b);
                tail
            }
        };
    }
    Some(rest)
}

fn double_quoted<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [] => return None,
            [b'"', tail @ ..] => return Some(tail),
            [b'\\', b'x', hi, lo, tail @ ..] if hi.is_ascii_hexdigit() && lo.is_ascii_hexdigit() => {
                bytes.push(hex(*hi) << 4 | hex(*lo));
                tail
            }
            [b'\\', escaped, tail @ ..] => {
                bytes.push(unescape(*escaped));
                tail
            }
            [b, tail @ ..] => {
                bytes.push(*b);
                tail
            }
        }
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [] => return None,
            [b'\'', tail @ ..] => return Some(tail),
            [b'\\', b'\'', tail @ ..] => {
                bytes.push(b'\'');
                tail
            }
            [b, tail @ ..] => {
                bytes.push(*b);
                tail
            }
        }
    }
}

fn unescape(b: u8) -> u8 {
    match b {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting() {
        let cases: [(&str, &[&str]); 11] = [
            ("", &[]),
            ("  a  b\t", &["a", "b"]),
            (r#""a b" 'c d'"#, &["a b", "c d"]),
            (r#""\x41\n\"\q""#, &["A\n\"q"]),
            (r"'it\'s' '\n'", &["it's", "\\n"]),
            (r#"a"b c""#, &["ab c"]),
            (r#""""#, &[""]),
            (r#""a"b 'c'd"e f"g"#, &["ab", "cde fg"]),
            (r#"a""'' """#, &["a", ""]),
            (r#""\xzz""#, &["xzz"]),
            (r#"set "k" ''"#, &["set", "k", ""]),
        ];
        for (line, expected) in cases {
            let got = split_args(line.as_bytes()).unwrap();
            assert_eq!(got, expected.iter().map(|s| s.as_bytes()).collect::<Vec<_>>(), "{line}");
        }
        for bad in [r#"""#, "'", r#""a\"#, r#""a\""#] {
            assert_eq!(split_args(bad.as_bytes()), None, "{bad}");
        }
    }
}
