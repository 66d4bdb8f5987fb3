//! Combining whole strings into a new one, in one pass over memory.
//!
//! What costs here is memory and not the processor: a megabyte that is written passes through the caches, throws the
//! sources out of them, and what it replaces is fetched before. Therefore long results are written past the
//! caches: 71 us for two strings of 1 MB, against 92 us through them. Of more than two sources all but the
//! last come together in a buffer that stays in the first cache.
//!
//! ```text
//!   sources  |.......|.......|.......|.......|      pieces of 8 KB, the first one shorter: then
//!                |       |       |       |          each begins on a line of the processor's caches
//!   result   |   p0  |   p1  |   p2  |   p3  |
//! ```
//!
//! Invariant: every byte of the result is written once, from what the sources have there; what a source lacks counts as
//! zeros. Tested at the foot of this file against single bytes.

use super::wide::{self, Operator};
use crate::bytes::SharedBytes;
use std::mem::MaybeUninit;

/// Bytes of the result that are made at a time.
const PIECE: usize = 8 << 10;
/// Results of this many bytes are written past the caches; shorter ones may find room there beside two sources (512 KB of
/// each: 17 us through the caches, 25 us past them), and are there when they are read next. Tests need not be that long.
const PAST_CACHES_MIN: usize = if cfg!(test) { 64 << 10 } else { 1 << 20 };
/// Bytes that the caches keep together.
const LINE: usize = 64;

/// Makes `result` the combination of all sources, as long as the longest; the others count as followed by zeros. What it
/// holds before is lost; its memory is used again if that suffices and is not shared. O(bytes of all).
pub fn combine_all(op: Operator, result: &mut SharedBytes, sources: &[&[u8]]) {
    let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
    let mut buffers = [[0; PIECE]; 2];
    let [first_buffer, last_buffer] = &mut buffers;
    fill(result, len, |start, piece| {
        let n = piece.len();
        let part = |source: &[u8]| start.min(source.len())..(start + n).min(source.len());
        match sources {
            [] => unreachable!("no sources, no pieces"),
            [only] => piece.write_copy_of(&only[part(only)]),
            [first, last] => {
                let first = padded(&first[part(first)], &mut first_buffer[..n]);
                piece.write(op, first, padded(&last[part(last)], &mut last_buffer[..n]));
            }
            [first, others @ .., last] => {
                let (head, rest) = first_buffer[..n].split_at_mut(part(first).len());
                head.copy_from_slice(&first[part(first)]);
                rest.fill(0);
                others.iter().for_each(|s| wide::combine(op, &mut first_buffer[..n], &s[part(s)]));
                piece.write(op, &first_buffer[..n], padded(&last[part(last)], &mut last_buffer[..n]));
            }
        }
    });
}

/// Makes `result` the source with every bit turned over, as [`combine_all`] does. O(bytes).
pub fn invert_all(result: &mut SharedBytes, source: &[u8]) {
    let ones = [0xFF; PIECE];
    fill(result, source.len(), |start, piece| {
        let n = piece.len();
        piece.write(Operator::Xor, &source[start..start + n], &ones[..n]);
    });
}

/// A part of the result, to be written as a whole.
struct Piece<'a> {
    bytes: &'a mut [MaybeUninit<u8>],
    past_caches: bool,
    is_written: &'a mut bool,
}

impl Piece<'_> {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes `a op b`, which are as long as the piece.
    fn write(self, op: Operator, a: &[u8], b: &[u8]) {
        assert!(a.len() == self.bytes.len() && b.len() == self.bytes.len(), "all of the piece is written");
        if self.past_caches {
            write_past_caches(op, self.bytes, a, b);
        } else {
            wide::write(op, self.bytes, a, b);
        }
        *self.is_written = true;
    }

    fn write_copy_of(self, source: &[u8]) {
        assert!(source.len() == self.bytes.len(), "all of the piece is written");
        self.bytes.iter_mut().zip(source).for_each(|(to, byte)| _ = to.write(*byte));
        *self.is_written = true;
    }
}

