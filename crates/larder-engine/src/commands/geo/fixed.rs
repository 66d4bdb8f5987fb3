//! Numbers with a fixed count of decimal places, rounded exactly as C's `printf` does.
//!
//! The standard library prints the same digits, from a big number; positions and distances fit 128 bits, which is five
//! times as fast.

use std::io::Write;

/// Longest text: a sign, the 309 digits of the greatest double, a point and the decimals.
const CAPACITY: usize = 336;
/// Most decimal places.
const DECIMALS_MAX: u32 = 17;
/// Numbers below this, times ten to the 17th, fit 128 bits with room to round.
const FAST_BELOW: f64 = 1e15;

/// The text of a number.
pub(super) struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Text {
    /// As `%.<decimals>f`.
    pub fn of(value: f64, decimals: u32) -> Text {
        debug_assert!(decimals <= DECIMALS_MAX);
        let mut text = Text { bytes: [0; CAPACITY], len: 0 };
        if value.abs() < FAST_BELOW {
            text.put_fast(value, decimals);
        } else {
            let mut rest = &mut text.bytes[..];
            // What does not fit is cut off, but everything fits.
            let _ = write!(rest, "{value:.*}", decimals as usize);
            text.len = CAPACITY - rest.len();
        }
        text
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The text without zeros at the end of its decimals, and without a point if there are none left.
    pub fn trimmed(&self) -> &[u8] {
        let text = self.as_bytes();
        if !text.contains(&b'.') {
            return text;
        }
        let end = text.iter().rposition(|&byte| byte != b'0').map_or(0, |last| last + 1);
        let text = &text[..end];
        match text.strip_suffix(b".").unwrap_or(text) {
            b"-0" => b"0",
            text => text,
        }
    }

    fn put_fast(&mut self, value: f64, decimals: u32) {
        let scaled = scaled(value.abs(), decimals);
        let unit = 10_u128.pow(decimals);
        let (whole, mut fraction) = ((scaled / unit) as u64, (scaled % unit) as u64);
        if value.is_sign_negative() {
            self.put(b"-");
        }
        self.put(itoa::Buffer::new().format(whole).as_bytes());
        let mut digits = [b'0'; DECIMALS_MAX as usize + 1];
        for digit in digits[1..=decimals as usize].iter_mut().rev() {
            *digit = b'0' + (fraction % 10) as u8;
            fraction /= 10;
        }
        digits[0] = b'.';
        self.put(&digits[..=decimals as usize]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// `value * 10^decimals`, rounded to the nearest, ties to even. The value is not negative and below [`FAST_BELOW`].
fn scaled(value: f64, decimals: u32) -> u128 {
    const MANTISSA_BITS: u32 = 52;
    let bits = value.to_bits();
    let exponent = (bits >> MANTISSA_BITS) as u32;
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    // A subnormal number is too small to be seen.
    let mantissa = if exponent == 0 { 0 } else { fraction | 1 << MANTISSA_BITS };
    // At most 53 + 57 bits.
    let product = u128::from(mantissa) * 10_u128.pow(decimals);
    // value = mantissa / 2^shift; below 2^50 the shift is positive.
    let shift = 1075 - exponent;
    if shift >= 128 {
        return 0;
    }
    let (whole, rest) = (product >> shift, product & ((1 << shift) - 1));
    let half = 1_u128 << (shift - 1);
    whole + u128::from(rest > half || rest == half && whole & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_as_the_standard_library_prints_them() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut values =
            vec![0.0, -0.0, 0.5, 0.00005, 1.00005, 2.5, 180.0, 1e15, 1e300, 999_999_999_999_999.9, 1e-320];
        for _ in 0..20_000 {
            let magnitude = 10_f64.powf(rng.f64() * 40.0 - 22.0);
            values.push((rng.f64() - 0.5) * magnitude);
            // Ties: few bits after the point.
            values.push(f64::from(rng.i32(..)) / 65_536.0);
        }
        for value in values {
            for decimals in [4, 17] {
                let want = format!("{value:.*}", decimals as usize);
                let text = Text::of(value, decimals);
                assert_eq!(std::str::from_utf8(text.as_bytes()), Ok(&want[..]), "{value:e}");
            }
        }
        let trimmed = |value| String::from_utf8(Text::of(value, 17).trimmed().to_vec()).unwrap();
        assert_eq!(trimmed(13.361_389_338_970_184), "13.36138933897018433");
        assert_eq!((trimmed(2.5), trimmed(100.0), trimmed(-0.0)), ("2.5".into(), "100".into(), "0".into()));
    }
}
