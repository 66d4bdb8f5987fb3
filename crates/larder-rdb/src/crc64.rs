//! The checksum of RDB files and DUMP payloads: CRC-64 with the polynomial of D. Jones, reflected, starting at zero.

use crc_fast::{CrcAlgorithm, Digest, checksum};

/// A running checksum.
#[derive(Clone)]
pub struct Crc64(Digest);

impl Crc64 {
    /// Of no bytes yet.
    pub fn new() -> Self {
        Crc64(Digest::new(CrcAlgorithm::Crc64Redis))
    }

    /// The checksum of these bytes.
    pub fn of(bytes: &[u8]) -> u64 {
        checksum(CrcAlgorithm::Crc64Redis, bytes)
    }

    /// Takes more bytes in.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of the bytes so far.
    pub fn value(&self) -> u64 {
        self.0.finalize()
    }
}

impl Default for Crc64 {
    fn default() -> Self {
        Crc64::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_format() {
        assert_eq!(Crc64::of(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        let mut pieces = Crc64::new();
        [&b"12"[..], b"", b"3456789"].iter().for_each(|piece| pieces.update(piece));
        assert_eq!(pieces.value(), Crc64::of(b"123456789"));
    }

    #[test]
    fn sums_of_every_length_are_those_of_bit_by_bit() {
        let slowly = |bytes: &[u8]| {
            bytes.iter().fold(0_u64, |sum, &byte| {
                (0..8).fold(sum ^ u64::from(byte), |sum, _| {
                    sum >> 1 ^ if sum & 1 == 1 { 0x95AC_9329_AC4B_C9B5 } else { 0 }
                })
            })
        };
        let bytes: Vec<u8> = (0..1500_u32).map(|i| ((i * i) >> 3) as u8).collect();
        for len in (0..600).chain([1023, 1024, 1025, 1500]) {
            let expected = slowly(&bytes[..len]);
            assert_eq!(Crc64::of(&bytes[..len]), expected, "{len} bytes");
            let mut pieces = Crc64::new();
            bytes[..len].chunks(97).for_each(|piece| pieces.update(piece));
            assert_eq!(pieces.value(), expected, "{len} bytes in pieces");
        }
    }
}
