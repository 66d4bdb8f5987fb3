//! The loops over whole strings, 32 bytes at a time.
//!
//! Each loop is written once as plain code, over single bytes or over steps of four words, which the compiler
//! turns into vector instructions, and compiled twice: for every processor, and for those with AVX2, chosen
//! when it runs.

use std::mem::MaybeUninit;

/// Bytes that a step of a loop works on.
const STEP: usize = 32;

/// How strings are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Bits set in both.
    And,
    /// Bits set in one or both.
    Or,
    /// Bits set in exactly one.
    Xor,
}

/// Compiles `$body` for any processor and for one with AVX2, and defines `$name`, which calls the better of the two.
macro_rules! dispatched {
    ($(#[$doc:meta])* $visible:vis fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $body:ident;) => {
        $(#[$doc])*
        $visible fn $name($($arg: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,popcnt,bmi1")]
                fn with_avx2($($arg: $type),*) $(-> $result)? {
                    $body($($arg),*)
                }
                if has_avx2() {
                    // SAFETY: the processor has the features that the function is compiled for.
                    return unsafe { with_avx2($($arg),*) };
                }
            }
            $body($($arg),*)
        }
    };
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1")
}

dispatched! {
    /// Number of set bits. O(bytes).
    pub fn count_ones(bytes: &[u8]) -> u64 = count_ones_body;
}

dispatched! {
    /// Combines `source` into `target`: each byte becomes `target op source`. A shorter source counts as followed by zeros,
    /// what a longer one has beyond the target is ignored. O(bytes).
    pub(super) fn combine(op: Operator, target: &mut [u8], source: &[u8]) = combine_body;
}

dispatched! {
    /// Writes `a op b` into `result`, up to the shortest of the three. O(bytes).
    pub(super) fn write(op: Operator, result: &mut [MaybeUninit<u8>], a: &[u8], b: &[u8]) = write_body;
}

dispatched! {
    /// Index of the first byte that is not `byte`.
    pub(super) fn first_other(bytes: &[u8], byte: u8) -> Option<usize> = first_other_body;
}

/// The four words of a step.
#[inline(always)]
fn words(step: &[u8; STEP]) -> [u64; 4] {
    std::array::from_fn(|i| {
        let word = step[8 * i..8 * i + 8].try_into().expect("eight bytes of thirty-two");
        u64::from_le_bytes(word)
    })
}

#[inline(always)]
fn count_ones_body(bytes: &[u8]) -> u64 {
    let (steps, rest) = bytes.as_chunks::<STEP>();
    let mut sums = [0_u64; 4];
    for step in steps {
        let words = words(step);
        for i in 0..4 {
            sums[i] += u64::from(words[i].count_ones());
        }
    }
    let rest: u32 = rest.iter().map(|byte| byte.count_ones()).sum();
    sums.iter().sum::<u64>() + u64::from(rest)
}

#[inline(always)]
fn combine_body(op: Operator, target: &mut [u8], source: &[u8]) {
    let common = target.len().min(source.len());
    let (both, beyond) = target.split_at_mut(common);
    let pairs = both.iter_mut().zip(source);
    match op {
        Operator::And => {
            pairs.for_each(|(target, source)| *target &= source);
            beyond.fill(0);
        }
        Operator::Or => pairs.for_each(|(target, source)| *target |= source),
        Operator::Xor => pairs.for_each(|(target, source)| *target ^= source),
    }
}

#[inline(always)]
fn write_body(op: Operator, result: &mut [MaybeUninit<u8>], a: &[u8], b: &[u8]) {
    let all = result.iter_mut().zip(a).zip(b);
    match op {
        Operator::And => all.for_each(|((to, a), b)| _ = to.write(a & b)),
        Operator::Or => all.for_each(|((to, a), b)| _ = to.write(a | b)),
        Operator::Xor => all.for_each(|((to, a), b)| _ = to.write(a ^ b)),
    }
}

#[inline(always)]
fn first_other_body(bytes: &[u8], byte: u8) -> Option<usize> {
    let (steps, _) = bytes.as_chunks::<STEP>();
    let same = u64::from_ne_bytes([byte; 8]);
    let differs = |step: &[u8; STEP]| words(step).iter().fold(0, |all, word| all | (word ^ same)) != 0;
    let skipped = steps.iter().position(differs).unwrap_or(steps.len()) * STEP;
    bytes[skipped..].iter().position(|&other| other != byte).map(|at| skipped + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(rng: &mut fastrand::Rng, len: usize) -> Vec<u8> {
        (0..len).map(|_| rng.u8(..)).collect()
    }

    #[test]
    fn both_compilations_agree_with_single_bytes() {
        let mut rng = fastrand::Rng::with_seed(2);
        for _ in 0..2000 {
            let len = rng.usize(..150);
            let target = random(&mut rng, len);
            let other_len = rng.usize(..150);
            let source = random(&mut rng, other_len);
            let ones: u64 = target.iter().map(|byte| u64::from(byte.count_ones())).sum();
            assert_eq!((count_ones(&target), count_ones_body(&target)), (ones, ones));
            for op in [Operator::And, Operator::Or, Operator::Xor] {
                let padded = source.iter().chain(std::iter::repeat(&0));
                let want: Vec<u8> = target
                    .iter()
                    .zip(padded)
                    .map(|(a, b)| match op {
                        Operator::And => a & b,
                        Operator::Or => a | b,
                        Operator::Xor => a ^ b,
                    })
                    .collect();
                let (mut one, mut two) = (target.clone(), target.clone());
                combine(op, &mut one, &source);
                combine_body(op, &mut two, &source);
                assert_eq!((&one, &two), (&want, &want), "{op:?}");
            }
        }
    }

    #[test]
    fn the_first_other_byte() {
        for len in 0..100 {
            let mut bytes = vec![0xFF; len];
            assert_eq!((first_other(&bytes, 0xFF), first_other_body(&bytes, 0xFF)), (None, None));
            for at in (0..len).rev() {
                bytes[at] = 0xFE;
                assert_eq!((first_other(&bytes, 0xFF), first_other_body(&bytes, 0xFF)), (Some(at), Some(at)));
            }
        }
    }
}
