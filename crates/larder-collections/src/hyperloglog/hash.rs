//! From an element to its register: MurmurHash64A with the seed that everybody's HyperLogLogs use.

use super::layout::{INDEX_BITS, REGISTERS};

const SEED: u64 = 0xadc8_3b19;
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const SHIFT: u32 = 47;

/// The register of an element, and its rank there: 1 + the zeros that the rest of its hash begins with, at most 51.
pub(super) fn register_of(element: &[u8]) -> (usize, u8) {
    let hash = murmur(element);
    // One bit more ends the run of zeros.
    let rest = hash >> INDEX_BITS | 1 << (64 - INDEX_BITS);
    (hash as usize & (REGISTERS - 1), rest.trailing_zeros() as u8 + 1)
}

fn murmur(bytes: &[u8]) -> u64 {
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mut word = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        word = (word ^ word >> SHIFT).wrapping_mul(MULTIPLIER);
        hash = (hash ^ word).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(MULTIPLIER);
    hash ^ hash >> SHIFT
}
