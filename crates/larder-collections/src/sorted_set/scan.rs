//! Walking over a sorted set while it changes: a cursor is a place in the order of hashes.
//!
//! A member's hash never changes, so each that is in the set during a whole walk is returned, wherever its
//! score moves it, and exactly once. Cursors are the first 52 bits of a hash, which every client can hold in
//! a double.

use larder_packed::leaf::Leaf;

use super::index::hashes_of;
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
        let start = from >> CURSOR_SHIFT;
        let mut take = |leaf: &'a Leaf, bits, prefix| {
            hashes_of(leaf, bits, prefix, H::hash, |hash, i| {
                if hash >> CURSOR_SHIFT >= start {
                    found.push((hash >> CURSOR_SHIFT, leaf, i));
                }
            });
            found.len()
        };
        let tree = match &self.form {
            Form::Packed(leaf) => {
                take(leaf, 0, 0);
                return 0;
            }
            Form::Tree(tree) => tree,
        };
        let Some(index) = &tree.index else {
            tree.leaves.iter().for_each(|leaf| {
                take(leaf, 0, 0);
            });
            return 0;
        };
        loop {
            let segment = index.leaves_from(from);
            let mut have = 0;
            for (i, &id) in segment.ids.iter().enumerate() {
                if let Some(&ahead) = segment.ids.get(i + 8) {
                    tree.leaves.get(ahead).prefetch();
                }
                have = take(tree.leaves.get(id), segment.bits, segment.prefix);
            }
            if segment.end == 0 || have >= count {
                return segment.end >> CURSOR_SHIFT;
            }
            from = segment.end;
        }
    }
}
