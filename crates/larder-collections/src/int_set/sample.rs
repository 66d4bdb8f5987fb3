//! Values by rank, and hence uniform samples.

use super::IntSet;
use super::node::{Inner, Leaf, Node};

impl IntSet {
    /// The value with `rank` smaller ones in the set. O(log n).
    pub fn select(&self, rank: u64) -> Option<i64> {
        let tree = match self {
            IntSet::Packed(block) => return block.get(usize::try_from(rank).ok()?),
            IntSet::Tree(tree) => tree,
        };
        let (mut node, mut left) = (&*tree.0.root, rank);
        if rank >= tree.0.len {
            return None;
        }
        loop {
            match node {
                Node::Inner(Inner(branch)) => node = &branch.children[branch.find_rank(&mut left)],
                Node::Leaf(Leaf(branch)) => {
                    let at = branch.find_rank(&mut left);
                    return branch.children[at].get(left as usize);
                }
            }
        }
    }

    /// Number of values below `value`. O(log n).
    pub fn rank(&self, value: i64) -> u64 {
        let tree = match self {
            IntSet::Packed(block) => return block.search(value).unwrap_or_else(|at| at) as u64,
            IntSet::Tree(tree) => tree,
        };
        let (mut node, mut before) = (&*tree.0.root, 0);
        loop {
            match node {
                Node::Inner(Inner(branch)) => {
                    let at = branch.find(value);
                    before += branch.counts[..at].iter().sum::<u64>();
                    node = &branch.children[at];
                }
                Node::Leaf(Leaf(branch)) => {
                    let at = branch.find(value);
                    before += branch.counts.iter().take(at).map(|&count| u64::from(count)).sum::<u64>();
                    let in_block =
                        branch.children.get(at).map_or(0, |b| b.search(value).unwrap_or_else(|at| at));
                    return before + in_block as u64;
                }
            }
        }
    }
}
