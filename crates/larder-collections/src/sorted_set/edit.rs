//! Changing a sorted set: adding and removing members, and moving between the forms.

use std::sync::Arc;

use larder_packed::leaf::{Leaf, Target};

use super::limits::{Limits, MEMBER_LEN_MAX, PACKED_BYTES_MAX};
use super::stats::SortedSetEncoding;
use super::tree::{LEAF_BYTES_MAX, Position, SeekBy, Tree};
use super::zeros::is_negative_zero;
use super::{Form, SortedSet, key_of, score_of, tag_of};
use crate::key_table::KeyHash;

impl<H: KeyHash> SortedSet<H> {
    /// Adds a member or changes its score: `decide` gets the old score, if the member is there, and returns the new one,
    /// or None to leave things as they are. Returns the old score and what `decide` said.
    ///
    /// Panics if the member is longer than [`MEMBER_LEN_MAX`]. Scores must not be NaN.
    ///
    /// O(log n).
    pub fn update(
        &mut self,
        member: &[u8],
        limits: &Limits,
        decide: impl FnOnce(Option<f64>) -> Option<f64>,
    ) -> (Option<f64>, Option<f64>) {
        assert!(member.len() <= MEMBER_LEN_MAX, "the caller checks the length");
        let hash = H::hash(member);
        match &mut self.form {
            Form::Packed(leaf) => {
                let at = leaf.find(tag_of(hash), member);
                let old = at.map(|at| score_of(leaf.key(at)));
                let new = decide(old);
                if let Some(score) = new {
                    self.put_packed(at, hash, score, member, limits);
                }
                (old, new)
            }
            Form::Tree(shared) => {
                let position = shared.find(hash, member);
                let found =
                    position.map(|position| (position, shared.leaves.get(position.leaf).key(position.at)));
                let old = found.map(|(_, key)| shared.zeros.score(key, member));
                let new = decide(old);
                if let Some(score) = new {
                    self.put_in_tree(found, hash, score, member, limits);
                }
                (old, new)
            }
        }
    }

    /// Adds a member or gives it another score. True if it is new.
    pub fn add(&mut self, member: &[u8], score: f64, limits: &Limits) -> bool {
        self.update(member, limits, |_| Some(score)).0.is_none()
    }

