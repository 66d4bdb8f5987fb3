//! Finding and reading the values of a block.

use super::IntBlock;
use std::hint::select_unpredictable;

impl IntBlock {
    /// The position of `value`, or where it would be put.
    #[inline]
    pub fn search(&self, value: i64) -> Result<usize, usize> {
        if value < self.base() {
            return Err(0);
        }
        let distance = value.wrapping_sub(self.base()) as u64;
        let body = self.body();
        match self.width() {
            1 => search_in(body.as_chunks::<1>().0, distance),
            2 => search_in(body.as_chunks::<2>().0, distance),
            4 => search_in(body.as_chunks::<4>().0, distance),
            _ => search_in(body.as_chunks::<8>().0, distance),
        }
    }

    /// True if `value` is in the block.
    #[inline]
    pub fn contains(&self, value: i64) -> bool {
        self.search(value).is_ok()
    }

    /// The value at position `at`.
    #[inline]
    pub fn get(&self, at: usize) -> Option<i64> {
        (at < self.len()).then(|| self.base().wrapping_add_unsigned(self.distance(at)))
    }

    /// The smallest value.
    #[inline]
    pub fn first(&self) -> Option<i64> {
        self.get(0)
    }

    /// The largest value.
    #[inline]
    pub fn last(&self) -> Option<i64> {
        self.len().checked_sub(1).and_then(|at| self.get(at))
    }

    /// The values from position `from` on, in ascending order.
    pub fn values(&self, from: usize) -> Values<'_> {
        Values { block: self, at: from }
    }

    /// Writes all values to `out`, which is at least as long; returns that part of it.
    pub fn decode<'o>(&self, out: &'o mut [i64]) -> &'o mut [i64] {
        let out = &mut out[..self.len()];
        let (base, body) = (self.base(), self.body());
        match self.width() {
            1 => decode(body.as_chunks::<1>().0, base, out),
            2 => decode(body.as_chunks::<2>().0, base, out),
            4 => decode(body.as_chunks::<4>().0, base, out),
            _ => decode(body.as_chunks::<8>().0, base, out),
        }
        out
    }

    /// Value `at` less the base.
    #[inline]
    pub(super) fn distance(&self, at: usize) -> u64 {
        let body = self.body();
        match self.width() {
            1 => read(body.as_chunks::<1>().0[at]),
            2 => read(body.as_chunks::<2>().0[at]),
            4 => read(body.as_chunks::<4>().0[at]),
            _ => read(body.as_chunks::<8>().0[at]),
        }
    }
}

/// The values of a block in order, see [`IntBlock::values`].
#[derive(Clone, Debug)]
pub struct Values<'a> {
    block: &'a IntBlock,
    at: usize,
}

impl Iterator for Values<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        let value = self.block.get(self.at)?;
        self.at += 1;
        Some(value)
    }
}

/// A binary search that always takes the same steps for a length: what it compares cannot be predicted anyway.
#[inline]
fn search_in<const W: usize>(lanes: &[[u8; W]], distance: u64) -> Result<usize, usize> {
    let (mut low, mut size) = (0, lanes.len());
    if size == 0 {
        return Err(0);
    }
    while size > 1 {
        let half = size / 2;
        let mid = low + half;
        low = select_unpredictable(read(lanes[mid]) <= distance, mid, low);
        size -= half;
    }
    let found = read(lanes[low]);
    if found == distance { Ok(low) } else { Err(low + usize::from(found < distance)) }
}

#[inline]
fn read<const W: usize>(lane: [u8; W]) -> u64 {
    let mut wide = [0; 8];
    wide[..W].copy_from_slice(&lane);
    u64::from_le_bytes(wide)
}

#[inline]
fn decode<const W: usize>(lanes: &[[u8; W]], base: i64, out: &mut [i64]) {
    for (value, lane) in out.iter_mut().zip(lanes) {
        *value = base.wrapping_add_unsigned(read(*lane));
    }
}
