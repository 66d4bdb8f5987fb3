//! Lengths of strings, which two encodings write as differences in blocks: how many there are is for the head of the lengths to say, and a
//! decoder that believes it takes memory for all of them. Here they are counted and added up first, in no memory.
//!
//! ```text
//!  values in a block | parts of a block | values in all | first value | block | block | ..
//!  block:  least difference | a byte a part: bits of its values | values of the parts
//! ```
//! Numbers are of variable length; differences and the first value are in zigzag order.

/// Values that are always allowed, and how many more for each byte: a block of lengths that are all the same takes few bytes.
const VALUES_FLOOR: u64 = 1 << 20;
const VALUES_PER_BYTE: u64 = 32;
/// Values of a block at most.
const BLOCK_MAX: u64 = 1 << 16;
/// Bytes that strings of common prefixes always may have together, and how many more for each byte of the page.
const STRING_BYTES_FLOOR: u64 = 64 << 20;
const STRING_BYTES_PER_BYTE: u64 = 64;

/// What a run of lengths is.
#[derive(Debug, PartialEq, Eq)]
struct Lengths {
    count: u64,
    sum: u64,
    /// Where it ends.
    end: usize,
}

/// Checks the values of a page of `DELTA_LENGTH_BYTE_ARRAY`, at most `values` of them: lengths, then the strings.
pub fn check_lengths(bytes: &[u8], values: u64) -> Result<(), String> {
    let lengths = lengths(bytes, values)?;
    if lengths.sum > (bytes.len() - lengths.end) as u64 {
        return Err("its strings are longer than the page".to_owned());
    }
    Ok(())
}

/// Checks the values of a page of `DELTA_BYTE_ARRAY`, at most `values` of them: lengths of what each string has in common with the one
/// before, lengths of the rest, and these.
pub fn check_prefixes(bytes: &[u8], values: u64) -> Result<(), String> {
    let prefixes = lengths(bytes, values)?;
    let rest = &bytes[prefixes.end..];
    check_lengths(rest, values)?;
    let suffixes = lengths(rest, values)?;
    if prefixes.count != suffixes.count {
        return Err("its strings have different numbers of prefixes and suffixes".to_owned());
    }
    let most = STRING_BYTES_FLOOR + STRING_BYTES_PER_BYTE * bytes.len() as u64;
    if prefixes.sum.saturating_add(suffixes.sum) > most {
        return Err(format!("its strings would take more than {most} bytes"));
    }
    Ok(())
}

/// Reads lengths without keeping them. O(n), and n is bounded by the bytes.
fn lengths(bytes: &[u8], values: u64) -> Result<Lengths, String> {
    let short = || "the lengths of its strings are truncated".to_owned();
    let mut at = 0;
    let mut next = || unsigned(bytes, &mut at).ok_or_else(short);
    let (block, parts, count, first) = (next()?, next()?, next()?, zigzag(next()?));
    if block > BLOCK_MAX || parts == 0 || block % 128 != 0 || block % parts != 0 || block / parts % 32 != 0 {
        return Err("the lengths of its strings are in blocks of an invalid size".to_owned());
    }
    let most = values.min(VALUES_FLOOR + VALUES_PER_BYTE * bytes.len() as u64);
    if count > most {
        return Err(format!("it claims to have {count} strings, more than its bytes can hold"));
    }
    if count == 0 {
        return Ok(Lengths { count, sum: 0, end: at });
    }
    let valid = |length: i64| {
        u64::try_from(length)
            .ok()
            .filter(|&l| l <= i32::MAX as u64)
            .ok_or("the length of a string is invalid")
    };
    let (mut length, mut sum, mut left) = (first, valid(first)?, count - 1);
    while left > 0 {
        let least = zigzag(unsigned(bytes, &mut at).ok_or_else(short)?);
        let widths = bytes.get(at..at + parts as usize).ok_or_else(short)?;
        at += parts as usize;
        for &width in widths {
            if left == 0 {
                break;
            }
            if width > 32 {
                return Err("the lengths of its strings have more than 32 bits".to_owned());
            }
            let in_part = block / parts;
            let size = (u64::from(width) * in_part / 8) as usize;
            // What is not there of the last part has no values.
            let part = bytes.get(at..).ok_or_else(short)?;
            let part = &part[..size.min(part.len())];
            for number in 0..in_part.min(left) {
                let extra = bits(part, number as usize * usize::from(width), width).ok_or_else(short)?;
                length = length.wrapping_add(least).wrapping_add(extra as i64) as i32 as i64;
                sum = sum.saturating_add(valid(length)?);
            }
            left -= in_part.min(left);
            at += size;
        }
    }
    Ok(Lengths { count, sum, end: at.min(bytes.len()) })
}

