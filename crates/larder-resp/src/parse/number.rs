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

/// The number in `<kind><1 to 4 digits>\r\n`, and the offset after it: the header of nearly every
/// command and argument, without a search. Looks at 7 bytes, so that it needs no more than one check of the bounds: even
/// the shortest argument that is not empty has them. `None` means "look closer", not "wrong".
#[inline]
pub(super) fn short_header(kind: u8, buf: &[u8]) -> Option<(usize, usize)> {
    let head = buf.first_chunk::<7>()?;
    let mut number = usize::from(head[1].wrapping_sub(b'0'));
    if head[0] != kind || number > 9 {
        return None;
    }
    let rest = [head[2], head[3], head[4], head[5]];
    for (at, byte) in rest.into_iter().enumerate() {
        if byte == b'\r' {
            return (head[at + 3] == b'\n').then_some((number, at + 4));
        }
        let digit = usize::from(byte.wrapping_sub(b'0'));
        if digit > 9 || number == 0 {
            return None;
        }
        number = number * 10 + digit;
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
        assert_eq!(short_header(b'$', b"$3\r\nabc"), Some((3, 4)));
        assert_eq!(short_header(b'*', b"*0\r\n*1\r\n"), Some((0, 4)));
        assert_eq!(short_header(b'$', b"$9999\r\n"), Some((9999, 7)));
        for unsure in [
            &b"$3\r"[..],
            b"$\r\nabcdef",
            b"$01\r\nabc",
            b"$00\r\nabc",
            b"$-1\r\nabc",
            b"$12345\r\n",
            b"*1\r\n$1\r\n",
            b"$1",
            b"",
        ] {
            assert_eq!(short_header(b'$', unsure), None, "{unsure:?}");
        }
    }
}
