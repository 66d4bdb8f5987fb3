//! Reading and printing numbers exactly as Redis does.

use crate::error::{CommandError, CommandResult};

/// Parses a canonical decimal integer: no blanks, no plus sign, no leading zeros, no `-0`.
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    match digits {
        [b'0'] => return (!negative).then_some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut value: u64 = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(digit - b'0');
    }
    if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// An integer argument, or the usual error.
pub fn integer(text: &[u8]) -> CommandResult<i64> {
    parse_i64(text).ok_or(CommandError::NOT_INTEGER)
}

/// An integer argument of at least zero, or the error that Redis gives for a negative one.
pub fn positive(text: &[u8]) -> CommandResult<i64> {
    positive_or(text, CommandError::NOT_POSITIVE)
}

/// An integer argument of at least zero, or `error` for whatever else it is.
pub fn positive_or(text: &[u8], error: CommandError) -> CommandResult<i64> {
    parse_i64(text).filter(|&n| n >= 0).ok_or(error)
}

/// A floating-point argument as `strtod` reads it: decimal, `inf`, `infinity`; no blanks, not NaN.
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    let value: f64 = fast_float2::parse(text).ok().or_else(|| parse_hex_f64(text))?;
    (!value.is_nan()).then_some(value)
}

/// `strtod` also reads hexadecimal; integers of that form are what people send.
fn parse_hex_f64(text: &[u8]) -> Option<f64> {
    let (sign, rest) = match text {
        [b'-', rest @ ..] => (-1.0, rest),
        [b'+', rest @ ..] => (1.0, rest),
        _ => (1.0, text),
    };
    let [b'0', b'x' | b'X', digits @ ..] = rest else { return None };
    let digits = std::str::from_utf8(digits).ok().filter(|d| !d.starts_with(['+', '-']))?;
    u64::from_str_radix(digits, 16).ok().map(|n| sign * n as f64)
}

/// Whether the text is an integer in canonical form: such strings have the encoding `int`.
pub fn is_integer(text: &[u8]) -> bool {
    text.len() <= 20 && parse_i64(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_canonical() {
        for good in ["0", "7", "-1", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(parse_i64(good.as_bytes()).map(|n| n.to_string()).as_deref(), Some(good));
        }
        let bad = [
            "",
            "-",
            "-0",
            "+1",
            "01",
            " 1",
            "1 ",
            "1a",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
        ];
        for bad in bad {
            assert_eq!(parse_i64(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn floats() {
        assert_eq!(parse_f64(b"1e3"), Some(1000.0));
        assert_eq!(parse_f64(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(parse_f64(b"0x10"), Some(16.0));
        for bad in ["nan", "", " 1", "1 ", "abc"] {
            assert_eq!(parse_f64(bad.as_bytes()), None, "{bad}");
        }
    }
}
