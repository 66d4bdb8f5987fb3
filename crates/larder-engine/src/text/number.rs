//! Reading and printing numbers exactly as Redis does.

mod digits;

use crate::error::{CommandError, CommandResult};
use digits::Digits;

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

/// An integer argument that can be negated, or the error that says so.
pub(crate) fn negatable(text: &[u8]) -> CommandResult<i64> {
    Some(integer(text)?).filter(|&n| n != i64::MIN).ok_or(CommandError::NOT_NEGATABLE)
}

/// A timeout in milliseconds, whose end must be a time that 63 bits can name; 0 mostly stands for no end.
pub(crate) fn timeout_ms(text: &[u8], now_ms: u64) -> CommandResult<u64> {
    let ms = parse_i64(text).ok_or(CommandError::TIMEOUT_NOT_INTEGER)?;
    let ms = u64::try_from(ms).map_err(|_| CommandError::TIMEOUT_NEGATIVE)?;
    if ms > i64::MAX as u64 - now_ms { Err(CommandError::TIMEOUT_OUT_OF_RANGE) } else { Ok(ms) }
}

/// The number of a database, which must be one of `count`.
pub(crate) fn database(text: &[u8], count: usize) -> CommandResult<usize> {
    let db = i32::try_from(integer(text)?).map_err(|_| CommandError::NOT_I32)?;
    usize::try_from(db).ok().filter(|&db| db < count).ok_or(CommandError::DB_OUT_OF_RANGE)
}

/// An integer argument of at least zero, or the error that Redis gives for a negative one.
pub fn positive(text: &[u8]) -> CommandResult<i64> {
    positive_or(text, CommandError::NOT_POSITIVE)
}

/// An integer argument of at least zero, or `error` for whatever else it is.
pub fn positive_or(text: &[u8], error: CommandError) -> CommandResult<i64> {
    parse_i64(text).filter(|&n| n >= 0).ok_or(error)
}

/// A floating-point argument: decimal, `inf`, `infinity`; no blanks, not NaN.
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    let value: f64 = fast_float2::parse(text).ok()?;
    (!value.is_nan()).then_some(value)
}

/// The same, but for numbers too large or too small for a double, which most commands refuse.
pub fn parse_f64_in_range(text: &[u8]) -> Option<f64> {
    let value = parse_f64(text)?;
    let too_large = || value.is_infinite() && !text.iter().any(|byte| byte.eq_ignore_ascii_case(&b'i'));
    let mantissa = || text.iter().take_while(|byte| !byte.eq_ignore_ascii_case(&b'e'));
    let too_small = || value == 0.0 && mantissa().any(|byte| matches!(byte, b'1'..=b'9'));
    (!too_large() && !too_small()).then_some(value)
}

