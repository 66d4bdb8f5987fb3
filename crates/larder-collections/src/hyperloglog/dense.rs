//! Registers of six bits, lowest bits first: register 0 is the low six bits of byte 0.
//!
//! ```text
//!   byte      0          1          2
//!        +----------+----------+----------+
//!   bits | 11000000 | 22221111 | 33333322 |     the register that each bit belongs to, high bit first
//!        +----------+----------+----------+
//! ```

use super::estimate::Histogram;
use super::layout::REGISTERS;

const MASK: u32 = 63;

/// A register's value.
pub(super) fn get(body: &[u8], index: usize) -> u8 {
    let (byte, shift) = (index * 6 / 8, index * 6 % 8);
    let pair = u32::from(body[byte]) | u32::from(body.get(byte + 1).copied().unwrap_or(0)) << 8;
    (pair >> shift & MASK) as u8
}

/// Raises a register to at least `rank`; true if it was lower.
pub(super) fn raise(body: &mut [u8], index: usize, rank: u8) -> bool {
    if get(body, index) >= rank {
        return false;
    }
    let (byte, shift) = (index * 6 / 8, index * 6 % 8);
    let (mask, bits) = (MASK << shift, u32::from(rank) << shift);
    body[byte] = body[byte] & !mask as u8 | bits as u8;
    if let Some(next) = body.get_mut(byte + 1) {
        *next = *next & !(mask >> 8) as u8 | (bits >> 8) as u8;
    }
    true
}

/// The four registers of three bytes.
#[inline(always)]
fn four(bytes: [u8; 3]) -> [u8; 4] {
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
    std::array::from_fn(|i| (word >> (6 * i) & MASK) as u8)
}

/// How often each value occurs.
pub(super) fn histogram(body: &[u8]) -> Histogram {
    Histogram::of_fours(body.as_chunks::<3>().0.iter().map(|bytes| four(*bytes)))
}

/// Raises these registers to at least the given ones.
pub(super) fn raise_all(body: &mut [u8], registers: &[u8; REGISTERS]) {
    for (bytes, registers) in body.as_chunks_mut::<3>().0.iter_mut().zip(registers.as_chunks::<4>().0) {
        let old = four(*bytes);
        let word = (0..4).fold(0, |word, i| word | u32::from(old[i].max(registers[i])) << (6 * i));
        let [a, b, c, _] = word.to_le_bytes();
        *bytes = [a, b, c];
    }
}

/// Raises `registers` to at least these.
pub(super) fn merge(body: &[u8], registers: &mut [u8; REGISTERS]) {
    for (bytes, registers) in body.as_chunks::<3>().0.iter().zip(registers.as_chunks_mut::<4>().0) {
        for (register, rank) in registers.iter_mut().zip(four(*bytes)) {
            *register = rank.max(*register);
        }
    }
}
