//! Bytes as hexadecimal digits.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Two lower-case digits a byte.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|&byte| pair(byte)).map(char::from).collect()
}

/// The same of a digest, without an allocation. The array is twice as long as the bytes.
pub(crate) fn digits_of<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut text = [0; N];
    assert_eq!(N, 2 * bytes.len(), "two digits a byte");
    for (to, &byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *to = pair(byte);
    }
    text
}

fn pair(byte: u8) -> [u8; 2] {
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        for byte in 0..=u8::MAX {
            let text = format!("{byte:02x}");
            assert_eq!(digits(&[byte]), text);
            assert_eq!(&digits_of::<2>(&[byte]), text.as_bytes());
        }
        assert_eq!(digits(b"\x00\xff"), "00ff");
    }
}
