//! LZF: the compression inside Redis's dumps, byte-compatible with liblzf's format.
//!
//! ```text
//!  literals   000LLLLL                     then L + 1 bytes as they are                    (1..=32)
//!  copy       LLLooooo            oooooooo L in 1..=6: copy L + 2 bytes from offset + 1 back (3..=8)
//!  copy       111ooooo  llllllll  oooooooo copy l + 9 bytes                                 (9..=264)
//! ```
//!
//! Offsets have 13 bits, so copies reach 8 KB back. The compressor is greedy with one candidate per hash, looks for no
//! match in the last three bytes, and takes longer steps the longer it has found none. Both ways copy in pieces of
//! fixed size where there is room to write over, as most runs are shorter than the call of a function that copies. The
//! decompressor checks every length against both buffers. Tested at the foot of this file.

use std::cell::RefCell;
use std::mem::MaybeUninit;

/// The payload is not LZF, or not of the promised size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

const HASH_BITS: u32 = 13;
const OFFSET_MAX: usize = 1 << 13;
const LITERALS_MAX: usize = 32;
const COPY_MAX: usize = 264;
/// Bytes of a control byte, literals and a copy in compressed form.
const MATCH_BYTES_MAX: usize = 1 + LITERALS_MAX + 3;
/// Longer sources are not compressed: positions have 32 bits, and [`Seen`] goes on counting from string to
/// string.
const SOURCE_BYTES_MAX: usize = i32::MAX as usize;
/// The step grows by one after this many positions without a match.
const PATIENCE: usize = 1 << 6;

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
    /// Makes the table ready for a string of this many bytes.
    fn begin(&mut self, len: usize) {
        if usize::try_from(u32::MAX - self.base).is_ok_and(|room| room <= len) {
            self.at.fill(0);
            self.base = 1;
        }
    }

    fn end(&mut self, len: usize) {
        self.base += len as u32;
    }
}

/// How far before `at` the first three bytes of `word` were seen last: more than `at` if not in this string, whose positions count from
/// `base`. They are seen there now.
#[inline(always)]
fn swap(table: &mut [u32; 1 << HASH_BITS], base: u32, word: u32, at: usize) -> usize {
    let now = base + at as u32;
    let before = std::mem::replace(&mut table[hash(word)], now);
    now.wrapping_sub(before) as usize
}

/// Appends the compressed form of `src` to `out` if it takes at most `max` bytes; else, and for more than 2 GB, `out` is
/// left as it was.
pub fn compress(src: &[u8], out: &mut Vec<u8>, max: usize) -> bool {
    if src.len() > SOURCE_BYTES_MAX {
        return false;
    }
    // Nothing takes more than its bytes and a control byte for every 32 of them.
    let max = max.min(src.len() + src.len().div_ceil(LITERALS_MAX));
    out.reserve(max + LITERALS_MAX);
    let room = &mut out.spare_capacity_mut()[..max + LITERALS_MAX];
    let mut packer = Packer { src, out: room, max, to: 0 };
    let fits = SEEN.with_borrow_mut(|seen| {
        seen.begin(src.len());
        let fits = packer.pack(seen);
        seen.end(src.len());
        fits
    });
    let len = packer.to;
    if fits.is_some() {
        // SAFETY: the packer has written this many bytes of the spare capacity.
        unsafe { out.set_len(out.len() + len) };
    }
    fits.is_some()
}

/// One string on its way.
///
/// P1: `out` is 32 bytes longer than `max`. P2: `to <= max`, and this many bytes of `out` are written.
struct Packer<'a> {
    src: &'a [u8],
    out: &'a mut [MaybeUninit<u8>],
    max: usize,
    to: usize,
}

