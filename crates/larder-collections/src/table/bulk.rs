//! A table of entries that are all known, as payloads and files bring them: each is written once, to the segment where it stays.
//!
//! One by one, an entry is looked for, its segment grows several times, and at every split half a segment is hashed and written again. Here
//! entries are sorted by position, the directory is split down to where they fit, and each segment is made with the room that it needs.
//! O(n log n), 16 bytes an entry while it is made.

use super::place::{DEPTH_SLACK, Place, SEGMENT_BYTES_MAX, SEGMENT_SLOTS_MAX};
use super::tree::Tree;
use super::tree::bits_for;
use super::{Shape, Table};
use crate::key_table::{KeyHash, position};
use larder_packed::segment::{Layout, Rows};
use std::sync::Arc;

/// An entry by its position.
#[derive(Clone, Copy)]
struct Sorted {
    position: u32,
    index: u32,
    hash: u64,
}

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// A table of these entries, none of which expires; None if a key is there twice.
    ///
    /// Panics if there are 2^32 entries or more.
    pub fn of_entries(entries: &[L::New<'_>]) -> Option<Self> {
        assert!(u32::try_from(entries.len()).is_ok(), "the caller has fewer");
        let size: usize = entries.iter().map(|&new| Rows::<L>::footprint_bytes(new)).sum();
        if fits::<L>(entries.len(), size) {
            let mut table = Table::with_room(entries.len(), size);
            return entries.iter().all(|&new| table.insert(new)).then_some(table);
        }
        let sort = |(index, &new): (usize, &L::New<'_>)| {
            let hash = H::hash(L::new_key(new));
            Sorted { position: position(hash), index: index as u32, hash }
        };
        let mut sorted: Vec<Sorted> = entries.iter().enumerate().map(sort).collect();
        sorted.sort_unstable_by_key(|entry| (entry.position, entry.hash));
        let key = |entry: &Sorted| L::new_key(entries[entry.index as usize]);
        let is_twice = |run: &[Sorted]| {
            run.len() > 1
                && (1..run.len()).any(|at| run[..at].iter().any(|other| key(other) == key(&run[at])))
        };
        if sorted.chunk_by(|a, b| a.hash == b.hash).any(is_twice) {
            return None;
        }
        // No deeper than a table of full segments would let them lie; what does not fit there is put in one by one.
        let segments = (entries.len() / SEGMENT_SLOTS_MAX).max(size / SEGMENT_BYTES_MAX).max(1);
        let depth_max = segments.ilog2() + DEPTH_SLACK;
        let mut bulk =
            Bulk { tree: Tree::of(Rows::with_room(0, 0), false), entries, depth_max, rest: Vec::new() };
        bulk.fill::<H>(0, 0, &sorted);
        let Bulk { mut tree, rest, .. } = bulk;
        for entry in rest {
            tree.put::<H>(Place::of(entry.hash), entries[entry.index as usize], false);
        }
        Some(Table::of(Shape::Tree(Arc::new(tree))))
    }
}

/// Whether one segment takes this many entries of this many bytes in all.
fn fits<L: Layout>(slots: usize, bytes: usize) -> bool {
    slots <= SEGMENT_SLOTS_MAX && Rows::<L>::content_of(slots, bytes) <= SEGMENT_BYTES_MAX
}

/// A tree that is being filled.
struct Bulk<'a, 'n, L: Layout> {
    tree: Tree<L>,
    entries: &'a [L::New<'n>],
    depth_max: u32,
    /// Entries that did not fit.
    rest: Vec<Sorted>,
}

impl<L: Layout> Bulk<'_, '_, L> {
    /// Fills the empty segment of a depth that begins at a position, and splits it before if need be.
    fn fill<H: KeyHash>(&mut self, start: u32, depth: u32, sorted: &[Sorted]) {
        let entry = |sorted: &Sorted| self.entries[sorted.index as usize];
        let size: usize = sorted.iter().map(|sorted| Rows::<L>::footprint_bytes(entry(sorted))).sum();
        if !fits::<L>(sorted.len(), size)
            && sorted.len() > 1
            && depth < self.depth_max.min(self.tree.depth_max())
        {
            self.tree.split::<H>(start);
            let middle = start | 1 << (u32::BITS - 1 - depth);
            let (left, right) = sorted.split_at(sorted.partition_point(|sorted| sorted.position < middle));
            self.fill::<H>(start, depth + 1, left);
            self.fill::<H>(middle, depth + 1, right);
            return;
        }
        let (mut count, mut out_bytes) = (0, 0);
        let entries = self.entries;
        self.tree.update(start, |rows| {
            *rows = Rows::with_room(sorted.len().min(SEGMENT_SLOTS_MAX), size.min(SEGMENT_BYTES_MAX));
            rows.set_depth(depth);
            for sorted in sorted {
                let new = entries[sorted.index as usize];
                if count >= SEGMENT_SLOTS_MAX || rows.content_with(new) > SEGMENT_BYTES_MAX {
                    break;
                }
                rows.insert(Place::of(sorted.hash).tag, new);
                out_bytes += L::new_out_bytes(new);
                count += 1;
            }
        });
        self.tree.len += count;
        self.tree.heap_bytes += out_bytes;
        self.tree.sample_bits = self.tree.sample_bits.max(bits_for(count));
        self.rest.extend_from_slice(&sorted[count..]);
    }
}
