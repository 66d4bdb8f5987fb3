//! Segments, and values that lie out of line, as the thread that compresses them sees them.

use super::tree::{Tree, leaf_start};
use super::walk::Leaves;
use super::{FieldValue, Layout, Place, Shape, Table};
use crate::cold::parts::SegmentPart;
use crate::key_table::KeyHash;
use larder_packed::segment::{LeafRows, OutText, Rows, Slot};
use std::sync::Arc;

/// The most segments that one call looks into, and that it passes by.
const LOOKED_INTO_MAX: usize = 16;
const PASSED_BY_MAX: usize = 256;

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// The segment of a table of one.
    pub(crate) fn as_segment(&self) -> Option<&Rows<L>> {
        match &self.shape {
            Shape::Small { rows, .. } => Some(rows),
            _ => None,
        }
    }

    /// Whether there are segments that may be compressed one by one: a table of one is small enough to be compressed as a whole.
    pub(crate) fn has_segments(&self) -> bool {
        matches!(&self.shape, Shape::Tree(_))
    }

    /// Number of compressed segments. O(1).
    pub(crate) fn cold_segments(&self) -> usize {
        match &self.shape {
            Shape::Tree(tree) => tree.cold_segments as usize,
            _ => 0,
        }
    }

    /// Calls `visit` with all segments of a tree.
    pub(crate) fn each_segment<'a>(&'a self, mut visit: impl FnMut(&'a LeafRows<L>)) {
        if let Shape::Tree(tree) = &self.shape {
            Leaves::of(&tree.root).for_each(|leaf| visit(leaf.segment()));
        }
    }

    /// Calls `visit` with the segments of a tree from a position on, and their first positions. It says whether to go on, or None for a segment
    /// in which nothing is to be done. Looks into 16 segments at most; returns the position to go on from, or None at the end. Passes by a tree, and
    /// segments of one, that a clone shares: they could not be changed.
    pub(crate) fn walk_segments<'a>(
        &'a self,
        from: u32,
        mut visit: impl FnMut(u32, &'a LeafRows<L>) -> Option<bool>,
    ) -> Option<u32> {
        let Shape::Tree(tree) = &self.shape else { return None };
        if Arc::strong_count(tree) > 1 {
            return None;
        }
        let (mut at, mut looked_into) = (from, 0);
        for _ in 0..PASSED_BY_MAX {
            let (leaf, depth) = tree.root.leaf_with_depth(at);
            let start = leaf_start(at, depth);
            let goes_on = if tree.root.is_own(at) { visit(start, leaf.segment()) } else { None };
            looked_into += usize::from(goes_on.is_some());
            at = u32::try_from(u64::from(start) + (1 << (u32::BITS - depth))).ok()?;
            if goes_on == Some(false) || looked_into == LOOKED_INTO_MAX {
                break;
            }
        }
        Some(at)
    }

    /// The tag of a key.
    pub(crate) fn tag_of(key: &[u8]) -> u8 {
        Place::of(H::hash(key)).tag
    }

    /// Puts another form of a segment in its place if it is still the same. Without an old form it frees the plain copy, without a new one it
    /// notes that the segment stays plain. Does nothing to what is shared. Returns what it has replaced.
    pub(crate) fn change_segment(
        &mut self,
        part: &SegmentPart<L>,
        new: Option<LeafRows<L>>,
    ) -> Option<LeafRows<L>> {
        let Shape::Tree(tree) = &mut self.shape else { return None };
        let tree = Arc::get_mut(tree)?;
        match (&part.old, new) {
            (Some(old), Some(new)) => {
                let is_same = tree.root.own_leaf_mut(part.at)?.segment().is_same(old);
                is_same.then(|| tree.replace_segment(part.at, new))
            }
            (Some(old), None) => {
                old.set_stays();
                None
            }
            (None, _) => {
                tree.root.own_leaf_mut(part.at)?.segment_mut().clear();
                None
            }
        }
    }
}

impl<L: Layout> Tree<L> {
    /// Puts another form of a segment in its place, and counts again. Returns the one before.
    pub(super) fn replace_segment(&mut self, at: u32, new: LeafRows<L>) -> LeafRows<L> {
        self.count_segment(&new);
        let old = std::mem::replace(self.root.leaf_mut(at).segment_mut(), new);
        self.uncount_segment(&old);
        old
    }

    fn count_segment(&mut self, segment: &LeafRows<L>) {
        if segment.is_cold() {
            self.cold_segments += 1;
            self.cold_bytes += segment.heap_bytes();
        } else {
            self.heap_bytes += segment.heap_bytes();
        }
    }

    fn uncount_segment(&mut self, segment: &LeafRows<L>) {
        if segment.is_cold() {
            self.cold_segments -= 1;
            self.cold_bytes -= segment.heap_bytes();
        } else {
            self.heap_bytes -= segment.heap_bytes();
        }
    }
}

impl<H: KeyHash> Table<FieldValue, H> {
    /// Puts another form of the same string in the place of a key's value, if it is still `old`, and nobody shares the table. Returns whether it
    /// did.
    pub(crate) fn change_value(&mut self, key: &[u8], old: &OutText, new: OutText) -> bool {
        let Some((rows, slot, heap_bytes)) = self.own_rows(key) else { return false };
        let Some((before, after)) = rows.change_value(slot, old, new) else { return false };
        if let Some(heap_bytes) = heap_bytes {
            *heap_bytes = *heap_bytes + after - before;
        }
        true
    }

    /// Frees the plain copy of a key's compressed value, if nobody shares it.
    pub(crate) fn clear_value(&mut self, key: &[u8]) {
        if let Some((rows, slot, _)) = self.own_rows(key) {
            rows.clear_value(slot);
        }
    }

    /// The segment of a key, its slot there, and the count of bytes that includes the segment's, if there is one. None without such a key, for
    /// a segment that is compressed, and for what is shared.
    fn own_rows(&mut self, key: &[u8]) -> Option<(&mut Rows<FieldValue>, Slot, Option<&mut usize>)> {
        let place = Place::of(H::hash(key));
        let (rows, heap_bytes) = match &mut self.shape {
            Shape::Run { .. } => return None,
            Shape::Small { rows, .. } => (rows, None),
            Shape::Tree(tree) => {
                let tree = Arc::get_mut(tree)?;
                let segment = tree.root.own_leaf_mut(place.position)?.segment_mut();
                segment.plain()?;
                (segment.rows_mut(), Some(&mut tree.heap_bytes))
            }
        };
        let slot = rows.find(place.tag, key)?.slot();
        Some((rows, slot, heap_bytes))
    }
}
