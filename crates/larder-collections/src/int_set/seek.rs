//! Looking up many values in ascending order: the way two sets of integers are intersected.

use super::{Blocks, IntSet};
use larder_packed::int_block::IntBlock;

/// Looks values up that never decrease. Stays in a block while they belong to it, and goes down the tree only to find
/// the next one: O(1) a value when the set is dense, O(log n) when it is sparse.
#[derive(Clone, Debug)]
pub struct Seeker<'a> {
    blocks: Blocks<'a>,
    block: Option<&'a IntBlock>,
}

impl IntSet {
    /// A seeker at the start of the set.
    pub fn seeker(&self) -> Seeker<'_> {
        Seeker { blocks: self.blocks_from(i64::MIN), block: None }
    }
}

impl Seeker<'_> {
    /// True if `value`, no less than those before, is in the set.
    #[inline]
    pub fn contains(&mut self, value: i64) -> bool {
        if self.block.is_none() || self.blocks.next_low().is_some_and(|low| value >= low) {
            self.blocks.skip_to(value);
            self.block = self.blocks.next();
        }
        self.block.is_some_and(|block| block.contains(value))
    }
}
