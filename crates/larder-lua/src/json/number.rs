//! Numbers as text: `%.14g` one way, what `strtod` of C takes the other.

use std::io::Write;

/// Appends a number as `%.*g` of C does, with up to 17 significant digits.
pub(super) fn write(out: &mut Vec<u8>, number: f64, precision: usize) {
    if number.is_nan() {
        out.extend_from_slice(if number.is_sign_negative() { b"-nan" } else { b"nan" });
        return;
    }
    if number.is_infinite() {
        out.extend_from_slice(if number < 0.0 { b"-inf" } else { b"inf" });
        return;
    }
    let mut scientific = [0_u8; 32];
    let mut rest = &mut scientific[..];
    // A mantissa of at most 17 digits and an exponent of at most three: it fits.
    let _ = write!(rest, "{number:.*e}", precision - 1);
    let length = 32 - rest.len();
    let text = &scientific[..length];
    let (mantissa, exponent) = match text.iter().position(|byte| *byte == b'e') {
        Some(at) => {
            (&text[..at], std::str::from_utf8(&text[at + 1..]).ok().and_then(|text| text.parse().ok()))
        }
        None => (text, Some(0)),
    };
    let exponent: i32 = exponent.unwrap_or(0);
    let (sign, mantissa) = match mantissa.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, mantissa),
    };
    if sign {
        out.push(b'-');
    }
    let mut digits = [0_u8; 20];
    let mut count = 0;
    for digit in mantissa.iter().filter(|byte| **byte != b'.').take(20) {
        digits[count] = *digit;
        count += 1;
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    place_point(out, &digits[..count], exponent, precision);
}

/// Digits without zeros at their end, the first worth 10^exponent.
fn place_point(out: &mut Vec<u8>, digits: &[u8], exponent: i32, precision: usize) {
    if exponent < -4 || exponent >= precision as i32 {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let _ = write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs());
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exponent - 1) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            out.extend_from_slice(digits);
            out.resize(out.len() + whole - digits.len(), b'0');
        } else {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

/// Appends an integer.
pub(super) fn write_integer(out: &mut Vec<u8>, number: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// The number at the head of a text and how many bytes it takes, as `strtod` finds it: decimal, hexadecimal, infinity or
/// NaN, with a sign.
pub(super) fn read(text: &[u8]) -> Option<(f64, usize)> {
    let signed = matches!(text.first(), Some(b'-' | b'+'));
    let negative = text.first() == Some(&b'-');
    let body = &text[usize::from(signed)..];
    let (number, length) = if starts(body, b"inf") {
        (f64::INFINITY, if starts(body, b"infinity") { 8 } else { 3 })
    } else if starts(body, b"nan") {
        (f64::NAN, 3 + payload(&body[3..]))
    } else if starts(body, b"0x") && hexadecimal(&body[2..]).is_some() {
        let (number, length) = hexadecimal(&body[2..])?;
        (number, length + 2)
    } else {
        decimal(body)?
    };
    Some((if negative { -number } else { number }, length + usize::from(signed)))
}

fn starts(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
}

/// The `(abc)` that may follow `nan`.
fn payload(text: &[u8]) -> usize {
    if text.first() != Some(&b'(') {
        return 0;
    }
    let length = text[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    if text.get(length + 1) == Some(&b')') { length + 2 } else { 0 }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn decimal(text: &[u8]) -> Option<(f64, usize)> {
    let whole = digits(text);
    let mut length = whole;
    let mut fraction = 0;
    if text.get(length) == Some(&b'.') {
        fraction = digits(&text[length + 1..]);
        length += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(text.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(length + 1), Some(b'-' | b'+')));
        let exponent = digits(&text[length + 1 + sign..]);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    if length == whole && whole <= 15 {
        return Some((
            text[..whole].iter().fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0')) as f64,
            whole,
        ));
    }
    // Rust's parser takes what was found, a bare point at the end included, and rounds as C does.
    let number = std::str::from_utf8(&text[..length]).ok()?.parse().ok()?;
    Some((number, length))
}

/// Digits after `0x`, with a point and a binary exponent.
fn hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let mut mantissa: u64 = 0;
    let mut exponent: i64 = 0;
    let mut length = 0;
    let mut seen = false;
    let mut point = false;
    while let Some(&byte) = text.get(length) {
        match char::from(byte).to_digit(16) {
            Some(digit) => {
                seen = true;
                if mantissa >> 60 == 0 {
                    mantissa = mantissa << 4 | u64::from(digit);
                    exponent -= if point { 4 } else { 0 };
                } else {
                    // What no longer fits only decides how the rest is rounded.
                    mantissa |= u64::from(digit != 0);
                    exponent += if point { 0 } else { 4 };
                }
            }
            None if byte == b'.' && !point => point = true,
            None => break,
        }
        length += 1;
    }
    if !seen {
        return None;
    }
    if matches!(text.get(length), Some(b'p' | b'P')) {
        let negative = text.get(length + 1) == Some(&b'-');
        let sign = usize::from(negative || text.get(length + 1) == Some(&b'+'));
        let start = length + 1 + sign;
        let count = digits(&text[start..]);
        if count > 0 {
            let given = text[start..start + count]
                .iter()
                .fold(0_i64, |number, digit| (number * 10 + i64::from(digit - b'0')).min(1 << 40));
            exponent += if negative { -given } else { given };
            length = start + count;
        }
    }
    Some((scaled(mantissa as f64, exponent), length))
}

/// `number` times 2^exponent, in steps that powers of two can express.
fn scaled(mut number: f64, exponent: i64) -> f64 {
    let mut left = exponent.clamp(-3000, 3000) as i32;
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        number *= 2_f64.powi(step);
        left -= step;
    }
    number
}
