//! What clients see of the cursors of scans.
//!
//! A cursor is a position in the order of hashes. Shown as it is, it would tell which members are neighbours, and a client
//! could collect such members until one place of a table is full of them. So clients see a permutation of it, which depends
//! on a secret key: four rounds of a Feistel network over 54 bits. Cursors stay below 2^53, which every client can hold in a
//! double: results that are not are permuted again. 0, which begins and ends a scan, stays 0.

use larder_collections::keyed_hash::{Purpose, keyed_hasher};
use siphasher::sip::SipHasher13;
use std::sync::LazyLock;

/// Cursors are less than this; greater numbers are nobody's and stay as they are.
const END: u64 = 1 << 53;
const HALF_BITS: u32 = 27;
const HALF: u64 = (1 << HALF_BITS) - 1;
const ROUNDS: [u8; 4] = [0, 1, 2, 3];

/// The permutation.
struct Cipher(SipHasher13);

static CIPHER: LazyLock<Cipher> = LazyLock::new(|| Cipher(keyed_hasher(Purpose::Cursors)));

/// What a client is shown of a position. O(1).
pub(crate) fn conceal(position: u64) -> u64 {
    CIPHER.walk(position, Cipher::forward)
}

/// The position that a client was shown so. Every number is the cursor of some position.
pub(crate) fn reveal(cursor: u64) -> u64 {
    CIPHER.walk(cursor, Cipher::backward)
}

impl Cipher {
    fn walk(&self, number: u64, step: impl Fn(&Self, u64) -> u64) -> u64 {
        if number == 0 || number >= END {
            return number;
        }
        let mut number = step(self, number);
        // What 0 would become, or what would become 0, lies in nobody's way: it is passed over.
        while number == 0 || number >= END {
            number = step(self, number);
        }
        number
    }

    fn forward(&self, number: u64) -> u64 {
        let (mut left, mut right) = (number >> HALF_BITS, number & HALF);
        for round in ROUNDS {
            (left, right) = (right, left ^ self.mix(round, right));
        }
        left << HALF_BITS | right
    }

    fn backward(&self, number: u64) -> u64 {
        let (mut left, mut right) = (number >> HALF_BITS, number & HALF);
        for round in ROUNDS.into_iter().rev() {
            (left, right) = (right ^ self.mix(round, left), left);
        }
        left << HALF_BITS | right
    }

    fn mix(&self, round: u8, half: u64) -> u64 {
        self.0.hash(&(half << 8 | u64::from(round)).to_le_bytes()) & HALF
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_concealed_is_revealed() {
        let mut seen = std::collections::HashSet::new();
        let numbers = (0..5000).chain(END - 5000..END + 10).chain([u64::MAX, 1 << 40]);
        for number in numbers {
            let shown = conceal(number);
            assert_eq!(reveal(shown), number);
            assert_eq!(conceal(reveal(number)), number, "every number is a cursor");
            assert!(seen.insert(shown));
            assert_eq!(shown < END, number < END);
            assert_eq!(shown == 0, number == 0);
        }
    }

    #[test]
    fn neighbours_are_not_seen_as_such() {
        let changed: u32 = (1..=1000_u64).map(|n| (conceal(n) ^ conceal(n + 1)).count_ones()).sum();
        let mean = f64::from(changed) / 1000.0;
        assert!((24.0..29.0).contains(&mean), "{mean} of 53 bits differ");
    }
}
