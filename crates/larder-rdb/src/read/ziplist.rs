//! The ziplist: what small lists, hashes and sorted sets were until Redis 7.
//!
//! ```text
//!  bytes u32 | tail u32 | count u16 | entry .. | 0xFF                     all little endian; count 65535: walk to know
//!                                                                         tail: where the last entry begins
//!  entry  previous length (1 byte below 254, or 254 and a u32) | encoding | content
//!  encoding  00llllll               string of l bytes
//!            01llllll llllllll      string, length big endian
//!            10000000 u32           string, length big endian
//!            11000000 / 11010000 / 11100000 / 11110000 / 11111110         i16, i32, i64, i24, i8 follow
//!            1111vvvv               v - 1, for v in 1..=13
//! ```

use crate::error::{Error, Result};
use larder_packed::block::Element;

const HEADER_BYTES: usize = 10;
const END: u8 = 0xFF;
const COUNT_UNKNOWN: u16 = u16::MAX;

const DAMAGED: Error = Error::Damaged("not a ziplist");

/// The entries of a ziplist, all of its bytes checked.
pub fn entries(bytes: &[u8]) -> Result<Vec<Element<'_>>> {
    let (header, mut rest) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(DAMAGED)?;
    let [a, b, c, d, e, f, g, h, low, high] = *header;
    if u32::from_le_bytes([a, b, c, d]) as usize != bytes.len() {
        return Err(DAMAGED);
    }
    let (tail, promised) = (u32::from_le_bytes([e, f, g, h]) as usize, u16::from_le_bytes([low, high]));
    let (mut entries, mut previous) = (Vec::new(), 0);
    loop {
        match rest {
            [END] => break,
            [] => return Err(DAMAGED),
            _ => {}
        }
        let before = rest.len();
        entries.push(entry(&mut rest, previous)?);
        previous = before - rest.len();
    }
    if promised != COUNT_UNKNOWN && usize::from(promised) != entries.len() {
        return Err(DAMAGED);
    }
    if !entries.is_empty() && tail != bytes.len() - 1 - previous {
        return Err(DAMAGED);
    }
    Ok(entries)
}

fn entry<'a>(rest: &mut &'a [u8], previous: usize) -> Result<Element<'a>> {
    let stated = match take::<1>(rest)? {
        [254] => u32::from_le_bytes(take(rest)?) as usize,
        [len] => usize::from(len),
    };
    if stated != previous {
        return Err(DAMAGED);
    }
    let [encoding] = take(rest)?;
    Ok(match encoding {
        0x00..=0x3F => string(rest, usize::from(encoding))?,
        0x40..=0x7F => {
            let [low] = take(rest)?;
            string(rest, usize::from(encoding & 0x3F) << 8 | usize::from(low))?
        }
        0x80 => {
            let len = u32::from_be_bytes(take(rest)?) as usize;
            string(rest, len)?
        }
        0xC0 => Element::Int(i64::from(i16::from_le_bytes(take(rest)?))),
        0xD0 => Element::Int(i64::from(i32::from_le_bytes(take(rest)?))),
        0xE0 => Element::Int(i64::from_le_bytes(take(rest)?)),
        0xF0 => {
            let [a, b, c] = take(rest)?;
            Element::Int(i64::from(i32::from_le_bytes([0, a, b, c]) >> 8))
        }
        0xFE => Element::Int(i64::from(i8::from_le_bytes(take(rest)?))),
        0xF1..=0xFD => Element::Int(i64::from(encoding & 0x0F) - 1),
        _ => return Err(DAMAGED),
    })
}

fn string<'a>(rest: &mut &'a [u8], len: usize) -> Result<Element<'a>> {
    let (bytes, after) = rest.split_at_checked(len).ok_or(DAMAGED)?;
    *rest = after;
    Ok(Element::Bytes(bytes))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (bytes, after) = rest.split_first_chunk::<N>().ok_or(DAMAGED)?;
    *rest = after;
    Ok(*bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A ziplist of these entries, each given as encoding and content.
    pub(crate) fn ziplist(entries: &[&[u8]]) -> Vec<u8> {
        let (mut body, mut previous) = (Vec::new(), 0);
        for entry in entries {
            let start = body.len();
            if previous < 254 {
                body.push(previous as u8);
            } else {
                body.push(254);
                body.extend_from_slice(&(previous as u32).to_le_bytes());
            }
            body.extend_from_slice(entry);
            previous = body.len() - start;
        }
        body.push(END);
        let mut all = ((HEADER_BYTES + body.len()) as u32).to_le_bytes().to_vec();
        all.extend_from_slice(&((HEADER_BYTES + body.len() - 1 - previous) as u32).to_le_bytes());
        all.extend_from_slice(&(entries.len() as u16).to_le_bytes());
        all.extend_from_slice(&body);
        all
    }

    #[test]
    fn entries_of_every_encoding() {
        let long = [&[0x41, 0x2C][..], &[b'x'; 300]].concat();
        let huge = [&[0x80, 0, 0, 0, 3][..], b"abc"].concat();
        let bytes = ziplist(&[
            b"\x02hi",
            &long,
            &huge,
            &[0xC0, 0xFF, 0xFF],
            &[0xD0, 0, 0, 0, 0x80],
            &[0xE0, 1, 0, 0, 0, 0, 0, 0, 0],
            &[0xF0, 0xFF, 0xFF, 0xFF],
            &[0xFE, 0x80],
            &[0xF1],
            &[0xFD],
        ]);
        use Element::{Bytes, Int};
        let expected = [
            Bytes(b"hi"),
            Bytes(&[b'x'; 300]),
            Bytes(b"abc"),
            Int(-1),
            Int(i64::from(i32::MIN)),
            Int(1),
            Int(-1),
            Int(-128),
            Int(0),
            Int(12),
        ];
        assert_eq!(entries(&bytes).unwrap(), expected);
    }

    #[test]
    fn the_tail_is_the_last_entry() {
        let good = ziplist(&[b"\x02hi", &[0xF5], b"\x03abc"]);
        for tail in 0..30_u32 {
            let mut other = good.clone();
            other[4..8].copy_from_slice(&tail.to_le_bytes());
            assert_eq!(entries(&other).is_ok(), other == good, "tail {tail}");
        }
        assert!(entries(&ziplist(&[])).unwrap().is_empty());
    }

    #[test]
    fn damage_is_an_error() {
        let good = ziplist(&[b"\x02hi", &[0xF5], b"\x03abc"]);
        assert_eq!(entries(&good).unwrap().len(), 3);
        for len in 0..good.len() {
            assert!(entries(&good[..len]).is_err(), "cut to {len}");
        }
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                let _ = entries(&bad);
            }
        }
    }
}
