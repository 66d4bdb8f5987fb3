//! The sorted set: members with scores, in order of (score, member), found by member, by score and by rank.
//!
//! What it is: one packed leaf while it is small; above that a counted B+ tree of such leaves; above that the same with an
//! index from members to leaves. Why not a skip list beside a hash table, as Redis has: that is two allocations, five
//! pointers and a hash entry for each member, 90 bytes and more for 24 bytes of data. Scores and members are compressed
//! in their leaf (see `larder_packed::leaf`), and nothing points to a member.
//!
//! | | cost |
//! |---|---|
//! | memory, small | 32 bytes + the entries packed: 1 + score 0-8 + length 0-4 + what members do not share |
//! | memory, large | the same, 8 % for room in the leaves, half a byte of inner nodes and 4.5 bytes of index a member |
//! | score of a member | a scan of tags; O(1) above 8 leaves |
//! | rank of a member or a score, entry at a rank, insert, remove | O(log n) |
//! | remove a range, visit a range | O(log n + entries) |
//! | count by score or member | O(log n) |
//! | clone | O(1): everything is shared, and copied leaf by leaf on write |
//!
//! ```text
//!   Packed(Leaf)             up to 4 KB, no score of -0 that is to be remembered
//!
//!   Tree(Arc)  root -> Node [bound | count | child] -> ... -> leaf id -> leaves (chunks of 64) -> Leaf, up to 1 KB
//!              index (above 8 leaves): hash of member -> segment -> (fragment, leaf id)
//!              zeros (if there are any): the members whose score is -0
//! ```
//!
//! Invariants:
//! - T1: all leaves are at the same depth, a node has at most 64 children, a leaf with two entries or more takes at most
//!   1 KB (4 KB when it is the whole set).
//! - T2: every node knows how many entries are below each child; `len` is their sum.
//! - T3: entries of a child lie between its bound and the next; no leaf and no node below the root is empty.
//! - T4: the store of leaves holds exactly those that hang in the tree.
//! - T5: a tree of more than 8 leaves has an index, one of fewer than 4 has none.
//! - T6: the tag of an entry is the first 8 bits of its member's hash.
//!
//! Tested by the model test in `tests` beside this file.

mod build;
mod edit;
mod image;
mod index;
mod limits;
mod node;
mod range;
mod scan;
mod score;
mod slab;
mod stats;
#[cfg(test)]
mod tests;
mod tree;
mod zeros;

use std::marker::PhantomData;
use std::sync::Arc;

use larder_packed::heap::Mover;
use larder_packed::leaf::{Leaf, Target};

use crate::key_table::KeyHash;
use crate::member_hash::MemberHash;
use crate::relocation::move_arc;
use index::tag_of;
use score::{key_of, score_of};
use tree::{Position, Tree};

pub use image::ImageReader;
pub use limits::{Limits, MEMBER_LEN_MAX};
pub use range::{Bound, Order};
pub use stats::SortedSetEncoding;

/// A tree of more leaves is not moved itself, only what it consists of.
const HEAD_LEAVES_MAX: usize = 100_000;

/// Lookups that are under way together.
const LOOKUPS: usize = 16;

/// See the module's comment. Cloning is O(1).
pub struct SortedSet<H = MemberHash> {
    pub(crate) form: Form,
    hash: PhantomData<fn() -> H>,
}

#[derive(Clone, Debug)]
/// What a sorted set is made of.
pub(crate) enum Form {
    Packed(Leaf),
    Tree(Arc<Tree>),
}

impl<H: KeyHash> SortedSet<H> {
    /// An empty sorted set.
    pub fn new() -> Self {
        Self::of(Form::Packed(Leaf::new()))
    }

    pub(crate) fn of(form: Form) -> Self {
        SortedSet { form, hash: PhantomData }
    }

    /// Number of members.
    #[inline]
    pub fn len(&self) -> u64 {
        match &self.form {
            Form::Packed(leaf) => leaf.len() as u64,
            Form::Tree(tree) => tree.len,
        }
    }

