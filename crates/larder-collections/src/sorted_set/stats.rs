//! What a sorted set tells about itself.

use super::{Form, SortedSet};
use crate::key_table::KeyHash;

/// What OBJECT ENCODING calls a sorted set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortedSetEncoding {
    /// Never had more members, or longer ones, than the limits allowed.
    Listpack,
    /// Had once.
    Skiplist,
}

impl<H: KeyHash> SortedSet<H> {
    /// What OBJECT ENCODING calls the set. Once it was large it stays so.
    pub fn encoding(&self) -> SortedSetEncoding {
        let large = match &self.form {
            Form::Packed(leaf) => leaf.mark(),
            Form::Tree(tree) => tree.large,
        };
        if large { SortedSetEncoding::Skiplist } else { SortedSetEncoding::Listpack }
    }

    /// Allocations, roughly: what freeing the set costs.
    pub fn node_count(&self) -> u64 {
        match &self.form {
            Form::Packed(_) => 1,
            Form::Tree(tree) => {
                let segments = tree.index.as_ref().map_or(0, |index| index.segment_count());
                (tree.leaves.len() + segments) as u64
            }
        }
    }

    /// Heap bytes of the set. Exact when `samples` is 0; else only that many leaves are looked at, and the rest is taken to
    /// be like them.
    pub fn memory_bytes(&self, samples: u64) -> u64 {
        let tree = match &self.form {
            Form::Packed(leaf) => return leaf.heap_bytes() as u64,
            Form::Tree(tree) => tree,
        };
        let leaves = tree.leaves.len() as u64;
        let seen = if samples == 0 { leaves } else { samples.min(leaves) };
        let sum: u64 = tree.leaves.iter().take(seen as usize).map(|leaf| leaf.heap_bytes() as u64).sum();
        let mut rest = size_of_val(&**tree) + 16 + tree.leaves.heap_bytes();
        rest += tree.zeros.heap_bytes();
        tree.root.for_each(&mut |node| rest += node.heap_bytes());
        rest += tree.index.as_ref().map_or(0, |index| index.heap_bytes());
        rest as u64 + (u128::from(sum) * u128::from(leaves) / u128::from(seen.max(1))) as u64
    }
}
