//! Values by rank, and hence uniform samples.

use super::IntSet;

impl IntSet {
    /// The value with `rank` smaller ones in the set. O(log n).
    pub fn select(&self, rank: u64) -> Option<i64> {
        match self {
            IntSet::Packed(block) => block.get(usize::try_from(rank).ok()?),
            IntSet::Tree(tree) => tree.0.tree.select(rank),
        }
    }

    /// Number of values below `value`. O(log n).
    pub fn rank(&self, value: i64) -> u64 {
        match self {
            IntSet::Packed(block) => block.search(value).unwrap_or_else(|at| at) as u64,
            IntSet::Tree(tree) => tree.0.tree.rank(value),
        }
    }
}
