//! The checksum of RDB files and DUMP payloads: CRC-64 with the polynomial of D. Jones, reflected, starting at zero.

use crc::{CRC_64_REDIS, Crc, Table};

static CRC: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// A running checksum.
#[derive(Clone)]
pub struct Crc64(crc::Digest<'static, u64, Table<16>>);

impl Crc64 {
    /// Of no bytes yet.
    pub fn new() -> Self {
        Crc64(CRC.digest())
    }

    /// The checksum of these bytes.
    pub fn of(bytes: &[u8]) -> u64 {
        CRC.checksum(bytes)
    }

    /// Takes more bytes in.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of the bytes so far.
    pub fn value(&self) -> u64 {
        self.0.clone().finalize()
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
}
