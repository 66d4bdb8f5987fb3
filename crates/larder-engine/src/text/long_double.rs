//! The arithmetic of INCRBYFLOAT: numbers with a 64-bit mantissa, as x86's `long double`, in which Redis computes.
//!
//! With plain doubles 0.1 + 0.2 would print as 0.30000000000000004. Sums and conversions go through big integers and
//! are rounded once, to the nearest, ties to even: slower than the processor's own arithmetic, and the same on every
//! processor.

use num_bigint::{BigInt, BigUint, Sign};
use std::fmt;

const MANTISSA_BITS: u64 = 64;
/// Largest exponent of the leading bit.
const EXPONENT_MAX: i64 = 16383;
/// Smallest weight of the last bit (of a subnormal number).
const LAST_BIT_MIN: i64 = -16445;
/// Decimal exponents beyond this are zero or infinite whatever the digits.
const DECIMAL_EXPONENT_MAX: i64 = 12_000;
/// Longest text taken for a number.
const TEXT_MAX: usize = 5 * 1024;
/// Digits printed after the point.
const FRACTION_DIGITS: u32 = 17;

/// A finite number `mantissa * 2^exponent` with at most 64 bits of mantissa, or an infinity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LongDouble {
    Finite { mantissa: BigInt, exponent: i64 },
    Infinite(Sign),
}

impl LongDouble {
    pub(crate) const ZERO: LongDouble = LongDouble::Finite { mantissa: BigInt::ZERO, exponent: 0 };

    /// Reads what `strtold` reads in full: decimal digits with point and exponent, or an infinity; not NaN.
    pub(crate) fn parse(text: &[u8]) -> Option<LongDouble> {
        if text.is_empty() || text.len() >= TEXT_MAX {
            return None;
        }
        let (negative, rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        if rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"infinity") {
            return Some(LongDouble::Infinite(sign));
        }
        if let [b'0', b'x' | b'X', hexadecimal @ ..] = rest {
            let (digits, exponent) = split(hexadecimal, b'p', 16)?;
            let last_digit = fraction_digits(hexadecimal, b'p') as i64 * 4;
            let is_zero = digits == BigUint::ZERO;
            return Self::in_range(round(sign, digits, exponent - last_digit, false), is_zero);
        }
        let (digits, exponent) = decimal(rest)?;
        let is_zero = digits == BigUint::ZERO;
        Self::in_range(from_decimal(sign, digits, exponent), is_zero)
    }

    /// A number that was read from digits, unless they mean one that is too large, or zero though they do not say so.
    fn in_range(number: LongDouble, is_zero: bool) -> Option<LongDouble> {
        match &number {
            LongDouble::Infinite(_) => None,
            LongDouble::Finite { mantissa, .. } if mantissa.sign() == Sign::NoSign && !is_zero => None,
            LongDouble::Finite { .. } => Some(number),
        }
    }

    /// The rounded product.
    pub(crate) fn times(&self, factor: u32) -> LongDouble {
        match self {
            LongDouble::Finite { mantissa, exponent } => {
                let (sign, magnitude) = (mantissa * factor).into_parts();
                round(sign, magnitude, *exponent, false)
            }
            LongDouble::Infinite(sign) => LongDouble::Infinite(*sign),
        }
    }

    /// The least integer that is not less, or the nearest there is.
    pub(crate) fn ceil(&self) -> i64 {
        let (sign, integer) = match self {
            LongDouble::Infinite(sign) => (*sign, None),
            // Larger than any integer of 64 bits.
            LongDouble::Finite { mantissa, exponent } if *exponent > 64 => (mantissa.sign(), None),
            LongDouble::Finite { mantissa, exponent: up @ 0.. } => (mantissa.sign(), Some(mantissa << *up)),
            LongDouble::Finite { mantissa, exponent: down } => {
                // A shift to the right rounds down.
                (mantissa.sign(), Some(-(-mantissa >> down.unsigned_abs())))
            }
        };
        let nearest = if sign == Sign::Minus { i64::MIN } else { i64::MAX };
        integer.and_then(|integer| i64::try_from(integer).ok()).unwrap_or(nearest)
    }

    /// The rounded sum; `None` when it is not finite.
    pub(crate) fn add(&self, other: &LongDouble) -> Option<LongDouble> {
        let (
            LongDouble::Finite { mantissa: a, exponent: x },
            LongDouble::Finite { mantissa: b, exponent: y },
        ) = (self, other)
        else {
            return None;
        };
        let exponent = *x.min(y);
        let sum = (a.clone() << (x - exponent) as u64) + (b.clone() << (y - exponent) as u64);
        let (sign, magnitude) = sum.into_parts();
        match round(sign, magnitude, exponent, false) {
            LongDouble::Infinite(_) => None,
            finite => Some(finite),
        }
    }
}

/// Splits `12.5e3` into its digits and the power of ten of the last one.
fn decimal(text: &[u8]) -> Option<(BigUint, i64)> {
    let (digits, exponent) = split(text, b'e', 10)?;
    Some((digits, exponent - fraction_digits(text, b'e') as i64))
}

/// The part before the letter of the exponent, and the part from it on.
fn at_exponent(text: &[u8], letter: u8) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|b| b.eq_ignore_ascii_case(&letter)).unwrap_or(text.len()))
}

/// Digits after the point.
fn fraction_digits(text: &[u8], letter: u8) -> usize {
    let (mantissa, _) = at_exponent(text, letter);
    mantissa.iter().rev().position(|&b| b == b'.').unwrap_or(0)
}

