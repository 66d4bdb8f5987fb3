//! Scores as keys: unsigned integers that sort as the scores do.

/// Flips the order of negative numbers and puts them below the positive ones.
const SIGN: u64 = 1 << 63;

/// The key of both zeros.
pub(super) const ZERO: u64 = SIGN;

/// The key of a score, which is not NaN. Both zeros have the same key.
#[inline]
pub(super) fn key_of(score: f64) -> u64 {
    debug_assert!(!score.is_nan());
    let bits = (score + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The score of a key; for that of zero 0, see [`super::zeros`].
#[inline]
pub(super) fn score_of(key: u64) -> f64 {
    f64::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_scores_and_come_back() {
        let tiny = f64::from_bits(1);
        let max = f64::MAX;
        let scores =
            [f64::NEG_INFINITY, -max, -1.5, -tiny, 0.0, tiny, f64::MIN_POSITIVE, 1.0, max, f64::INFINITY];
        assert!(scores.windows(2).all(|pair| key_of(pair[0]) < key_of(pair[1])));
        for score in scores {
            assert_eq!(score_of(key_of(score)), score);
        }
        assert_eq!(key_of(-0.0), key_of(0.0));
        assert!(score_of(key_of(-0.0)).is_sign_positive());
    }
}