fn unsigned(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// The number in the `width` bits, at most 32, from bit `start` on.
fn bits(bytes: &[u8], start: usize, width: u8) -> Option<u64> {
    let (from, to) = (start / 8, (start + usize::from(width)).div_ceil(8));
    let mut word = [0; 8];
    let these = bytes.get(from..to)?;
    word[..these.len()].copy_from_slice(these);
    Some((u64::from_le_bytes(word) >> (start % 8)) & ((1 << width) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths in blocks of 128 with one part, each of 8 bits.
    fn packed(lengths: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x80, 1, 1, lengths.len() as u8 & 0x7F, lengths[0] * 2];
        for block in lengths.windows(2).collect::<Vec<_>>().chunks(128) {
            let differences = block.iter().map(|pair| i16::from(pair[1]) - i16::from(pair[0]));
            let least = differences.clone().min().unwrap();
            bytes.extend([((least << 1) ^ (least >> 15)) as u8, 8]);
            let mut part: Vec<u8> = differences.map(|difference| (difference - least) as u8).collect();
            part.resize(128, 0);
            bytes.extend(part);
        }
        bytes
    }

    #[test]
    fn lengths_are_added_up() {
        let bytes = packed(&[3, 1, 4, 1, 5, 9, 2, 6]);
        assert_eq!(lengths(&bytes, 8), Ok(Lengths { count: 8, sum: 31, end: bytes.len() }));
        assert!(lengths(&bytes, 7).is_err());
        for end in 0..bytes.len() {
            let found = lengths(&bytes[..end], 8);
            assert!(found.is_err() || end >= 7 + 7, "{end}");
        }
        assert!(check_lengths(&[&bytes[..], &[0; 31]].concat(), 8).is_ok());
        assert!(check_lengths(&[&bytes[..], &[0; 30]].concat(), 8).is_err());
        let both = [packed(&[0, 2, 1]), packed(&[2, 1, 1]), vec![0; 4]].concat();
        assert_eq!(check_prefixes(&both, 3), Ok(()));
        assert!(check_prefixes(&[packed(&[0, 2]), packed(&[2, 1, 1]), vec![0; 4]].concat(), 3).is_err());
    }

    #[test]
    fn heads_that_lie_are_refused() {
        let head = |block: &[u8], count: &[u8], first: &[u8]| [block, &[1], count, first].concat();
        let many: &[u8] = &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F];
        for bad in [
            head(&[0x80, 1], many, &[0]),
            head(&[0], &[2], &[0, 0, 0]),
            head(many, &[2], &[0, 0, 0]),
            head(&[0x80, 1], &[1], &[1]),
            head(&[0x80, 1], &[2], &[0, 1, 0]),
            head(&[0x80, 1], &[2], &[0, 0, 33]),
            vec![0x80, 1, 0, 1, 0],
        ] {
            assert!(lengths(&bad, u64::MAX).is_err(), "{bad:?}");
        }
        // Blocks without bits: a million strings in few bytes are too many, thousands are not.
        let mut same = head(&[0x80, 0x80, 4], &[0xFF, 0xFF, 3], &[2]);
        same.extend([0, 0]);
        assert_eq!(lengths(&same, u64::MAX).map(|all| all.count), Ok(65535));
        // Each string is the one before.
        let strings = head(&[0x80, 0x80, 4], &[0xFF, 0xFF, 3], &[0xC0, 0x84, 0x3D, 0, 0]);
        assert!(lengths(&strings, u64::MAX).unwrap().sum > STRING_BYTES_FLOOR);
        let suffixes = head(&[0x80, 0x80, 4], &[0xFF, 0xFF, 3], &[0, 0, 0]);
        let error = check_prefixes(&[strings, suffixes].concat(), u64::MAX).unwrap_err();
        assert!(error.contains("would take more than"), "{error}");
    }
}