/// The text up to its first zero byte, which is where C ends a string.
pub(crate) fn c_string(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The same at the end of an error, whose line ends are cut.
pub(crate) fn last_word(text: &[u8]) -> &[u8] {
    let text = c_string(text);
    let end = text.iter().rposition(|byte| !b"\r\n".contains(byte));
    &text[..end.map_or(0, |end| end + 1)]
}

/// An unsigned number as `string2ull` of Valkey reads it: what `strtoull` takes in full, but for small negative numbers.
pub(crate) fn parse_u64_of_c(text: &[u8]) -> Option<u64> {
    let text = c_string(text);
    if let Some(number) = parse_i64(text) {
        return u64::try_from(number).ok();
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|byte| !is_space(byte))?;
    let (negative, digits) = match &text[start..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if negative { number.wrapping_neg() } else { number })
}

/// The text of a floating-point number as Valkey writes scores, and numbers of scripts: a whole number up to 2^62 as an
/// integer, else the digits that Grisu2 finds ([`Digits`]), with an exponent where that is shorter by enough.
pub struct ScoreText {
    bytes: [u8; ScoreText::CAPACITY],
    len: usize,
}

impl ScoreText {
    /// Sign, 18 digits, point, exponent; or up to seven zeros after the digits, six before.
    const CAPACITY: usize = 40;
    /// Up to 2^62, whole numbers are written as integers.
    const INTEGER_MAX: f64 = (1_u64 << 62) as f64;

    /// The text of a number.
    pub fn of(value: f64) -> ScoreText {
        let mut text = ScoreText { bytes: [0; Self::CAPACITY], len: 0 };
        if value.is_infinite() || value.is_nan() {
            text.push(if value.is_nan() {
                b"nan"
            } else if value > 0.0 {
                b"inf"
            } else {
                b"-inf"
            });
        } else if value.trunc() == value && value.abs() <= Self::INTEGER_MAX {
            if value == 0.0 && value.is_sign_negative() {
                text.push(b"-");
            }
            text.push(itoa::Buffer::new().format(value as i64).as_bytes());
        } else {
            text.digits(value);
        }
        text
    }

    /// The text without the exception for whole numbers: as DEBUG DIGEST hashes scores.
    pub fn of_digest(value: f64) -> ScoreText {
        if value == 0.0 || value.is_infinite() {
            return ScoreText::of(value);
        }
        let mut text = ScoreText { bytes: [0; Self::CAPACITY], len: 0 };
        text.digits(value);
        text
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn digits(&mut self, value: f64) {
        let digits = Digits::of(value);
        if value < 0.0 {
            self.push(b"-");
        }
        self.place(digits.as_bytes(), digits.exponent());
    }

    /// Writes the digits with the point where the exponent of the first one says.
    fn place(&mut self, digits: &[u8], exponent: i32) {
        let zeros_after = exponent - (digits.len() as i32 - 1);
        match zeros_after {
            0..8 => {
                self.push(digits);
                (0..zeros_after).for_each(|_| self.push(b"0"));
            }
            ..0 if zeros_after > -7 || exponent.abs() < 4 => {
                if exponent < 0 {
                    self.push(b"0.");
                    (exponent..-1).for_each(|_| self.push(b"0"));
                    self.push(digits);
                } else {
                    let (whole, fraction) = digits.split_at(exponent as usize + 1);
                    self.push(whole);
                    self.push(b".");
                    self.push(fraction);
                }
            }
            _ => {
                self.push(&digits[..1]);
                if digits.len() > 1 {
                    self.push(b".");
                    self.push(&digits[1..]);
                }
                self.push(if exponent < 0 { b"e-" } else { b"e+" });
                self.push(itoa::Buffer::new().format(exponent.abs()).as_bytes());
            }
        }
    }
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
    fn unsigned_numbers_as_c_reads_them() {
        for (text, number) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            (" 1", Some(1)),
            ("\t+007", Some(7)),
            ("1\0x", Some(1)),
            ("18446744073709551615", Some(u64::MAX)),
            ("-18446744073709551615", Some(1)),
            ("18446744073709551616", None),
            ("-1", None),
            ("1 ", None),
            ("- 1", None),
            ("", None),
            (" ", None),
            ("0x1", None),
        ] {
            assert_eq!(parse_u64_of_c(text.as_bytes()), number, "{text:?}");
        }
    }

    #[test]
    fn scores_have_the_fewest_digits() {
        let cases = [
            (0.1, "0.1"),
            (1.5, "1.5"),
            (-3.0, "-3"),
            (-0.0, "-0"),
            (1e16, "10000000000000000"),
            (1e17, "100000000000000000"),
            (1.2345678901234567e18, "1234567890123456768"),
            (4_611_686_018_427_387_904.0, "4611686018427387904"),
            (9e18, "9e+18"),
            (1.5e21, "1.5e+21"),
            (1.234_567_890_123e19, "12345678901230000000"),
            (1.234_567_890_123e20, "1.234567890123e+20"),
            (12_345_678_901_234_567_890_123.0, "12345678901234568000000"),
            (0.0001, "0.0001"),
            (0.00001, "0.00001"),
            (1e-7, "1e-7"),
            (1.234e-5, "1.234e-5"),
            (0.012_345_678_901_234_568, "0.012345678901234568"),
            (1_234.567_890_123_456_7, "1234.5678901234567"),
            (12_345.678_901_234_567, "1.2345678901234567e+4"),
            (123_456_789.125, "123456789.125"),
            (1e-300, "1e-300"),
            (-123456.789, "-123456.789"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::from_bits(1), "5e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (12.5e15 + 0.5, "12500000000000000"),
        ];
        for (value, text) in cases {
            assert_eq!(std::str::from_utf8(ScoreText::of(value).as_bytes()), Ok(text));
        }
    }

    #[test]
    fn floats() {
        assert_eq!(parse_f64(b"1e3"), Some(1000.0));
        assert_eq!(parse_f64(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(parse_f64(b"0x10"), None);
        for good in ["0", "-0.0", "0e-400", "5e-324", "1.7e308", "inf", "-Infinity"] {
            assert_eq!(parse_f64_in_range(good.as_bytes()), parse_f64(good.as_bytes()), "{good}");
        }
        for bad in ["1e400", "-1e400", "1e-400", "0.1e-330", "x"] {
            assert_eq!(parse_f64_in_range(bad.as_bytes()), None, "{bad}");
        }
        for bad in ["nan", "", " 1", "1 ", "abc"] {
            assert_eq!(parse_f64(bad.as_bytes()), None, "{bad}");
        }
    }
}
