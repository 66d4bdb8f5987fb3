//! The zipmap: what small hashes were until Redis 2.6.
//!
//! ```text
//!  count u8 | ( length | field | length | free u8 | value | free bytes )* | 0xFF
//!  length: one byte below 254, or 254 and a u32 that is not below 254, little endian; count 254: walk to know
//! ```

use crate::error::{Error, Result};

const END: u8 = 0xFF;
const COUNT_UNKNOWN: u8 = 254;
/// The first length that takes five bytes.
const LONG_MIN: usize = 254;
const DAMAGED: Error = Error::Damaged("not a zipmap");

/// A field and its value.
pub type Pair<'a> = [&'a [u8]; 2];

/// The pairs of a zipmap, all of its bytes checked.
pub fn pairs(bytes: &[u8]) -> Result<Vec<Pair<'_>>> {
    let (&promised, mut rest) = bytes.split_first().ok_or(DAMAGED)?;
    let mut pairs = Vec::new();
    while rest != [END] {
        let field_len = length(&mut rest)?;
        let field = take(&mut rest, field_len)?;
        let value_len = length(&mut rest)?;
        let free = usize::from(take(&mut rest, 1)?[0]);
        let value = take(&mut rest, value_len)?;
        take(&mut rest, free)?;
        pairs.push([field, value]);
    }
    let is_right = promised == COUNT_UNKNOWN || usize::from(promised) == pairs.len();
    if is_right { Ok(pairs) } else { Err(DAMAGED) }
}

fn length(rest: &mut &[u8]) -> Result<usize> {
    match take(rest, 1)?[0] {
        END => Err(DAMAGED),
        254 => {
            let (bytes, after) = rest.split_first_chunk::<4>().ok_or(DAMAGED)?;
            *rest = after;
            let len = u32::from_le_bytes(*bytes) as usize;
            if len >= LONG_MIN { Ok(len) } else { Err(DAMAGED) }
        }
        len => Ok(usize::from(len)),
    }
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (bytes, after) = rest.split_at_checked(len).ok_or(DAMAGED)?;
    *rest = after;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &[u8] = b"\x02\x03foo\x03\x00bar\x05hello\x05\x02world..\xFF";

    #[test]
    fn lengths_and_counts_have_one_form() {
        let long = [b"\x01\xFE\xFE\x00\x00\x00", &[b'x'; 254][..], b"\x01\x00v\xFF"].concat();
        assert_eq!(pairs(&long).unwrap(), [[&[b'x'; 254][..], b"v"]]);
        assert!(pairs(b"\x01\xFE\x03\x00\x00\x00foo\x01\x00v\xFF").is_err());
        for count in 0..=255 {
            let bytes = [&[count], &GOOD[1..]].concat();
            assert_eq!(pairs(&bytes).is_ok(), matches!(count, 2 | COUNT_UNKNOWN), "count {count}");
        }
    }

    #[test]
    fn pairs_with_free_bytes_between() {
        assert_eq!(pairs(GOOD).unwrap(), [[&b"foo"[..], b"bar"], [b"hello", b"world"]]);
        assert!(pairs(b"\x00\xFF").unwrap().is_empty());
    }

    #[test]
    fn damage_is_an_error() {
        for len in 0..GOOD.len() {
            assert!(pairs(&GOOD[..len]).is_err(), "cut to {len}");
        }
        for at in 0..GOOD.len() {
            let mut bad = GOOD.to_vec();
            bad[at] ^= 0x55;
            let _ = pairs(&bad);
        }
    }
}
