//! Passwords: only their SHA-256 is kept, as 64 hexadecimal digits.

use crate::text::hex;
use sha2::{Digest, Sha256};

/// Digits of a hash.
const HASH_DIGITS: usize = 64;

/// The hash of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hash(Box<[u8]>);

impl Hash {
    /// Of a password in the clear.
    pub(crate) fn of(password: &[u8]) -> Self {
        let digits = hex::digits(&Sha256::digest(password));
        Hash(digits.into_bytes().into())
    }

    /// Written as digits; `None` if these are no hash.
    pub(crate) fn parse(digits: &[u8]) -> Option<Self> {
        let valid =
            digits.len() == HASH_DIGITS && digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        valid.then(|| Hash(digits.into()))
    }

    /// The digits.
    pub(crate) fn digits(&self) -> &[u8] {
        &self.0
    }

    /// Whether both are the same, in a time that does not depend on where they differ.
    pub(crate) fn equals(&self, other: &Hash) -> bool {
        self.0.iter().zip(&other.0).fold(0, |differences, (x, y)| differences | (x ^ y)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes() {
        let hash = Hash::of(b"x");
        assert_eq!(hash.digits(), b"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
        assert_eq!(Hash::parse(hash.digits()), Some(hash.clone()));
        assert!(hash.equals(&Hash::of(b"x")) && !hash.equals(&Hash::of(b"y")));
        assert_eq!(Hash::parse(&hash.digits()[1..]), None);
        assert_eq!(Hash::parse(&hash.digits().to_ascii_uppercase()), None);
    }
}
