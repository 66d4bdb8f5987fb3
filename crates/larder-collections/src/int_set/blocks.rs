//! Sets of integers as their blocks: how they travel between two Larders. Nothing in them is taken on trust.

use super::tree::Tree as BlockTree;
use super::{IntSet, IntTree, Tree};
use larder_packed::codec::Damaged;
use larder_packed::int_block::{IntBlock, LEN_MAX};
use std::sync::Arc;

/// Makes a set of images of blocks, in order. O(n).
#[derive(Default)]
pub struct BlockReader {
    tree: BlockTree,
    last: Option<i64>,
}

impl BlockReader {
    /// A reader without blocks.
    pub fn new() -> Self {
        BlockReader::default()
    }

    /// Takes the next block.
    pub fn push(&mut self, image: &[u8]) -> Result<(), Damaged> {
        let block = IntBlock::from_image(image)?;
        let first = block.first().ok_or(Damaged)?;
        if self.last.is_some_and(|last| last >= first) {
            return Err(Damaged);
        }
        self.last = block.last();
        self.tree.push_back(first, block);
        Ok(())
    }

    /// The set of all blocks.
    pub fn finish(self) -> IntSet {
        of_tree(self.tree)
    }
}

impl IntSet {
    /// A set of these values, which rise strictly, in blocks as full as they can be. O(n).
    pub fn of_sorted(values: &[i64]) -> IntSet {
        let (mut tree, mut left) = (BlockTree::default(), values);
        while let Some(&first) = left.first() {
            let (here, rest) = left.split_at(fitting(left));
            tree.push_back(first, IntBlock::of_sorted(here).expect("it is one block"));
            left = rest;
        }
        of_tree(tree)
    }
}

fn of_tree(tree: BlockTree) -> IntSet {
    match tree.only_block() {
        Some(block) => IntSet::Packed(block),
        None => IntSet::Tree(Tree(Arc::new(IntTree { tree, overgrown: false }))),
    }
}

/// How many of the first values fit a block, at the width at which these are most.
fn fitting(values: &[i64]) -> usize {
    let at_width = |width: usize| {
        let some = &values[..values.len().min(LEN_MAX / width)];
        let reach = u64::MAX >> (64 - 8 * width);
        some.partition_point(|value| value.wrapping_sub(values[0]) as u64 <= reach)
    };
    [1, 2, 4, 8].map(at_width).into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_come_back_and_blocks_out_of_order_are_refused() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(51));
        for count in [0, 1, 5, 200, 3000, 60_000] {
            let set: IntSet = (0..count).map(|_| rng.i64(..) >> rng.u32(20..60)).collect();
            let mut images = Vec::new();
            for block in set.blocks_from(i64::MIN).filter(|block| !block.is_empty()) {
                let mut image = Vec::new();
                block.image_into(&mut image);
                images.push(image);
            }
            let mut reader = BlockReader::new();
            images.iter().for_each(|image| reader.push(image).expect("they are in order"));
            let mut again = reader.finish();
            again.check_invariants();
            assert!(again.iter().eq(set.iter()), "{count}");
            let by_values = IntSet::of_sorted(&set.iter().collect::<Vec<_>>());
            by_values.check_invariants();
            assert!(by_values.iter().eq(set.iter()), "{count}");
            for value in set.iter().step_by(3) {
                assert!(
                    again.remove(value)
                        && again.insert(value)
                        && again.insert(value - 1) != set.contains(value - 1)
                );
            }
            again.check_invariants();
            if let [.., before, last] = &images[..] {
                let mut reader = BlockReader::new();
                assert!(reader.push(last).is_ok());
                assert!(reader.push(last).is_err() && reader.push(before).is_err());
            }
        }
    }
}
