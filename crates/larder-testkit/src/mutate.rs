//! Damage for what decoders read: few changes, so that most of the structure is still there to be believed.

use fastrand::Rng;

/// Bytes that mean something to most formats: ends, marks, the largest and the smallest of their kind.
const TELLING: [u8; 14] = [0, 1, 0x0d, 0x3f, 0x40, 0x7f, 0x80, 0x81, 0xc0, 0xc3, 0xe0, 0xf0, 0xfe, 0xff];
/// Numbers of more bytes than one.
const NUMBERS: [u64; 10] =
    [0, 1, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 30, 1 << 40, i64::MAX as u64, u64::MAX];

/// Changes some bytes in one to four ways; `other` is something of the same kind to take parts from.
pub fn damage(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..rng.usize(1..5) {
        if bytes.is_empty() {
            bytes.push(rng.u8(..));
        }
        change(rng, bytes, other);
    }
}

fn change(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = position(rng, bytes.len());
    let len = rng.usize(1..=16.min(bytes.len() - at));
    match rng.u8(..12) {
        0 | 1 => bytes[at] ^= 1 << rng.u8(..8),
        2 => bytes[at] = rng.u8(..),
        3 | 4 => bytes[at] = TELLING[rng.usize(..TELLING.len())],
        5 => bytes[at] = bytes[at].wrapping_add(if rng.bool() { 1 } else { 255 }),
        6 => overwrite(bytes, at, &number(rng)),
        7 => {
            // A length of eight bytes in place of one, as RDB files write it.
            let long = [&[0x81][..], &NUMBERS[rng.usize(..NUMBERS.len())].to_be_bytes()].concat();
            drop(bytes.splice(at..=at, long));
        }
        8 => drop(bytes.drain(at..at + len)),
        9 => {
            let part = bytes[at..at + len].to_vec();
            drop(bytes.splice(at..at, part));
        }
        10 if !other.is_empty() => {
            let from = rng.usize(..other.len());
            let part = &other[from..other.len().min(from + rng.usize(1..64))];
            overwrite(bytes, at, part);
        }
        _ => bytes.truncate(at.max(1)),
    }
}

/// Most often near the start, where the counts stand.
fn position(rng: &mut Rng, len: usize) -> usize {
    let end = if rng.bool() { len.min(40) } else { len };
    rng.usize(..end)
}

fn number(rng: &mut Rng) -> Vec<u8> {
    let number = NUMBERS[rng.usize(..NUMBERS.len())];
    let width = [2, 4, 8][rng.usize(..3)];
    if rng.bool() {
        number.to_le_bytes()[..width].to_vec()
    } else {
        number.to_be_bytes()[8 - width..].to_vec()
    }
}

fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    let len = with.len().min(bytes.len() - at);
    bytes[at..at + len].copy_from_slice(&with[..len]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_differs_and_is_repeatable() {
        let good: Vec<u8> = (0..200).collect();
        let damaged = |seed: u64| {
            let mut bytes = good.clone();
            damage(&mut Rng::with_seed(seed), &mut bytes, &[7; 50]);
            bytes
        };
        assert!((0..1000).filter(|&seed| damaged(seed) != good).count() > 950);
        assert!((0..1000).all(|seed| damaged(seed) == damaged(seed)));
    }
}