impl Packer<'_> {
    /// None if it takes more than `max` bytes.
    fn pack(&mut self, seen: &mut Seen) -> Option<()> {
        // All in variables of their own: bytes that are written through a pointer do not seem to change these.
        let (src, max, mut to) = (self.src, self.max, self.to);
        let (table, base) = (&mut *seen.at, seen.base);
        let (mut at, mut literals, mut patience) = (0, 0, PATIENCE);
        while at + 4 <= src.len() {
            // SAFETY: four bytes from `at` on are inside.
            let word = unsafe { load_u32(src, at) };
            let back = swap(table, base, word, at);
            // SAFETY: the second condition is looked at if `back` is at most `at`: four bytes from there on are inside.
            if back > at.min(OFFSET_MAX) || (unsafe { load_u32(src, at - back) } ^ word) << 8 != 0 {
                at += patience / PATIENCE;
                patience += 1;
                continue;
            }
            patience = PATIENCE;
            let len;
            if at + LITERALS_MAX <= src.len() && at - literals <= LITERALS_MAX && to + MATCH_BYTES_MAX <= max
            {
                // SAFETY: just checked; and `out` is 32 bytes longer than `max` (P1).
                (len, to) = unsafe { put_match(src, self.out.as_mut_ptr().cast(), to, literals, at, back) };
            } else {
                self.to = to;
                self.put_literals(literals, at)?;
                len = match_len(src, at - back, at);
                self.put_copy(back - 1, len)?;
                to = self.to;
            }
            at += len;
            literals = at;
            // Of the positions inside the match, only the last two are remembered.
            if at + 3 <= src.len() {
                // SAFETY: four bytes from two before `at` on, and the next four, are inside; a match has three at least.
                let (second_last, last) = unsafe { (load_u32(src, at - 2), load_u32(src, at - 1)) };
                swap(table, base, second_last, at - 2);
                swap(table, base, last, at - 1);
            }
        }
        self.to = to;
        self.put_literals(literals, src.len())
    }

    /// Puts the bytes of the source from `from` to `until`.
    #[inline(always)]
    fn put_literals(&mut self, mut from: usize, until: usize) -> Option<()> {
        let src = self.src;
        while from < until {
            let len = (until - from).min(LITERALS_MAX);
            let end = self.to + 1 + len;
            if end > self.max {
                return None;
            }
            self.out[self.to].write(len as u8 - 1);
            let at = self.to + 1;
            if from + LITERALS_MAX <= src.len() {
                // SAFETY: 32 bytes of the source are inside, as just checked, and 32 bytes from `at` on of the
                // destination: `at <= max` (`len` is at least 1) and P1.
                unsafe { copy::<LITERALS_MAX>(src.as_ptr().add(from), self.out.as_mut_ptr().add(at).cast()) };
            } else {
                let slots = self.out[at..end].iter_mut().zip(&src[from..]);
                slots.for_each(|(slot, &byte)| {
                    slot.write(byte);
                });
            }
            self.to = end;
            from += len;
        }
        Some(())
    }

    #[inline(always)]
    fn put_copy(&mut self, offset: usize, len: usize) -> Option<()> {
        let (len, high) = (len - 2, (offset >> 8) as u8);
        let (bytes, count) = if len < 7 {
            ([(len as u8) << 5 | high, offset as u8, 0], 2)
        } else {
            ([7 << 5 | high, (len - 7) as u8, offset as u8], 3)
        };
        if self.to + count > self.max {
            return None;
        }
        self.out[self.to..][..3].iter_mut().zip(bytes).for_each(|(slot, byte)| {
            slot.write(byte);
        });
        self.to += count;
        Some(())
    }
}

/// Puts the bytes from `literals` to `at`, and then what is the same from `at` on as it was `back` bytes before: at `to` of `out`. Returns
/// how much is the same, and where the output goes on.
///
/// # Safety
/// 32 bytes of the source from `at` on are inside, and the first three of them match; `literals` is up to 32 before it. `out` may be
/// written from `to` on for 36 bytes.
#[inline(always)]
unsafe fn put_match(
    src: &[u8],
    out: *mut u8,
    to: usize,
    literals: usize,
    at: usize,
    back: usize,
) -> (usize, usize) {
    // SAFETY: eight bytes from `at` on are inside, and so are those before them.
    let differ = unsafe { load_u64(src, at - back) ^ load_u64(src, at) };
    let len = if differ == 0 { match_len(src, at - back, at) } else { differ.trailing_zeros() as usize / 8 };
    let (run, offset) = (at - literals, back - 1);
    let high = (offset >> 8) as u8;
    let after = if run == 0 { to } else { to + 1 + run };
    // SAFETY: a control byte, 32 literals, and a copy of up to three bytes after those of them that count, are the 36 bytes that may be
    // written. Of the source, 32 bytes from `literals` on are inside, as they are from `at` on.
    unsafe {
        // Without literals the copy is written over the control byte.
        out.add(to).write((run as u8).wrapping_sub(1));
        copy::<LITERALS_MAX>(src.as_ptr().add(literals), out.add(to + 1));
        let copied = out.add(after);
        if len < 9 {
            copied.cast::<[u8; 2]>().write([(len as u8 - 2) << 5 | high, offset as u8]);
            return (len, after + 2);
        }
        copied.cast::<[u8; 3]>().write([7 << 5 | high, (len - 9) as u8, offset as u8]);
    }
    (len, after + 3)
}

