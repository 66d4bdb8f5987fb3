//! The intset: a small set of integers.
//!
//! ```text
//!  width u32 (2, 4 or 8) | count u32 | integers, rising                   all little endian
//! ```

use crate::error::{Error, Result};

const DAMAGED: Error = Error::Damaged("not an intset");

/// The integers of an intset, in rising order.
pub fn integers(bytes: &[u8]) -> Result<Vec<i64>> {
    let (header, body) = bytes.split_first_chunk::<8>().ok_or(DAMAGED)?;
    let [a, b, c, d, e, f, g, h] = *header;
    let (width, count) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    let integers: Vec<i64> = match width {
        2 => body.as_chunks().0.iter().map(|x| i64::from(i16::from_le_bytes(*x))).collect(),
        4 => body.as_chunks().0.iter().map(|x| i64::from(i32::from_le_bytes(*x))).collect(),
        8 => body.as_chunks().0.iter().map(|x| i64::from_le_bytes(*x)).collect(),
        _ => return Err(DAMAGED),
    };
    let sound =
        body.len() as u64 == u64::from(width) * u64::from(count) && integers.is_sorted_by(|a, b| a < b);
    if sound { Ok(integers) } else { Err(DAMAGED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intset(width: u32, count: u32, body: &[u8]) -> Vec<u8> {
        [&width.to_le_bytes()[..], &count.to_le_bytes(), body].concat()
    }

    #[test]
    fn integers_of_each_width() {
        assert_eq!(integers(&intset(2, 2, &[0xFF, 0xFF, 5, 0])).unwrap(), [-1, 5]);
        assert_eq!(integers(&intset(4, 1, &[0, 0, 1, 0])).unwrap(), [65536]);
        assert_eq!(integers(&intset(8, 1, &i64::MIN.to_le_bytes())).unwrap(), [i64::MIN]);
        assert_eq!(integers(&intset(2, 0, &[])).unwrap(), []);
    }

    #[test]
    fn damage_is_an_error() {
        assert!(integers(&intset(3, 1, &[0, 0, 0])).is_err());
        assert!(integers(&intset(2, 2, &[0, 0])).is_err());
        assert!(integers(&intset(2, u32::MAX, &[0, 0])).is_err());
        assert!(integers(&intset(2, 2, &[5, 0, 5, 0])).is_err(), "twice the same");
        assert!(integers(&[2, 0, 0]).is_err());
    }
}
