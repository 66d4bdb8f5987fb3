//! LZF: the compression inside Redis's dumps, byte-compatible with liblzf's format.
//!
//! ```text
//!  literals   000LLLLL                     then L + 1 bytes as they are                    (1..=32)
//!  copy       LLLooooo            oooooooo L in 1..=6: copy L + 2 bytes from offset + 1 back (3..=8)
//!  copy       111ooooo  llllllll  oooooooo copy l + 9 bytes                                 (9..=264)
//! ```
//!
//! Offsets have 13 bits, so copies reach 8 KB back. The compressor is greedy with one candidate per hash, and looks
//! for no match in the last three bytes. The decompressor checks every length against both buffers. Tested at the foot
//! of this file.

use std::cell::RefCell;

/// The payload is not LZF, or not of the promised size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

const HASH_BITS: u32 = 13;
const OFFSET_MAX: usize = 1 << 13;
const LITERALS_MAX: usize = 32;
const COPY_MAX: usize = 264;
/// Positions have 32 bits, and a table that is shared by strings.
const SOURCE_BYTES_MAX: usize = i32::MAX as usize;

/// Where the three bytes of each hash were seen last. Kept per thread, as clearing it for every string would cost more
/// than compressing a short one: a position counts from `base`, and what is below that is from an earlier string.
struct Seen {
    at: Box<[u32; 1 << HASH_BITS]>,
    base: u32,
}

thread_local! {
    static SEEN: RefCell<Seen> = RefCell::new(Seen { at: Box::new([0; 1 << HASH_BITS]), base: 1 });
}

impl Seen {
    /// Makes the table ready for a string of so many bytes.
    fn begin(&mut self, len: usize) {
        if usize::try_from(u32::MAX - self.base).is_ok_and(|room| room <= len) {
            self.at.fill(0);
            self.base = 1;
        }
    }

    fn end(&mut self, len: usize) {
        self.base += len as u32;
    }

    /// The position before where the first three bytes of `word` were seen, if in this string, and `at` for the next
    /// time.
    #[inline]
    fn swap(&mut self, word: u32, at: usize) -> Option<usize> {
        let before = std::mem::replace(&mut self.at[hash(word)], self.base + at as u32);
        before.checked_sub(self.base).map(|before| before as usize)
    }
}

