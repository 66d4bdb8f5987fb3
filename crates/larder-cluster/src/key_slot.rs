//! The hash slot of a key or a shard channel.
//!
//! Four bytes cost lookups in four tables of 512 bytes, which do not wait for each other; a byte at a time each lookup waits for the one before
//! (16 bytes: some 40 ns, against 10). Eight tables would push more out of the cache than they save: keys are short.

use crate::slot_set::SLOTS;

/// The slot of a key: that of its hash tag, which is the part between the first `{` and the next `}` if there is something in it,
/// else that of the whole key. O(length).
pub fn key_slot(key: &[u8]) -> u16 {
    crc16(hash_tag(key).unwrap_or(key)) % SLOTS
}

/// The hash tag of a key, if it has one.
pub fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    if !may_have_brace(key) {
        return None;
    }
    let inner = &key[key.iter().position(|&byte| byte == b'{')? + 1..];
    let end = inner.iter().position(|&byte| byte == b'}')?;
    (end > 0).then(|| &inner[..end])
}

/// Whether an opening brace may be among the bytes: false is certain. Eight bytes are looked at together, which is most keys in two or three
/// steps.
#[inline]
fn may_have_brace(bytes: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A byte is zero where there is a brace; subtracting one from it sets its highest bit, which was not set before.
    let has_brace = |eight: [u8; 8]| {
        let word = u64::from_ne_bytes(eight) ^ (ONES * b'{' as u64);
        word.wrapping_sub(ONES) & !word & (ONES << 7) != 0
    };
    match bytes.last_chunk() {
        Some(&last) => bytes.as_chunks().0.iter().any(|&eight| has_brace(eight)) || has_brace(last),
        None => bytes.contains(&b'{'),
    }
}

/// The slot of all keys that match a pattern of KEYS or SORT, if they are certain to have the same one: nothing stands for several
/// characters before the end of their hash tag. O(length).
pub fn pattern_slot(pattern: &[u8]) -> Option<u16> {
    let mut open = None;
    let mut has_empty_tag = false;
    for (at, byte) in pattern.iter().enumerate() {
        match (byte, open) {
            (b'*' | b'?' | b'[' | b'\\', _) => return None,
            (b'{', None) => open = Some(at),
            (b'}', Some(start)) if at == start + 1 => has_empty_tag = true,
            (b'}', Some(start)) if !has_empty_tag => return Some(crc16(&pattern[start + 1..at]) % SLOTS),
            _ => (),
        }
    }
    Some(crc16(pattern) % SLOTS)
}

/// CRC-16 with the polynomial 0x1021, begun with 0, not reflected: XMODEM's.
pub fn crc16(bytes: &[u8]) -> u16 {
    let (quads, rest) = bytes.as_chunks();
    let crc = quads.iter().fold(0, |crc: u16, &quad| {
        let word = u32::from_be_bytes(quad) ^ u32::from(crc) << 16;
        let entry = |table: usize| TABLES[table][(word >> (8 * table) & 0xFF) as usize];
        entry(3) ^ entry(2) ^ entry(1) ^ entry(0)
    });
    rest.iter().fold(crc, |crc, &byte| crc << 8 ^ TABLES[0][usize::from((crc >> 8) as u8 ^ byte)])
}

/// Of each byte, with as many zeros after it as the place of the table says.
static TABLES: [[u16; 256]; 4] = tables();

const fn tables() -> [[u16; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut at = 0;
    while at < 256 {
        let mut crc = (at as u16) << 8;
        let mut bits = 0;
        while bits < 32 {
            crc = crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
            bits += 1;
            if bits % 8 == 0 {
                tables[bits / 8 - 1][at] = crc;
            }
        }
        at += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_at_a_time_are_four_times_one() {
        let by_bits = |bytes: &[u8]| {
            bytes.iter().fold(0_u16, |crc, &byte| {
                (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
                    crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
                })
            })
        };
        let mut rng = fastrand::Rng::with_seed(5);
        for len in (0..40).chain([1000]) {
            let bytes: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
            assert_eq!(crc16(&bytes), by_bits(&bytes), "{len}");
        }
    }

    #[test]
    fn slots_are_those_of_the_servers() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in [
            ("123456789", 12739),
            ("", 0),
            ("foo", 12182),
            ("{user}.x", 5474),
            ("{}x", 10595),
            ("a{b}{c}", 3300),
        ] {
            assert_eq!(key_slot(key.as_bytes()), slot, "{key}");
        }
    }

    #[test]
    fn a_pattern_has_a_slot_if_all_its_keys_have_it() {
        for (pattern, key) in [
            ("{a}*", Some("a")),
            ("x{a}*?[", Some("a")),
            ("abc", Some("abc")),
            ("{}abc", Some("{}abc")),
            ("{}a{b}", Some("{}a{b}")),
            ("*", None),
            ("*{a}", None),
            ("{a*}", None),
            ("{}a*{b}", None),
            ("\\{a}*", None),
        ] {
            assert_eq!(
                pattern_slot(pattern.as_bytes()),
                key.map(|key| key_slot(key.as_bytes())),
                "{pattern}"
            );
        }
    }

    #[test]
    fn a_brace_is_seen_wherever_it_stands() {
        let mut rng = fastrand::Rng::with_seed(3);
        for len in 0..40 {
            let mut bytes: Vec<u8> = (0..len).map(|_| rng.u8(b'|'..)).collect();
            assert!(!may_have_brace(&bytes));
            for at in 0..len {
                let byte = std::mem::replace(&mut bytes[at], b'{');
                assert!(may_have_brace(&bytes), "{at} of {len}");
                bytes[at] = byte;
            }
        }
    }

    #[test]
    fn a_tag_is_between_the_first_brace_and_the_next() {
        for (key, tag) in [
            ("{a}", Some("a")),
            ("x{a}y{b}", Some("a")),
            ("{a", None),
            ("a}", None),
            ("{}a{b}", None),
            ("{{a}}", Some("{a")),
            ("}{a}", Some("a")),
        ] {
            assert_eq!(hash_tag(key.as_bytes()), tag.map(str::as_bytes), "{key}");
        }
    }
}
