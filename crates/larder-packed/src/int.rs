//! Integers as text: which byte strings are canonical 64-bit integers, and how one is written back.
//!
//! Canonical means that printing the number gives the same bytes: no leading zeros, no `+`, no `-0`, no spaces.

/// Longest text of an `i64`: `-9223372036854775808`.
pub const TEXT_LEN_MAX: usize = 20;

/// The number that `text` is the canonical decimal form of, if it is one.
#[inline]
pub fn parse(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() < TEXT_LEN_MAX => {}
        _ => return None,
    }
    let mut value: u64 = 0;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// Calls `f` with the decimal text of `value`.
#[inline]
pub fn with_text<R>(value: i64, f: impl FnOnce(&[u8]) -> R) -> R {
    f(itoa::Buffer::new().format(value).as_bytes())
}

/// Bytes of the decimal text of `value`.
#[inline]
pub fn text_len(value: i64) -> usize {
    // Zero has a digit as well; no other number gets another one by its lowest bit.
    let size = value.unsigned_abs() | 1;
    let bits = u64::BITS - size.leading_zeros();
    // The logarithm of 2 is a little more than 1233 / 4096: this is the number of digits or one less.
    let digits = ((bits * 1233) >> 12) as usize;
    digits + usize::from(size >= POWERS[digits]) + usize::from(value < 0)
}

/// The powers of ten.
const POWERS: [u64; TEXT_LEN_MAX] = {
    let (mut powers, mut at) = ([1; TEXT_LEN_MAX], 1);
    while at < TEXT_LEN_MAX {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_texts_around_all_powers() {
        let powers = (0..19).map(|n| 10_i64.pow(n)).chain((0..63).map(|n| 1 << n));
        for value in
            powers.flat_map(|power| [power - 1, power, power + 1, i64::MAX - power, i64::MIN + power])
        {
            for value in [value, -value] {
                assert_eq!(text_len(value), value.to_string().len(), "{value}");
            }
        }
    }

    #[test]
    fn only_canonical_text_is_an_integer() {
        for value in [0, 1, -1, 9, 10, -10, i64::MAX, i64::MIN, 1 << 32] {
            let text = value.to_string();
            assert_eq!(parse(text.as_bytes()), Some(value));
            assert_eq!(text_len(value), text.len());
            with_text(value, |t| assert_eq!(t, text.as_bytes()));
        }
        let not = [
            "",
            "-",
            "+1",
            "01",
            "-0",
            "00",
            " 1",
            "1 ",
            "1.0",
            "9223372036854775808",
            "-9223372036854775809",
        ];
        let more = ["99999999999999999999", "18446744073709551616", "1e5", "--1", "0x1", "-01"];
        for text in not.iter().chain(&more) {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