/// Calls `write` for all pieces of a result, with their offsets.
fn fill(result: &mut SharedBytes, len: usize, mut write: impl FnMut(usize, Piece<'_>)) {
    let past_caches = len >= PAST_CACHES_MIN;
    // SAFETY: the pieces are all of `bytes`, and each one is written from its first to its last byte: that is what
    // setting `is_written` means.
    unsafe {
        result.overwrite(len, |mut bytes| {
            let mut start = 0;
            while !bytes.is_empty() {
                let ahead = bytes.as_ptr().align_offset(LINE);
                let end = bytes.len().min(if ahead == 0 { PIECE } else { PIECE - LINE + ahead });
                let (piece, rest) = bytes.split_at_mut(end);
                let mut is_written = false;
                write(start, Piece { bytes: piece, past_caches, is_written: &mut is_written });
                assert!(is_written, "a piece was left out");
                (start, bytes) = (start + end, rest);
            }
            if past_caches {
                fence();
            }
        });
    }
}

/// The part of a source that belongs to a piece, in the buffer with zeros after if it is shorter than that.
fn padded<'a>(part: &'a [u8], buffer: &'a mut [u8]) -> &'a [u8] {
    if part.len() == buffer.len() {
        return part;
    }
    buffer[..part.len()].copy_from_slice(part);
    buffer[part.len()..].fill(0);
    buffer
}

/// Writes `a op b` with stores that go straight to memory, whole lines at a time.
#[cfg(target_arch = "x86_64")]
fn write_past_caches(op: Operator, result: &mut [MaybeUninit<u8>], a: &[u8], b: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_and_si128, _mm_or_si128, _mm_xor_si128};

    #[inline(always)]
    fn lines(
        op: impl Fn(__m128i, __m128i) -> __m128i,
        lines: &mut [[MaybeUninit<u8>; LINE]],
        a: &[[u8; LINE]],
        b: &[[u8; LINE]],
    ) {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
        const VECTOR: usize = size_of::<__m128i>();
        for ((line, a), b) in lines.iter_mut().zip(a).zip(b) {
            for at in (0..LINE).step_by(VECTOR) {
                // SAFETY: all three have 64 bytes, of which these are 16; the caller has aligned the line to 64. Every
                // x86-64 processor has these instructions. They are ordered by `fence`.
                unsafe {
                    let a = _mm_loadu_si128(a.as_ptr().add(at).cast());
                    let b = _mm_loadu_si128(b.as_ptr().add(at).cast());
                    _mm_stream_si128(line.as_mut_ptr().add(at).cast(), op(a, b));
                }
            }
        }
    }

    let head = result.as_ptr().align_offset(LINE).min(result.len());
    let (result_head, result) = result.split_at_mut(head);
    let ((a_head, a), (b_head, b)) = (a.split_at(head), b.split_at(head));
    wide::write(op, result_head, a_head, b_head);
    let (whole, rest) = result.as_chunks_mut::<LINE>();
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LINE>(), b.as_chunks::<LINE>());
    debug_assert!(whole.as_ptr().cast::<u8>().align_offset(LINE) == 0 || whole.is_empty());
    match op {
        // SAFETY: every x86-64 processor has this instruction.
        Operator::And => lines(|a, b| unsafe { _mm_and_si128(a, b) }, whole, a, b),
        // SAFETY: as above.
        Operator::Or => lines(|a, b| unsafe { _mm_or_si128(a, b) }, whole, a, b),
        // SAFETY: as above.
        Operator::Xor => lines(|a, b| unsafe { _mm_xor_si128(a, b) }, whole, a, b),
    }
    wide::write(op, rest, a_rest, b_rest);
}

#[cfg(not(target_arch = "x86_64"))]
fn write_past_caches(op: Operator, result: &mut [MaybeUninit<u8>], a: &[u8], b: &[u8]) {
    wide::write(op, result, a, b);
}

/// Lets nobody see what is written later before what was written past the caches.
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(source: &[u8], i: usize) -> u8 {
        source.get(i).copied().unwrap_or(0)
    }

    fn random(rng: &mut fastrand::Rng, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        rng.fill(&mut bytes);
        bytes
    }

    #[test]
    fn strings_of_all_lengths_against_single_bytes() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut result = SharedBytes::new(b"old");
        for round in 0..300 {
            let longest = [10, 100, 3 * PIECE, PAST_CACHES_MIN + 2 * PIECE][round % 4];
            let count = rng.usize(..5);
            let sources: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    let len = if rng.bool() { longest } else { rng.usize(..=longest) };
                    random(&mut rng, len)
                })
                .collect();
            let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
            let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
            // A result that is shared, one that is too short, one that fits.
            let kept = rng.bool().then(|| (result.clone(), result.to_vec()));
            let op = [Operator::And, Operator::Or, Operator::Xor][rng.usize(..3)];
            let fold = |a, b| match op {
                Operator::And => a & b,
                Operator::Or => a | b,
                Operator::Xor => a ^ b,
            };
            combine_all(op, &mut result, &sources);
            let want = (0..len).map(|i| sources.iter().map(|s| at(s, i)).reduce(fold).unwrap_or(0));
            assert!(result.len() == len && result.iter().copied().eq(want), "{op:?} {count} {len}");
            assert!(kept.is_none_or(|(shared, bytes)| shared[..] == bytes[..]));
            if let Some(source) = sources.first() {
                invert_all(&mut result, source);
                assert!(result.iter().copied().eq(source.iter().map(|byte| !byte)), "{len}");
            }
        }
    }
}