    /// True if there is no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The score of a member.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        let hash = H::hash(member);
        match &self.form {
            Form::Packed(leaf) => leaf.find(tag_of(hash), member).map(|at| score_of(leaf.key(at))),
            Form::Tree(tree) => {
                let Position { leaf, at } = tree.find(hash, member)?;
                Some(tree.zeros.score(tree.leaves.get(leaf).key(at), member))
            }
        }
    }

    /// Calls `f` with the score of each of several members, in their order. In a large set this is faster than one [`score`](Self::score)
    /// after the other: the memory of all lookups is on its way before the first one waits for it.
    pub fn scores<'m>(&self, members: impl Iterator<Item = &'m [u8]>, mut f: impl FnMut(Option<f64>)) {
        let Form::Tree(tree) = &self.form else { return members.for_each(|member| f(self.score(member))) };
        let (mut members, mut batch) = (members, Vec::with_capacity(LOOKUPS));
        loop {
            batch.extend(members.by_ref().take(LOOKUPS).map(|member| (H::hash(member), member)));
            if batch.is_empty() {
                return;
            }
            tree.prefetch(batch.iter().map(|&(hash, _)| hash));
            for (hash, member) in batch.drain(..) {
                let found = tree.find(hash, member);
                f(found.map(|Position { leaf, at }| tree.zeros.score(tree.leaves.get(leaf).key(at), member)));
            }
        }
    }

    /// Asks the processor to load what lookups of members with these hashes read in a large set.
    pub fn prefetch_all(&self, hashes: &[u64]) {
        if let Form::Tree(tree) = &self.form {
            tree.prefetch(hashes.iter().copied());
        }
    }

    /// The number of entries before a member, and its score.
    pub fn rank(&self, member: &[u8]) -> Option<(u64, f64)> {
        let hash = H::hash(member);
        match &self.form {
            Form::Packed(leaf) => {
                let at = leaf.find(tag_of(hash), member)?;
                Some((at as u64, score_of(leaf.key(at))))
            }
            Form::Tree(tree) => {
                let Position { leaf, at } = tree.find(hash, member)?;
                let key = tree.leaves.get(leaf).key(at);
                let (_, before) = tree.descend(&Target { key, member, past_equal: false });
                Some((before + at as u64, tree.zeros.score(key, member)))
            }
        }
    }

    /// Moves the set's blocks, those that lie in sparse slabs and are not shared.
    pub(crate) fn move_blocks(&mut self, mover: &mut Mover) {
        match &mut self.form {
            Form::Packed(leaf) => leaf.move_block(mover),
            // A clone of a very large tree's head takes long: it stays.
            Form::Tree(tree) if tree.leaves.len() > HEAD_LEAVES_MAX => {
                if let Some(tree) = Arc::get_mut(tree) {
                    tree.move_blocks(mover);
                }
            }
            Form::Tree(tree) => {
                if let Some(tree) = move_arc(tree, mover) {
                    tree.move_blocks(mover);
                }
            }
        }
    }

    /// The score of a member with this key.
    fn score_of(&self, key: u64, member: &[u8]) -> f64 {
        match &self.form {
            Form::Packed(_) => score_of(key),
            Form::Tree(tree) => tree.zeros.score(key, member),
        }
    }

    /// Panics if an invariant of the module's comment is violated. O(n).
    pub fn check_invariants(&self) {
        match &self.form {
            Form::Packed(leaf) => {
                leaf.check_invariants();
                assert!(leaf.heap_bytes() <= limits::PACKED_BYTES_MAX || leaf.len() == 1, "T1: leaf size");
            }
            Form::Tree(tree) => {
                tree.check_invariants();
                assert!(tree.leaves.len() > 1 || !tree.zeros.is_empty(), "T1: one leaf is the whole set");
                tree.zeros.check_invariants(|member| self.score(member).is_some_and(|score| score == 0.0));
                assert!(tree.large || tree.zeros.is_empty(), "Z2");
            }
        }
    }
}

impl<H> Clone for SortedSet<H> {
    fn clone(&self) -> Self {
        SortedSet { form: self.form.clone(), hash: PhantomData }
    }
}

impl<H: KeyHash> Default for SortedSet<H> {
    fn default() -> Self {
        SortedSet::new()
    }
}

impl<H> std::fmt::Debug for SortedSet<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.form.fmt(f)
    }
}