/// How many bytes from `at` on are the same as those from `from` on, which is before: at most 264.
#[inline(always)]
fn match_len(src: &[u8], from: usize, at: usize) -> usize {
    let most = COPY_MAX.min(src.len() - at);
    let mut len = 0;
    while len + 8 <= most {
        // SAFETY: eight bytes from `at + len` on are inside, as `most` says, and `from` is before `at`.
        let differ = unsafe { load_u64(src, from + len) ^ load_u64(src, at + len) };
        if differ != 0 {
            return len + differ.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    while len < most && src[from + len] == src[at + len] {
        len += 1;
    }
    len
}

/// Of the first three bytes of a word.
#[inline(always)]
fn hash(word: u32) -> usize {
    ((word << 8).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

/// Four bytes from a position on, the first one lowest.
///
/// # Safety
/// They are inside.
#[inline(always)]
unsafe fn load_u32(src: &[u8], at: usize) -> u32 {
    debug_assert!(at + 4 <= src.len());
    // SAFETY: the caller's promise; arrays of bytes may stand anywhere.
    u32::from_le_bytes(unsafe { src.as_ptr().add(at).cast::<[u8; 4]>().read() })
}

/// Eight bytes from a position on, the first one lowest.
///
/// # Safety
/// They are inside.
#[inline(always)]
unsafe fn load_u64(src: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= src.len());
    // SAFETY: the caller's promise; arrays of bytes may stand anywhere.
    u64::from_le_bytes(unsafe { src.as_ptr().add(at).cast::<[u8; 8]>().read() })
}

/// Copies this many bytes, read before any of them is written.
///
/// # Safety
/// `from` may be read and `to` written for `N` bytes.
#[inline(always)]
unsafe fn copy<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise; arrays of bytes may stand anywhere.
    unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
}

/// Fills `dst`, exactly, with what `src` decompresses to.
pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Damaged> {
    let (mut at, mut to) = (0, 0);
    while let Some(&control) = src.get(at) {
        at += 1;
        if control < LITERALS_MAX as u8 {
            let len = control as usize + 1;
            if src.len() - at >= LITERALS_MAX && dst.len() - to >= LITERALS_MAX {
                // SAFETY: 32 bytes of both are inside, as just checked; a shared and a mutable slice do not overlap.
                unsafe { copy::<LITERALS_MAX>(src.as_ptr().add(at), dst.as_mut_ptr().add(to)) };
            } else {
                let literals = src.get(at..at + len).ok_or(Damaged)?;
                dst.get_mut(to..to + len).ok_or(Damaged)?.copy_from_slice(literals);
            }
            at += len;
            to += len;
            continue;
        }
        let mut len = (control >> 5) as usize + 2;
        if len <= STEP && at < src.len() && dst.len() - to >= STEP {
            let back = ((control as usize & 0x1f) << 8 | src[at] as usize) + 1;
            if back >= STEP && back <= to {
                // SAFETY: eight bytes from `to` on are inside; those `back` before begin inside, as `back <= to`, and end before them.
                unsafe {
                    let to = dst.as_mut_ptr().add(to);
                    copy::<STEP>(to.sub(back), to);
                }
                at += 1;
                to += len;
                continue;
            }
        }
        if len == 9 {
            len += *src.get(at).ok_or(Damaged)? as usize;
            at += 1;
        }
        let low = *src.get(at).ok_or(Damaged)? as usize;
        at += 1;
        let back = ((control as usize & 0x1f) << 8 | low) + 1;
        if back > to || len > dst.len() - to {
            return Err(Damaged);
        }
        copy_back(dst, to, back, len);
        to += len;
    }
    if to == dst.len() { Ok(()) } else { Err(Damaged) }
}

/// Bytes that one step of `copy_back` copies.
const STEP: usize = 8;

/// Writes `len` bytes from `to` on, each the same as the one `back` before it. There is room, and `back` is at most `to`.
#[inline(always)]
fn copy_back(dst: &mut [u8], to: usize, back: usize, len: usize) {
    let room = dst.len() - to;
    assert!(back > 0 && back <= to && len <= room, "checked by the caller");
    if back == 1 {
        let byte = dst[to - 1];
        dst[to..to + len].fill(byte);
    } else if room - len >= STEP {
        // A step of a copy that overlaps itself is as long as what it may repeat: the bytes it writes beyond that are
        // written again by the next one.
        let step = STEP.min(back);
        let mut done = 0;
        while done < len {
            // SAFETY: what is written begins before `to + len` and ends at most eight bytes after it, for which there
            // is room, as just checked; what is read begins inside, as `back <= to`, and ends before that.
            unsafe {
                let to = dst.as_mut_ptr().add(to + done);
                copy::<STEP>(to.sub(back), to);
            }
            done += step;
        }
    } else {
        for i in to..to + len {
            dst[i] = dst[i - back];
        }
    }
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

    /// The format without haste.
    fn decompress_slowly(src: &[u8], len: usize) -> Option<Vec<u8>> {
        let (mut src, mut out) = (src.iter(), Vec::new());
        while let Some(&control) = src.next() {
            if control < 32 {
                (0..=control).try_for_each(|_| src.next().map(|&byte| out.push(byte)))?;
                continue;
            }
            let more = if control >> 5 == 7 { *src.next()? } else { 0 };
            let back = usize::from(control & 31) * 256 + usize::from(*src.next()?) + 1;
            for _ in 0..usize::from(control >> 5) + 2 + usize::from(more) {
                out.push(*out.get(out.len().checked_sub(back)?)?);
            }
        }
        (out.len() == len).then_some(out)
    }

    /// Decompresses into the middle of a buffer, whose other bytes must stay as they are.
    fn check_against_slow(packed: &[u8], len: usize) {
        let mut framed = vec![0xA5; len + 80];
        let outcome = decompress(packed, &mut framed[40..40 + len]);
        let expected = decompress_slowly(packed, len);
        assert_eq!(outcome.is_ok(), expected.is_some());
        assert!(framed[..40].iter().chain(&framed[40 + len..]).all(|&byte| byte == 0xA5));
        assert!(expected.is_none_or(|expected| expected == framed[40..40 + len]));
    }

    #[test]
    fn what_is_compressed_comes_back() {
        for seed in larder_testkit::seeds(300, 300) {
            let bytes = sample(&mut fastrand::Rng::with_seed(seed));
            let mut packed = Vec::new();
            assert!(compress(&bytes, &mut packed, usize::MAX));
            let mut back = vec![0; bytes.len()];
            assert_eq!(decompress(&packed, &mut back), Ok(()));
            assert!(back == bytes);
            check_against_slow(&packed, bytes.len());
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
            check_against_slow(&packed, rng.usize(..700));
            check_against_slow(&packed, bytes.len().min(500));
        }
    }

    #[test]
    fn every_short_copy_ends_where_it_should() {
        for (back, len, tail) in
            (1..40).flat_map(|b| (3..40).flat_map(move |l| (0..20).map(move |t| (b, l, t))))
        {
            let mut packed = Vec::new();
            for at in 0..back {
                packed.extend_from_slice(&[0, at as u8]);
            }
            match len {
                3..9 => packed.push((len as u8 - 2) << 5),
                _ => packed.extend_from_slice(&[7 << 5, len as u8 - 9]),
            }
            packed.push(back as u8 - 1);
            for at in 0..tail {
                packed.extend_from_slice(&[0, 200 + at]);
            }
            check_against_slow(&packed, back + len + tail as usize);
        }
    }

    #[test]
    fn output_never_grows_beyond_what_is_allowed() {
        let mut rng = fastrand::Rng::with_seed(9);
        for _ in 0..300 {
            let bytes = sample(&mut rng);
            let mut packed = Vec::new();
            assert!(compress(&bytes, &mut packed, usize::MAX));
            assert!(packed.len() <= bytes.len() + bytes.len().div_ceil(32));
            for (max, fits) in [(packed.len(), true), (packed.len().saturating_sub(1), packed.is_empty())] {
                let mut out = vec![7];
                assert_eq!(compress(&bytes, &mut out, max), fits);
                assert!(if fits { out[1..] == packed } else { out == [7] });
            }
        }
    }
}
