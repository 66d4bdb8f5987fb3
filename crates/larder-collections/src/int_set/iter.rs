//! The values in order: from any value on, block by block, or step by step with a scan cursor.

use super::IntSet;
use larder_packed::int_block::{IntBlock, Values};

impl IntSet {
    /// All values in ascending order.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_from(i64::MIN)
    }

    /// The values from `from` on in ascending order.
    pub fn iter_from(&self, from: i64) -> Iter<'_> {
        let mut blocks = self.blocks_from(from);
        let values = blocks.next().map(|block| {
            let at = block.search(from).unwrap_or_else(|at| at);
            block.values(at)
        });
        Iter { blocks, values }
    }

    /// The blocks with values from `from` on, the first of which may hold lower ones, too.
    pub fn blocks_from(&self, from: i64) -> Blocks<'_> {
        Blocks { set: self, from: Some(from) }
    }

    /// One step of a scan: calls `f` with at least `count` values if there are that many left, and returns the cursor for
    /// the next step, 0 at the end. The first step has cursor 0; cursors are below [`CURSOR_END`], and every number is
    /// a valid one.
    ///
    /// A cursor names the value to go on from, so it stays good whatever happens to the set, and a value that is in the
    /// set during the whole scan is seen exactly once.
    pub fn scan(&self, cursor: u64, count: usize, mut f: impl FnMut(i64)) -> u64 {
        if cursor >= CURSOR_END {
            return 0;
        }
        let mut from = first_at(cursor);
        let (mut left, mut last) = (count.max(1), None);
        loop {
            for value in self.iter_from(from).take_while(|&value| from >= 0 || value < 0) {
                let cursor = cursor_of(value);
                if left == 0 && last != Some(cursor) {
                    return cursor;
                }
                left = left.saturating_sub(1);
                last = Some(cursor);
                f(value);
            }
            if from < 0 {
                return 0;
            }
            from = i64::MIN;
        }
    }
}

/// Cursors of [`IntSet::scan`] are below this: with one more bit they still fit the numbers of every client, many of
/// which keep 53 bits.
pub const CURSOR_END: u64 = 3 * NEAR;

/// Values less than this far from zero have a cursor each; further out, 2^14 neighbours share one.
const NEAR: u64 = 1 << 50;
const FAR_BITS: u32 = 14;

/// Where a value stands in a scan: first 0 and up, then the negative ones, which is the order of `u64`.
fn cursor_of(value: i64) -> u64 {
    let order = value as u64;
    if order < NEAR {
        order
    } else if order < NEAR.wrapping_neg() {
        NEAR + ((order - NEAR) >> FAR_BITS)
    } else {
        2 * NEAR + (order - NEAR.wrapping_neg())
    }
}

/// The first value at a cursor.
fn first_at(cursor: u64) -> i64 {
    let order = match cursor / NEAR {
        0 => cursor,
        1 => NEAR.saturating_add((cursor - NEAR) << FAR_BITS).min(NEAR.wrapping_neg()),
        _ => NEAR.wrapping_neg() + (cursor - 2 * NEAR),
    };
    order as i64
}

/// Blocks in order, see [`IntSet::blocks_from`].
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    set: &'a IntSet,
    /// The next block is the one that this value belongs to.
    from: Option<i64>,
}

impl Blocks<'_> {
    /// The lower bound of the block that comes next; `None` if there is none.
    #[inline]
    pub(super) fn next_low(&self) -> Option<i64> {
        self.from
    }

    /// Goes on with the block that `value` belongs to.
    pub(super) fn skip_to(&mut self, value: i64) {
        self.from = Some(value);
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = &'a IntBlock;

    fn next(&mut self) -> Option<&'a IntBlock> {
        let from = self.from?;
        let (block, next) = match self.set {
            IntSet::Packed(block) => (Some(block), None),
            IntSet::Tree(tree) => tree.0.tree.block_and_end(from),
        };
        self.from = next;
        block
    }
}

/// Values in order, see [`IntSet::iter_from`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    blocks: Blocks<'a>,
    values: Option<Values<'a>>,
}

impl Iterator for Iter<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        loop {
            if let Some(value) = self.values.as_mut()?.next() {
                return Some(value);
            }
            self.values = self.blocks.next().map(|block| block.values(0));
        }
    }
}

impl<'a> IntoIterator for &'a IntSet {
    type Item = i64;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
