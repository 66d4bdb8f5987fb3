//! The two vector operations of a group: which tags match, and where an entry lies.
//!
//! Both exist twice: with SSE2, which every x86-64 machine has, and in plain Rust for the others. The tests hold them
//! against each other.

/// Slots of one group: as many tags as one vector compare looks at.
pub const LANES: usize = 16;

#[cfg(target_arch = "x86_64")]
pub(crate) use sse2::{matches, sum_through};

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::{matches, sum_through};

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::LANES;
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si32, _mm_extract_epi16, _mm_loadu_si128,
        _mm_movemask_epi8, _mm_sad_epu8, _mm_set1_epi8, _mm_setzero_si128,
    };

    /// 16 bytes from `MASK[15 - lane]` on keep the lanes `0..=lane`.
    static MASK: [u8; 2 * LANES] = {
        let mut mask = [0; 2 * LANES];
        let mut i = 0;
        while i < LANES {
            mask[i] = 0xFF;
            i += 1;
        }
        mask
    };

    /// Bit `i` is set if `tags[i] == tag`.
    #[inline]
    pub fn matches(tags: &[u8; LANES], tag: u8) -> u32 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(load(tags), _mm_set1_epi8(tag as i8))) as u32 }
    }

    /// The sum of `lengths[0..=lane]`, and whether one of them is 255.
    #[inline]
    pub fn sum_through(lengths: &[u8; LANES], lane: usize) -> (u32, bool) {
        let mask = MASK[LANES - 1 - lane..].first_chunk().expect("lane is below 16");
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let kept = _mm_and_si128(load(lengths), load(mask));
            let sums = _mm_sad_epu8(kept, _mm_setzero_si128());
            let long = _mm_movemask_epi8(_mm_cmpeq_epi8(kept, _mm_set1_epi8(-1))) != 0;
            (_mm_cvtsi128_si32(sums) as u32 + _mm_extract_epi16::<4>(sums) as u32, long)
        }
    }

    #[inline]
    fn load(bytes: &[u8; LANES]) -> __m128i {
        // SAFETY: 16 bytes are readable, and `loadu` asks for no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::LANES;

    /// Bit `i` is set if `tags[i] == tag`.
    pub fn matches(tags: &[u8; LANES], tag: u8) -> u32 {
        tags.iter().enumerate().fold(0, |mask, (i, &t)| mask | (u32::from(t == tag) << i))
    }

    /// The sum of `lengths[0..=lane]`, and whether one of them is 255.
    pub fn sum_through(lengths: &[u8; LANES], lane: usize) -> (u32, bool) {
        let kept = &lengths[..=lane];
        (kept.iter().map(|&n| u32::from(n)).sum(), kept.contains(&255))
    }
}

#[cfg(test)]
mod tests {
    use super::{LANES, matches, portable, sum_through};

    #[test]
    fn the_vector_and_the_plain_versions_agree() {
        let mut rng = fastrand::Rng::with_seed(3);
        for round in 0..5_000 {
            let few = round % 2 == 0;
            let bytes: [u8; LANES] =
                std::array::from_fn(|_| if few { 253 + rng.u8(..3) } else { rng.u8(..) });
            let tag = bytes[rng.usize(..LANES)];
            assert_eq!(matches(&bytes, tag), portable::matches(&bytes, tag), "{bytes:?} {tag}");
            for lane in 0..LANES {
                assert_eq!(
                    sum_through(&bytes, lane),
                    portable::sum_through(&bytes, lane),
                    "{bytes:?} {lane}"
                );
            }
        }
    }
}
