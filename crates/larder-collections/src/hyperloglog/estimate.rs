//! From registers to a number: Otmar Ertl's improved estimator ("New cardinality estimation algorithms for HyperLogLog
//! sketches", arXiv:1702.01284), which needs only how often each value occurs.

use super::layout::{INDEX_BITS, REGISTERS};

/// Values that six bits can hold.
const VALUES: usize = 64;
/// Bits of a hash after the register's index; the greatest rank is one more.
const RANK_BITS: usize = 64 - INDEX_BITS as usize;
/// The limit of the bias correction, 1 / (2 ln 2).
const ALPHA: f64 = 0.721_347_520_444_481_7;

/// How many registers have each value.
#[derive(Clone)]
pub(super) struct Histogram([u32; VALUES]);

impl Histogram {
    /// Counts this many registers of a value.
    #[inline(always)]
    pub fn add(&mut self, rank: u8, registers: u32) {
        self.0[usize::from(rank) % VALUES] += registers;
    }

    /// Counts registers that come by four.
    #[inline(always)]
    pub fn of_fours(fours: impl Iterator<Item = [u8; 4]>) -> Histogram {
        // Four tables, so that equal values side by side do not wait for each other.
        let mut parts: [Histogram; 4] = Default::default();
        for four in fours {
            for (part, rank) in parts.iter_mut().zip(four) {
                part.add(rank, 1);
            }
        }
        Histogram(std::array::from_fn(|rank| parts.iter().map(|part| part.0[rank]).sum()))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram([0; VALUES])
    }
}

/// The estimated number of elements.
pub(super) fn count(histogram: &Histogram) -> u64 {
    let registers = REGISTERS as f64;
    let share = |count: f64| count / registers;
    let mut z = registers * tau(share(registers - f64::from(histogram.0[RANK_BITS + 1])));
    for rank in (1..=RANK_BITS).rev() {
        z = 0.5 * (z + f64::from(histogram.0[rank]));
    }
    z += registers * sigma(share(f64::from(histogram.0[0])));
    (ALPHA * registers * registers / z).round() as u64
}

/// The part of the registers that never were touched, summed until nothing changes any more.
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut sum) = (1.0, x);
    loop {
        x *= x;
        let before = sum;
        sum += x * y;
        y += y;
        if before == sum {
            return sum;
        }
    }
}

/// The part of the registers that cannot rise further.
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut sum) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = sum;
        y *= 0.5;
        sum -= (1.0 - x) * (1.0 - x) * y;
        if before == sum {
            return sum / 3.0;
        }
    }
}