/// The digits, as if there were no point, and the exponent as it is written.
fn split(text: &[u8], letter: u8, radix: u32) -> Option<(BigUint, i64)> {
    let (mantissa, exponent) = at_exponent(text, letter);
    let mut digits = mantissa.to_vec();
    if let Some(point) = digits.iter().position(|&b| b == b'.') {
        digits.remove(point);
    }
    if digits.is_empty() || !digits.iter().all(|&b| char::from(b).is_digit(radix)) {
        return None;
    }
    let exponent = match exponent {
        [] => 0,
        [_, rest @ ..] => decimal_exponent(rest)?,
    };
    Some((BigUint::parse_bytes(&digits, radix)?, exponent))
}

fn decimal_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0i64, |n, d| (n * 10 + i64::from(d - b'0')).min(2 * DECIMAL_EXPONENT_MAX));
    Some(if negative { -value } else { value })
}

fn from_decimal(sign: Sign, digits: BigUint, exponent: i64) -> LongDouble {
    if digits == BigUint::ZERO || exponent < -DECIMAL_EXPONENT_MAX {
        return LongDouble::ZERO;
    }
    if exponent > DECIMAL_EXPONENT_MAX {
        return LongDouble::Infinite(sign);
    }
    let power = BigUint::from(10u8).pow(exponent.unsigned_abs() as u32);
    if exponent >= 0 {
        return round(sign, digits * power, 0, false);
    }
    // Enough extra bits that the quotient has more than a mantissa; the remainder only breaks ties.
    let shift = (power.bits() + MANTISSA_BITS + 2).saturating_sub(digits.bits());
    let scaled = digits << shift;
    let (quotient, remainder) = (&scaled / &power, &scaled % &power);
    round(sign, quotient, -(shift as i64), remainder != BigUint::ZERO)
}

/// Rounds `magnitude * 2^exponent` (plus a little, if `sticky`) to a mantissa.
fn round(sign: Sign, magnitude: BigUint, exponent: i64, sticky: bool) -> LongDouble {
    let bits = magnitude.bits() as i64;
    if bits == 0 {
        return LongDouble::ZERO;
    }
    let surplus = (bits - MANTISSA_BITS as i64).max(LAST_BIT_MIN - exponent);
    let (mut magnitude, mut exponent) = (magnitude, exponent);
    if surplus > 0 {
        magnitude = shift_to_even(&magnitude, surplus as u64, sticky);
        exponent += surplus;
    }
    if magnitude.bits() as i64 + exponent - 1 > EXPONENT_MAX {
        return LongDouble::Infinite(sign);
    }
    LongDouble::Finite { mantissa: BigInt::from_biguint(sign, magnitude), exponent }
}

/// `value / 2^shift` to the nearest integer, ties to even unless `sticky` says that there is more.
fn shift_to_even(value: &BigUint, shift: u64, sticky: bool) -> BigUint {
    let quotient = value >> shift;
    let half = value.bit(shift - 1);
    let below = sticky || value.trailing_zeros().is_some_and(|zeros| zeros < shift - 1);
    if half && (below || quotient.bit(0)) { quotient + 1u8 } else { quotient }
}

impl fmt::Display for LongDouble {
    /// Seventeen digits after the point, without the zeros at the end: `%.17Lf` as Redis trims it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LongDouble::Finite { mantissa, exponent } = self else { return f.write_str("inf") };
        let scaled = mantissa.magnitude() * BigUint::from(10u8).pow(FRACTION_DIGITS);
        let scaled = if *exponent >= 0 {
            scaled << *exponent as u64
        } else {
            shift_to_even(&scaled, exponent.unsigned_abs(), false)
        };
        let digits = format!("{:0>1$}", scaled.to_string(), FRACTION_DIGITS as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - FRACTION_DIGITS as usize);
        let fraction = fraction.trim_end_matches('0');
        let zero = whole == "0" && fraction.is_empty();
        let sign = if mantissa.sign() == Sign::Minus && !zero { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(a: &str, b: &str) -> String {
        let parse = |s: &str| LongDouble::parse(s.as_bytes()).unwrap();
        parse(a).add(&parse(b)).map_or("none".to_owned(), |n| n.to_string())
    }

    /// What redis-server 7.0.15 answers on x86-64.
    #[test]
    fn sums_as_in_redis() {
        for (a, b, want) in [
            ("0.1", "0.2", "0.3"),
            ("10.50", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("3", "-3", "0"),
            ("-0.0", "0", "0"),
            ("1", "1e-18", "1"),
            ("1e30", "1", "1000000000000000000024696061952"),
            ("-1.5", "0.25", "-1.25"),
            ("17179869184", "1.5", "17179869185.5"),
            ("1e4932", "1e4932", "none"),
            ("inf", "1", "none"),
        ] {
            assert_eq!(sum(a, b), want, "{a} + {b}");
        }
    }

    #[test]
    fn timeouts_are_rounded_up() {
        for (text, ms) in [
            ("0", 0),
            ("0.001", 1),
            ("0.0011", 2),
            ("1e-400", 1),
            ("0x1p-3", 125),
            ("-0.0001", 0),
            ("-1", -1000),
            ("9223372036854775", 9_223_372_036_854_775_000),
            ("9223372036854775.807", i64::MAX),
            ("1e4000", i64::MAX),
            ("-1e4000", i64::MIN),
            ("inf", i64::MAX),
            ("-inf", i64::MIN),
        ] {
            assert_eq!(LongDouble::parse(text.as_bytes()).map(|n| n.times(1000).ceil()), Some(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_number() {
        for bad in [
            "1e5000",
            "-1e5000",
            "1e-5000",
            "0x1p20000",
            "",
            "nan",
            "abc",
            "1a",
            " 1",
            "1 ",
            "1e",
            "e1",
            ".",
            "1.2.3",
            "--1",
        ] {
            assert_eq!(LongDouble::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