    /// Removes a member; its score comes back. O(log n).
    pub fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let hash = H::hash(member);
        match &mut self.form {
            Form::Packed(leaf) => {
                let at = leaf.find(tag_of(hash), member)?;
                let key = leaf.key(at);
                leaf.remove(at..at + 1);
                Some(score_of(key))
            }
            Form::Tree(shared) => {
                let position = shared.find(hash, member)?;
                let key = shared.leaves.get(position.leaf).key(position.at);
                let target = Target { key, member, past_equal: false };
                let tree = Arc::make_mut(shared);
                tree.remove_run(SeekBy::Target(&target), 1, Some(hash), &mut |_, _| {});
                let score = tree.zeros.take(key, member);
                self.settle();
                Some(score)
            }
        }
    }

    /// Removes up to `count` entries from rank `from` on and shows them to `f`, ascending. Returns their number.
    ///
    /// O(log n + entries).
    pub fn remove_ranks(&mut self, from: u64, count: u64, mut f: impl FnMut(f64, &[u8])) -> u64 {
        let count = count.min(self.len().saturating_sub(from));
        let mut left = count;
        while left > 0 {
            left -= self.remove_some(from, left, &mut f);
        }
        count
    }

    /// Removes the entry of the highest score, if there is one, and shows it to `f`.
    pub fn pop_max(&mut self, f: impl FnMut(f64, &[u8])) {
        if let Some(last) = self.len().checked_sub(1) {
            self.remove_ranks(last, 1, f);
        }
    }

    fn remove_some(&mut self, from: u64, count: u64, f: &mut dyn FnMut(f64, &[u8])) -> u64 {
        match &mut self.form {
            Form::Packed(leaf) => {
                let range = from as usize..(from + count) as usize;
                let _ = leaf.visit(range.clone(), &mut Vec::new(), |key, member| {
                    f(score_of(key), member);
                    std::ops::ControlFlow::<()>::Continue(())
                });
                leaf.remove(range);
                count
            }
            Form::Tree(tree) => {
                let tree = Arc::make_mut(tree);
                let mut zeros = std::mem::take(&mut tree.zeros);
                let mut show = |key, member: &[u8]| f(zeros.take(key, member), member);
                let removed = tree.remove_run(SeekBy::Rank(from), count, None, &mut show);
                tree.zeros = zeros;
                self.settle();
                removed
            }
        }
    }

    /// Puts an entry into a set of one leaf, in place of the one at `old`; makes it a tree if it has become too large.
    fn put_packed(&mut self, old: Option<usize>, hash: u64, score: f64, member: &[u8], limits: &Limits) {
        let Form::Packed(leaf) = &mut self.form else { unreachable!("the caller looked") };
        let key = key_of(score);
        if let Some(at) = old {
            if leaf.key(at) == key {
                return;
            }
            let stays =
                (at == 0 || leaf.key(at - 1) < key) && (at + 1 == leaf.len() || key < leaf.key(at + 1));
            if stays && leaf.fits_key(key) {
                leaf.set_key(at, key);
                return self.note_sign(score, member);
            }
            leaf.remove(at..at + 1);
        }
        let at = leaf.rank(&Target { key, member, past_equal: false });
        leaf.insert(at, key, tag_of(hash), member);
        if (leaf.len() as u64 > limits.entries || member.len() > limits.member_len) && !leaf.mark() {
            leaf.set_mark(true);
        }
        if leaf.heap_bytes() > PACKED_BYTES_MAX && leaf.len() > 1 {
            self.make_tree();
        }
        self.note_sign(score, member);
    }

    /// Puts an entry into a tree, in place of the one at `old`, which has this key.
    fn put_in_tree(
        &mut self,
        old: Option<(Position, u64)>,
        hash: u64,
        score: f64,
        member: &[u8],
        limits: &Limits,
    ) {
        let Form::Tree(shared) = &mut self.form else { unreachable!("the caller looked") };
        let key = key_of(score);
        if old.is_some_and(|(_, old_key)| old_key == key) {
            return;
        }
        let tree = Arc::make_mut(shared);
        if let Some((position, old_key)) = old {
            tree.zeros.take(old_key, member);
            if tree.len == 1 {
                // It was a tree for the score of its only member, and trees cannot run empty.
                self.settle();
                return self.put_packed(Some(0), hash, score, member, limits);
            }
            if tree.set_key_in_place(position, key) {
                // It may have been a tree for the score that it has lost.
                self.settle();
                return self.note_sign(score, member);
            }
            let target = Target { key: old_key, member, past_equal: false };
            tree.remove_run(SeekBy::Target(&target), 1, Some(hash), &mut |_, _| {});
        }
        tree.insert(hash, key, member);
        tree.large = tree.large || tree.len > limits.entries || member.len() > limits.member_len;
        self.settle();
        self.note_sign(score, member);
    }

    /// Remembers that a member was given the score -0, if it was.
    #[inline]
    fn note_sign(&mut self, score: f64, member: &[u8]) {
        if is_negative_zero(score) {
            self.negate_zero(member);
        }
    }

    /// Makes the score of a member -0 if it is 0 and the set counts as large. For sets that are built entry by entry,
    /// whose size is that of the whole set from the beginning.
    pub fn negate_zero(&mut self, member: &[u8]) {
        if self.encoding() == SortedSetEncoding::Listpack || self.score(member) != Some(0.0) {
            return;
        }
        self.make_tree();
        if let Form::Tree(tree) = &mut self.form {
            Arc::make_mut(tree).zeros.insert(member);
        }
    }

    /// Makes a set of one leaf a tree.
    pub(super) fn make_tree(&mut self) {
        let Form::Packed(leaf) = &mut self.form else { return };
        let mut first = std::mem::replace(leaf, Leaf::new());
        let large = first.mark();
        let mut parts = first.divide(LEAF_BYTES_MAX);
        parts.insert(0, first);
        self.form = Form::Tree(Arc::new(Tree::of(parts, large, H::hash)));
    }

    /// Goes back to one leaf if there is only one left.
    fn settle(&mut self) {
        let Form::Tree(tree) = &mut self.form else { return };
        if tree.leaves.len() > 1 || !tree.zeros.is_empty() {
            return;
        }
        let large = tree.large;
        let mut leaf = Arc::make_mut(tree).take_single();
        if large {
            leaf.set_mark(true);
        }
        self.form = Form::Packed(leaf);
    }
}
