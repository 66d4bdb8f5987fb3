//! Changing a block: insert, remove, split, join.

use super::{BYTES_MAX, HEADER, IntBlock, LEN_MAX};
use crate::block::width_of;
use crate::heap;

/// Blocks of a directory with at least this many values are split rather than widened.
const WIDEN_LEN_MAX: usize = 64;

/// What became of a value to insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// It is in the block now.
    Added,
    /// It does not fit; the block is as before.
    Full,
    /// It was there; the block is as before.
    Present,
}

impl IntBlock {
    /// A block of these values, which rise strictly; `None` if they are too many for one.
    pub fn of_sorted(values: &[i64]) -> Option<IntBlock> {
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else {
            return Some(IntBlock::empty());
        };
        let width = width_for(first, last);
        let bytes = HEADER + values.len() * width;
        if bytes > BYTES_MAX {
            return None;
        }
        let mut block = IntBlock::with_capacity(width as u8, base_for(first, last, width), bytes);
        block.set_len(values.len());
        block.fill(values);
        Some(block)
    }

    /// Puts `value` in its place. A block of many values is `Full` sooner than widened: its halves are likely to stay
    /// narrow.
    #[inline]
    pub fn insert(&mut self, value: i64) -> Insert {
        self.insert_widening(value, WIDEN_LEN_MAX)
    }

    /// Puts `value` in its place, and widens the block if it must: one block takes less memory than two.
    #[inline]
    pub fn insert_alone(&mut self, value: i64) -> Insert {
        self.insert_widening(value, LEN_MAX)
    }

    fn insert_widening(&mut self, value: i64, widen_len_max: usize) -> Insert {
        let Err(at) = self.search(value) else { return Insert::Present };
        if !self.reaches(value) {
            return self.insert_rebuilding(at, value, widen_len_max);
        }
        let (n, width) = (self.len(), self.width());
        let bytes = self.size_bytes() + width;
        if bytes > BYTES_MAX {
            return Insert::Full;
        }
        self.make_room(bytes);
        let distance = value.wrapping_sub(self.base()).to_le_bytes();
        let body = &mut self.room_mut()[..(n + 1) * width];
        body.copy_within(at * width..n * width, (at + 1) * width);
        body[at * width..(at + 1) * width].copy_from_slice(&distance[..width]);
        self.set_len(n + 1);
        Insert::Added
    }

    /// Takes the value at position `at` out.
    pub fn remove(&mut self, at: usize) {
        let (n, width) = (self.len(), self.width());
        assert!(at < n, "no value at {at} of {n}");
        self.make_room(self.size_bytes());
        let body = &mut self.room_mut()[..n * width];
        body.copy_within((at + 1) * width.., at * width);
        self.set_len(n - 1);
        let (need, have) = (heap::class_size(self.size_bytes()), self.heap_bytes());
        if need * 4 < have * 3 {
            let mut values = [0; LEN_MAX];
            let values = self.decode(&mut values);
            *self = IntBlock::of_sorted(values).expect("fewer values than before");
        }
    }

    /// Cuts the block in two; this one keeps the values before position `at`.
    pub fn split_off(&mut self, at: usize) -> IntBlock {
        let mut values = [0; LEN_MAX];
        let (left, right) = self.decode(&mut values).split_at(at);
        let right = IntBlock::of_sorted(right).expect("a part of a block fits a block");
        *self = IntBlock::of_sorted(left).expect("a part of a block fits a block");
        right
    }

    /// One block of the values of two neighbours, `left` the lower one; `None` when it would be more than
    /// three quarters full, or wider than `left` with more than 64 values.
    pub fn join(left: &IntBlock, right: &IntBlock) -> Option<IntBlock> {
        let (Some(first), Some(last)) = (left.first().or(right.first()), right.last().or(left.last())) else {
            return Some(IntBlock::empty());
        };
        let count = left.len() + right.len();
        let bytes = HEADER + count * width_for(first, last);
        if bytes > BYTES_MAX * 3 / 4 || (count > WIDEN_LEN_MAX && width_for(first, last) > left.width()) {
            return None;
        }
        let mut values = [0; LEN_MAX];
        let at = left.decode(&mut values).len();
        right.decode(&mut values[at..]);
        IntBlock::of_sorted(&values[..count])
    }

    /// True if the width can express `value` as a distance from the base.
    #[inline]
    fn reaches(&self, value: i64) -> bool {
        value >= self.base() && value.wrapping_sub(self.base()) as u64 <= distance_max(self.width())
    }

    fn insert_rebuilding(&mut self, at: usize, value: i64, widen_len_max: usize) -> Insert {
        let n = self.len();
        let first = self.first().map_or(value, |first| first.min(value));
        let last = self.last().map_or(value, |last| last.max(value));
        if n >= widen_len_max && width_for(first, last) > self.width() {
            return Insert::Full;
        }
        if HEADER + (n + 1) * width_for(first, last) > BYTES_MAX {
            return Insert::Full;
        }
        let mut values = [0; LEN_MAX + 1];
        self.decode(&mut values);
        values.copy_within(at..n, at + 1);
        values[at] = value;
        *self = IntBlock::of_sorted(&values[..=n]).expect("the size was checked");
        Insert::Added
    }

    /// Makes the block unique and at least `bytes` long.
    #[inline]
    fn make_room(&mut self, bytes: usize) {
        if bytes <= self.heap_bytes() && self.is_unique() {
            return;
        }
        let mut copy =
            IntBlock::with_capacity(self.header().width, self.base(), bytes.max(self.size_bytes()));
        copy.set_len(self.len());
        let body = self.body();
        copy.room_mut()[..body.len()].copy_from_slice(body);
        *self = copy;
    }

    /// Writes all values, whose number is set.
    fn fill(&mut self, values: &[i64]) {
        let (base, width) = (self.base(), self.width());
        let room = self.room_mut();
        match width {
            1 => encode(room.as_chunks_mut::<1>().0, base, values),
            2 => encode(room.as_chunks_mut::<2>().0, base, values),
            4 => encode(room.as_chunks_mut::<4>().0, base, values),
            _ => encode(room.as_chunks_mut::<8>().0, base, values),
        }
    }
}

#[inline]
fn encode<const W: usize>(lanes: &mut [[u8; W]], base: i64, values: &[i64]) {
    for (lane, value) in lanes.iter_mut().zip(values) {
        lane.copy_from_slice(&value.wrapping_sub(base).to_le_bytes()[..W]);
    }
}

/// The narrowest width whose distances reach from `first` to `last`.
fn width_for(first: i64, last: i64) -> usize {
    width_of(last.wrapping_sub(first) as u64).into()
}

fn distance_max(width: usize) -> u64 {
    u64::MAX >> (64 - 8 * width)
}

/// A base with as much to spare below as above.
fn base_for(first: i64, last: i64, width: usize) -> i64 {
    if width == 8 {
        return i64::MIN;
    }
    let spare = distance_max(width) - last.wrapping_sub(first) as u64;
    first.saturating_sub_unsigned(spare / 2)
}
