//! What becomes of an integer that does not fit its bits.

/// The type of an integer in a bitmap: `i` or `u` and its number of bits, 1 to 64, or to 63 for `u`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub signed: bool,
    pub width: u32,
}

/// What OVERFLOW says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    /// The value is refused.
    Fail,
    /// The nearest value that fits.
    Saturate,
    /// The low bits.
    Wrap,
}

/// Which end of its range a value has passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passed {
    Least,
    Greatest,
}

impl Type {
    /// The value whose low bits these are.
    pub fn extend(self, bits: u64) -> i64 {
        let unused = 64 - self.width;
        if self.signed { ((bits << unused) as i64) >> unused } else { bits as i64 }
    }

    fn least(self) -> i64 {
        if self.signed { i64::MIN >> (64 - self.width) } else { 0 }
    }

    fn greatest(self) -> i64 {
        (if self.signed { i64::MAX } else { -1 } as u64 >> (64 - self.width)) as i64
    }

    /// `value + by` in this type; `None` if it does not fit and must not be changed.
    ///
    /// Unsigned types have 63 bits at most, so that an increment of theirs always starts from a value that is not
    /// negative; a negative one that is set counts as very large.
    pub fn add(self, value: i64, by: i64, overflow: Overflow) -> Option<i64> {
        let passed =
            if self.signed { self.passed_signed(value, by) } else { self.passed_unsigned(value, by) };
        let sum = value.wrapping_add(by);
        match (passed, overflow) {
            (None, _) => Some(sum),
            (Some(_), Overflow::Fail) => None,
            (Some(Passed::Least), Overflow::Saturate) => Some(self.least()),
            (Some(Passed::Greatest), Overflow::Saturate) => Some(self.greatest()),
            (Some(_), Overflow::Wrap) => Some(self.extend(sum as u64 & (u64::MAX >> (64 - self.width)))),
        }
    }

    /// The differences wrap, as in Redis: a value far below the range counts as one above it there, too.
    fn passed_signed(self, value: i64, by: i64) -> Option<Passed> {
        let (up, down) = (self.greatest().wrapping_sub(value), self.least().wrapping_sub(value));
        let narrow = self.width != 64;
        if value > self.greatest() || (by > up && (narrow || value >= 0 && by > 0)) {
            Some(Passed::Greatest)
        } else if value < self.least() || (by < down && (narrow || value < 0 && by < 0)) {
            Some(Passed::Least)
        } else {
            None
        }
    }

    fn passed_unsigned(self, value: i64, by: i64) -> Option<Passed> {
        let greatest = self.greatest();
        if value < 0 || value > greatest || by > 0 && by > greatest - value {
            Some(Passed::Greatest)
        } else if by < 0 && by < -value {
            Some(Passed::Least)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All sums of small types against arithmetic in a wide one.
    #[test]
    fn sums_of_small_types() {
        for (signed, width) in [(true, 1), (true, 5), (true, 8), (false, 1), (false, 5), (false, 8)] {
            let kind = Type { signed, width };
            let (least, greatest) = (kind.least(), kind.greatest());
            assert_eq!(greatest - least + 1, 1 << width);
            for value in least..=greatest {
                for by in -600..600 {
                    let sum = value + by;
                    let fits = (least..=greatest).contains(&sum);
                    assert_eq!(kind.add(value, by, Overflow::Fail), fits.then_some(sum));
                    assert_eq!(kind.add(value, by, Overflow::Saturate), Some(sum.clamp(least, greatest)));
                    let wrapped = (sum - least).rem_euclid(1 << width) + least;
                    assert_eq!(kind.add(value, by, Overflow::Wrap), Some(wrapped));
                }
            }
        }
    }

    #[test]
    fn the_widest_types() {
        let (i64s, u63s) = (Type { signed: true, width: 64 }, Type { signed: false, width: 63 });
        assert_eq!(i64s.add(i64::MAX, 1, Overflow::Wrap), Some(i64::MIN));
        assert_eq!(i64s.add(i64::MAX, 1, Overflow::Saturate), Some(i64::MAX));
        assert_eq!(i64s.add(i64::MIN, -1, Overflow::Saturate), Some(i64::MIN));
        assert_eq!(i64s.add(i64::MIN, i64::MAX, Overflow::Fail), Some(-1));
        assert_eq!(u63s.add(i64::MAX, 1, Overflow::Wrap), Some(0));
        assert_eq!(u63s.add(i64::MAX, 1, Overflow::Fail), None);
        assert_eq!(u63s.add(0, i64::MIN, Overflow::Saturate), Some(0));
        assert_eq!(u63s.add(-1, 0, Overflow::Saturate), Some(i64::MAX));
    }
}
