//! The hash slot of a key or a shard channel.
//!
//! A byte costs a lookup in a table of 512 bytes. Keys are short; a wider table would push more out of the cache than it saves.

use crate::slot_set::SLOTS;

/// The slot of a key: that of its hash tag, which is the part between the first `{` and the next `}` if there is something in it,
/// else that of the whole key. O(length).
pub fn key_slot(key: &[u8]) -> u16 {
    crc16(hash_tag(key).unwrap_or(key)) % SLOTS
}

/// The hash tag of a key, if it has one.
pub fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let inner = &key[key.iter().position(|&byte| byte == b'{')? + 1..];
    let end = inner.iter().position(|&byte| byte == b'}')?;
    (end > 0).then(|| &inner[..end])
}

/// CRC-16 with the polynomial 0x1021, begun with 0, not reflected: XMODEM's.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| crc << 8 ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

static TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = (at as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

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
