//! Walking over a sorted set while it changes: a cursor is a place in the order of hashes.
//!
//! A member's hash never changes, so each that is in the set during a whole walk is returned, wherever its
//! score moves it, and exactly once. Cursors are the first 52 bits of a hash, which every client can hold in
//! a double.

use larder_packed::leaf::Leaf;
use std::ops::RangeInclusive;

use super::index::{hashes_between, tag_of};
use super::{Form, SortedSet};
use crate::key_table::KeyHash;

/// Bits of a hash that a cursor leaves out.
const CURSOR_SHIFT: u32 = 12;

/// An entry on its way out: its place in the order of hashes, leaf and place there.
type Found<'a> = (u64, &'a Leaf, usize);

impl<H: KeyHash> SortedSet<H> {
    /// Calls `f` with score and member of about `count` entries from `cursor` on, 0 at the start. Returns the cursor to go on
    /// with, 0 at the end. A small set is returned whole.
    pub fn scan(&self, cursor: u64, count: usize, mut f: impl FnMut(f64, &[u8])) -> u64 {
        if self.encoding() == super::SortedSetEncoding::Listpack {
            self.for_each(f);
            return 0;
        }
        if cursor >> (64 - CURSOR_SHIFT) != 0 {
            return 0;
        }
        let mut found = Vec::new();
        let next = self.collect(cursor << CURSOR_SHIFT, count.max(1), &mut found);
        found.sort_unstable_by_key(|entry| entry.0);
        let mut member = Vec::new();
        let mut last = None;
        for (i, &(place, leaf, at)) in found.iter().enumerate() {
            if i >= count.max(1) && last != Some(place) {
                return place;
            }
            last = Some(place);
            member.clear();
            leaf.member(at).append_to(&mut member);
            f(self.score_of(leaf.key(at), &member), &member);
        }
        next
    }

    /// Collects entries from hash `from` on, at least `count` of them if there are that many. Returns the cursor after them.
    fn collect<'a>(&'a self, mut from: u64, count: usize, found: &mut Vec<Found<'a>>) -> u64 {
        let tree = match &self.form {
            Form::Packed(leaf) => {
                return collect_by_tags::<H, _>(|| std::iter::once(leaf), from, count, found);
            }
            Form::Tree(tree) => tree,
        };
        let Some(index) = &tree.index else {
            return collect_by_tags::<H, _>(|| tree.leaves.iter(), from, count, found);
        };
        loop {
            let next = index.leaves_from(from, count - found.len());
            for (i, &id) in next.ids.iter().enumerate() {
                if let Some(&ahead) = next.ids.get(i + 8) {
                    tree.leaves.get(ahead).prefetch();
                }
                take::<H>(tree.leaves.get(id), from..=next.end.wrapping_sub(1), found);
            }
            if next.end == 0 || found.len() >= count {
                return next.end >> CURSOR_SHIFT;
            }
            from = next.end;
        }
    }
}

/// The same in leaves without an index: tags say which members are the next, so that others need not be hashed.
fn collect_by_tags<'a, H: KeyHash, I: Iterator<Item = &'a Leaf>>(
    leaves: impl Fn() -> I,
    from: u64,
    count: usize,
    found: &mut Vec<Found<'a>>,
) -> u64 {
    let mut counts = [0_usize; 256];
    leaves().flat_map(Leaf::tags).for_each(|&tag| counts[usize::from(tag)] += 1);
    let first = usize::from(tag_of(from));
    // Of those of the first tag some may lie before.
    if from.trailing_zeros() < u64::BITS - u8::BITS {
        counts[first] = 0;
    }
    let mut have = 0;
    let last = (first..=255).find(|&tag| {
        have += counts[tag];
        have >= count
    });
    let end = last.map_or(0, |last| (last as u64 + 1) << (u64::BITS - u8::BITS));
    leaves().for_each(|leaf| take::<H>(leaf, from..=end.wrapping_sub(1), found));
    end >> CURSOR_SHIFT
}

/// Collects the entries of a leaf whose hashes lie in a range.
fn take<'a, H: KeyHash>(leaf: &'a Leaf, range: RangeInclusive<u64>, found: &mut Vec<Found<'a>>) {
    hashes_between(leaf, range, H::hash, |hash, i| found.push((hash >> CURSOR_SHIFT, leaf, i)));
}
