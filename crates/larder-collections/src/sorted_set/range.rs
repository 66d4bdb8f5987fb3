//! Reading by rank, score or member: every range becomes a range of ranks, which is visited leaf by leaf.

use std::ops::{ControlFlow, Range};

use larder_packed::leaf::{Leaf, Target};

use super::node::Node;
use super::slab::Slab;
use super::{Form, SortedSet, key_of, score_of};
use crate::key_table::KeyHash;

/// Which way to visit a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the least to the greatest.
    Ascending,
    /// From the greatest to the least.
    Descending,
}

/// A place between entries, as one end of a range gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound<'a> {
    /// Before all entries.
    Start,
    /// Before the entries of this score.
    BeforeScore(f64),
    /// After the entries of this score.
    AfterScore(f64),
    /// Before this member; all entries should have the same score.
    BeforeMember(&'a [u8]),
    /// After this member; all entries should have the same score.
    AfterMember(&'a [u8]),
    /// After all entries.
    End,
}

impl<H: KeyHash> SortedSet<H> {
    /// Number of entries before a place. O(log n).
    pub fn entries_before(&self, bound: &Bound<'_>) -> u64 {
        let target = match *bound {
            Bound::Start => return 0,
            Bound::End => return self.len(),
            _ if self.is_empty() => return 0,
            Bound::BeforeScore(score) => Target { key: key_of(score), member: &[], past_equal: false },
            // The next key; those of infinity are far from the end.
            Bound::AfterScore(score) => Target { key: key_of(score) + 1, member: &[], past_equal: false },
            Bound::BeforeMember(member) => Target { key: self.first_key(), member, past_equal: false },
            Bound::AfterMember(member) => Target { key: self.first_key(), member, past_equal: true },
        };
        match &self.form {
            Form::Packed(leaf) => leaf.rank(&target) as u64,
            Form::Tree(tree) => tree.rank(&target),
        }
    }

    /// The ranks between two places; empty if they are in the wrong order.
    pub fn ranks(&self, from: &Bound<'_>, to: &Bound<'_>) -> Range<u64> {
        let (from, to) = (self.entries_before(from), self.entries_before(to));
        from..to.max(from)
    }

    /// Calls `f` with score and member of the entries of these ranks, which are cut off at the set's length.
    ///
    /// O(log n + entries).
    pub fn visit<B>(
        &self,
        ranks: Range<u64>,
        order: Order,
        mut f: impl FnMut(f64, &[u8]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let ranks = ranks.start.min(self.len())..ranks.end.min(self.len());
        if ranks.is_empty() {
            return ControlFlow::Continue(());
        }
        let mut scratch = Vec::new();
        match &self.form {
            Form::Packed(leaf) => {
                visit_leaf(leaf, &ranks, order, &mut scratch, |key, member| f(score_of(key), member))
            }
            Form::Tree(tree) => {
                let f = |key, member: &[u8]| f(tree.zeros.score(key, member), member);
                Visit { leaves: &tree.leaves, scratch, f }.below(&tree.root, &ranks, order)
            }
        }
    }

    /// Calls `f` with all entries, ascending.
    pub fn for_each(&self, mut f: impl FnMut(f64, &[u8])) {
        let _ = self.visit(0..self.len(), Order::Ascending, |score, member| {
            f(score, member);
            ControlFlow::<()>::Continue(())
        });
    }

    /// Calls `f` with the entry at a rank, if there is one. O(log n).
    pub fn with_entry<R>(&self, rank: u64, f: impl FnOnce(f64, &[u8]) -> R) -> Option<R> {
        let mut f = Some(f);
        let visited = self.visit(rank..rank.saturating_add(1), Order::Ascending, |score, member| {
            ControlFlow::Break(f.take().map(|f| f(score, member)))
        });
        visited.break_value().flatten()
    }

    fn first_key(&self) -> u64 {
        match &self.form {
            Form::Packed(leaf) => leaf.key(0),
            Form::Tree(tree) => tree.leaves.get(tree.descend_rank(0).leaf).key(0),
        }
    }
}

struct Visit<'a, F> {
    leaves: &'a Slab<Leaf>,
    scratch: Vec<u8>,
    f: F,
}

impl<B, F: FnMut(u64, &[u8]) -> ControlFlow<B>> Visit<'_, F> {
    /// Visits the entries of these ranks below a node; the ranks count from its first entry.
    fn below(&mut self, node: &Node, ranks: &Range<u64>, order: Order) -> ControlFlow<B> {
        let (first, first_before) = node.find_rank(ranks.start);
        let (last, last_before) = node.find_rank(ranks.end - 1);
        if node.is_bottom() && last - first < 4 {
            (first..=last).for_each(|i| self.leaves.get(node.leaf_id(i)).prefetch());
        }
        match order {
            Order::Ascending => {
                let mut before = first_before;
                for i in first..=last {
                    self.child(node, i, before, ranks, order)?;
                    before += node.count(i);
                }
            }
            Order::Descending => {
                let mut before = last_before;
                for i in (first..=last).rev() {
                    self.child(node, i, before, ranks, order)?;
                    before -= if i > first { node.count(i - 1) } else { 0 };
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Visits what the range has of child `i`, before which there are `before` entries.
    fn child(
        &mut self,
        node: &Node,
        i: usize,
        before: u64,
        ranks: &Range<u64>,
        order: Order,
    ) -> ControlFlow<B> {
        let own = ranks.start.saturating_sub(before)..(ranks.end - before).min(node.count(i));
        if node.is_bottom() {
            let leaf = self.leaves.get(node.leaf_id(i));
            return visit_leaf(leaf, &own, order, &mut self.scratch, &mut self.f);
        }
        self.below(&node.children[i], &own, order)
    }
}

fn visit_leaf<B>(
    leaf: &Leaf,
    ranks: &Range<u64>,
    order: Order,
    scratch: &mut Vec<u8>,
    f: impl FnMut(u64, &[u8]) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let range = ranks.start as usize..ranks.end as usize;
    match order {
        Order::Ascending => leaf.visit(range, scratch, f),
        Order::Descending => leaf.visit_rev(range, scratch, f),
    }
}
