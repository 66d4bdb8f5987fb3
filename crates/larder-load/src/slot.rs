//! The slot of a key in a cluster: CRC-16 (XMODEM) of the key, or of what stands between its first braces, if
//! anything does.

/// Number of slots.
pub const SLOTS: usize = 16384;

/// The slot of a key. O(length).
pub fn of_key(key: &[u8]) -> usize {
    let tag = key.iter().position(|&b| b == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&b| b == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    usize::from(crc16(tag.unwrap_or(key))) % SLOTS
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum: u16, &byte| {
        (0..8).fold(sum ^ u16::from(byte) << 8, |sum, _| sum << 1 ^ if sum >> 15 == 1 { 0x1021 } else { 0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(of_key(b"foo"), 12182);
        assert_eq!(of_key(b"{foo}.bar"), of_key(b"foo"));
        assert_eq!(of_key(b"x{foo}{bar}"), of_key(b"foo"));
        assert_ne!(of_key(b"{}foo"), of_key(b"foo"));
    }
}