/// Four bytes from a position on, the first one lowest.
#[inline]
fn word_at(src: &[u8], at: usize) -> Option<u32> {
    src.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Appends the compressed form of `src` to `out` if it takes at most `max` bytes; else, and for more than 2 GB, `out` is
/// left as it was.
pub fn compress(src: &[u8], out: &mut Vec<u8>, max: usize) -> bool {
    if src.len() > SOURCE_BYTES_MAX {
        return false;
    }
    SEEN.with_borrow_mut(|seen| {
        seen.begin(src.len());
        let fits = compress_with(seen, src, out, max);
        seen.end(src.len());
        fits
    })
}

fn compress_with(seen: &mut Seen, src: &[u8], out: &mut Vec<u8>, max: usize) -> bool {
    let start = out.len();
    let (mut at, mut literals) = (0, 0);
    while let Some(word) = word_at(src, at) {
        let candidate = seen.swap(word, at).filter(|&before| at - before <= OFFSET_MAX);
        let same = |&before: &usize| word_at(src, before).is_some_and(|seen| (seen ^ word) << 8 == 0);
        let Some(candidate) = candidate.filter(same) else {
            at += 1;
            continue;
        };
        put_literals(out, &src[literals..at]);
        let len = match_len(src, candidate, at);
        put_copy(out, at - candidate - 1, len);
        at += len;
        literals = at;
        // Of the positions inside the match, only the one before its end is remembered.
        if let Some(word) = word_at(src, at - 2) {
            seen.swap(word, at - 2);
        }
        if out.len() - start > max {
            break;
        }
    }
    if out.len() - start <= max {
        put_literals(out, &src[literals..]);
    }
    let fits = out.len() - start <= max;
    if !fits {
        out.truncate(start);
    }
    fits
}

/// Fills `dst`, exactly, with what `src` decompresses to.
pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Damaged> {
    let (mut at, mut to) = (0, 0);
    while let Some(&control) = src.get(at) {
        at += 1;
        if control < LITERALS_MAX as u8 {
            let len = control as usize + 1;
            let literals = src.get(at..at + len).ok_or(Damaged)?;
            dst.get_mut(to..to + len).ok_or(Damaged)?.copy_from_slice(literals);
            at += len;
            to += len;
            continue;
        }
        let mut len = (control >> 5) as usize + 2;
        if len == 9 {
            len += *src.get(at).ok_or(Damaged)? as usize;
            at += 1;
        }
        let low = *src.get(at).ok_or(Damaged)? as usize;
        at += 1;
        let back = ((control as usize & 0x1f) << 8 | low) + 1;
        copy_back(dst, to, back, len)?;
        to += len;
    }
    if to == dst.len() { Ok(()) } else { Err(Damaged) }
}

fn copy_back(dst: &mut [u8], to: usize, back: usize, len: usize) -> Result<(), Damaged> {
    if back > to || len > dst.len() - to {
        return Err(Damaged);
    }
    let from = to - back;
    if back >= len {
        dst.copy_within(from..from + len, to);
    } else if back == 1 {
        let byte = dst[from];
        dst[to..to + len].fill(byte);
    } else {
        // The ranges overlap: the copy repeats what it has just written.
        for i in 0..len {
            dst[to + i] = dst[from + i];
        }
    }
    Ok(())
}

fn put_literals(out: &mut Vec<u8>, literals: &[u8]) {
    for run in literals.chunks(LITERALS_MAX) {
        out.push(run.len() as u8 - 1);
        out.extend_from_slice(run);
    }
}

fn put_copy(out: &mut Vec<u8>, offset: usize, len: usize) {
    let len = len - 2;
    let high = (offset >> 8) as u8;
    if len < 7 {
        out.push((len as u8) << 5 | high);
    } else {
        out.push(7 << 5 | high);
        out.push((len - 7) as u8);
    }
    out.push(offset as u8);
}

fn match_len(src: &[u8], from: usize, at: usize) -> usize {
    let most = COPY_MAX.min(src.len() - at);
    let (old, new) = (&src[from..from + most], &src[at..at + most]);
    let mut len = 0;
    for (a, b) in old.chunks_exact(8).zip(new.chunks_exact(8)) {
        let (a, b) = (
            a.first_chunk().copied().map(u64::from_le_bytes),
            b.first_chunk().copied().map(u64::from_le_bytes),
        );
        if a != b {
            break;
        }
        len += 8;
    }
    len + old[len..].iter().zip(&new[len..]).take_while(|(a, b)| a == b).count()
}

/// Of the first three bytes of a word.
#[inline]
fn hash(word: u32) -> usize {
    ((word << 8).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rng: &mut fastrand::Rng) -> Vec<u8> {
        let (len, letters) = (rng.usize(..20_000), rng.u8(1..=255));
        let mut bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..letters)).take(len / 4).collect();
        while bytes.len() < len && !bytes.is_empty() {
            let from = rng.usize(..bytes.len());
            let to = (from + rng.usize(1..600)).min(bytes.len());
            bytes.extend_from_within(from..to);
        }
        bytes
    }

    #[test]
    fn what_is_compressed_comes_back() {
        for seed in 0..300 {
            println!("SEED={seed}");
            let bytes = sample(&mut fastrand::Rng::with_seed(seed));
            let mut packed = Vec::new();
            assert!(compress(&bytes, &mut packed, usize::MAX));
            let mut back = vec![0; bytes.len()];
            assert_eq!(decompress(&packed, &mut back), Ok(()));
            assert!(back == bytes);
            let half = packed.len() / 2;
            let mut none = vec![7];
            assert!(packed.is_empty() || !compress(&bytes, &mut none, half) && none == [7]);
        }
    }

    #[test]
    fn golden_bytes() {
        let mut out = Vec::new();
        assert!(compress(b"aaaaaaaaaaaaaaaaaaaaaaaa", &mut out, 100));
        assert_eq!(out, [0, b'a', 0xe0, 14, 0]);
        out.clear();
        assert!(compress(b"abcabcd", &mut out, 100));
        assert_eq!(out, [2, b'a', b'b', b'c', 0x20, 2, 0, b'd']);
    }

    #[test]
    fn damaged_input_is_an_error_and_never_a_panic() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..3000 {
            let bytes = sample(&mut rng);
            let mut packed = Vec::new();
            compress(&bytes[..bytes.len().min(500)], &mut packed, usize::MAX);
            match rng.usize(..3) {
                0 => packed.truncate(rng.usize(..=packed.len())),
                1 if !packed.is_empty() => {
                    let at = rng.usize(..packed.len());
                    packed[at] ^= 1 << rng.u32(..8);
                }
                _ => rng.fill(&mut packed),
            }
            let mut out = vec![0; rng.usize(..700)];
            let _ = decompress(&packed, &mut out);
        }
    }
}
