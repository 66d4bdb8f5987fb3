//! Decimal numbers as the protocol writes them.

/// A whole decimal number: an optional `-`, no `+`, no leading zeros, no blanks, within `i64`.
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    match digits {
        [] => return None,
        [b'0'] => return (!negative).then_some(0),
        [b'0', ..] => return None,
        _ => {}
    }
    digits.iter().try_fold(0i64, |n, &d| push_digit(n, d, negative))
}

fn push_digit(n: i64, digit: u8, negative: bool) -> Option<i64> {
    let d = i64::from(digit.wrapping_sub(b'0'));
    if d > 9 {
        return None;
    }
    let n = n.checked_mul(10)?;
    if negative { n.checked_sub(d) } else { n.checked_add(d) }
}

/// The length in `$<1 to 4 digits>\r` followed by any byte, and the offset behind it: the header of nearly every
/// argument, without a search. `None` means "look closer", not "wrong".
#[inline]
pub(super) fn short_bulk_header(buf: &[u8]) -> Option<(usize, usize)> {
    let [b'$', rest @ ..] = buf else { return None };
    let mut len = 0;
    for (i, &b) in rest.iter().enumerate().take(5) {
        if b == b'\r' && i > 0 {
            return (i + 1 < rest.len()).then_some((len, i + 3));
        }
        let digit = usize::from(b.wrapping_sub(b'0'));
        if digit > 9 || (i == 1 && len == 0) {
            return None;
        }
        len = len * 10 + digit;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_numbers() {
        for good in ["0", "1", "-1", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(parse(good.as_bytes()), good.parse().ok(), "{good}");
        }
        for bad in
            ["", "-", "-0", "01", "+1", " 1", "1 ", "9223372036854775808", "-9223372036854775809", "1a"]
        {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn short_headers_agree_with_the_long_way() {
        assert_eq!(short_bulk_header(b"$3\r\nabc"), Some((3, 4)));
        assert_eq!(short_bulk_header(b"$9999\r\n"), Some((9999, 7)));
        for unsure in
            [&b"$3\r"[..], b"$\r\n", b"$01\r\n", b"$-1\r\n", b"$12345\r\n", b"+1\r\n", b"$", b"", b"$1"]
        {
            assert_eq!(short_bulk_header(unsure), None, "{unsure:?}");
        }
    }
}
