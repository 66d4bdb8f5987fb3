//! Walks over values that lie out of line, for the thread that compresses them.

use super::tree::leaf_start;
use super::{FieldValue, Place, Row, Shape, Table};
use crate::key_table::KeyHash;
use larder_packed::segment::{OutText, Rows, Slot, Walked};
use std::sync::Arc;

/// The most segments that one call looks into, and that it passes by.
const LOOKED_INTO_MAX: usize = 16;
const PASSED_BY_MAX: usize = 1024;

impl<H: KeyHash> Table<FieldValue, H> {
    /// Calls `visit` with the entries from a position on whose values lie out of line, and with what the walk that it counts finds out about
    /// each, until it returns false. Looks into 16 segments at most; returns the position to go on from, or None at the end. Passes by what is shared
    /// with a clone: it could not be changed.
    pub(crate) fn walk_values<'a>(
        &'a self,
        from: u32,
        all: bool,
        mut visit: impl FnMut(Row<'a, FieldValue>, Walked) -> bool,
    ) -> Option<u32> {
        let tree = match &self.shape {
            Shape::Run { .. } => return None,
            Shape::Small { rows, .. } => {
                walk_rows(rows, all, &mut visit);
                return None;
            }
            Shape::Tree(tree) if Arc::strong_count(tree) > 1 => return None,
            Shape::Tree(tree) => tree,
        };
        let (mut at, mut looked_into) = (from, 0);
        for _ in 0..PASSED_BY_MAX {
            let rows = tree.root.leaf(at).rows();
            let goes_on = walk_rows(rows, all, &mut visit);
            looked_into += usize::from(goes_on.is_some());
            let bytes = 1_u64 << (u32::BITS - rows.depth());
            at = u32::try_from(u64::from(leaf_start(at, rows.depth())) + bytes).ok()?;
            if goes_on == Some(false) || looked_into == LOOKED_INTO_MAX {
                break;
            }
        }
        Some(at)
    }

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

    /// The segment of a key, its slot there, and the count of bytes that includes the segment's, if there is one. None without such a key, and
    /// for a tree that is shared.
    fn own_rows(&mut self, key: &[u8]) -> Option<(&mut Rows<FieldValue>, Slot, Option<&mut usize>)> {
        let place = Place::of(H::hash(key));
        let (rows, heap_bytes) = match &mut self.shape {
            Shape::Run { .. } => return None,
            Shape::Small { rows, .. } => (rows, None),
            Shape::Tree(tree) => {
                let tree = Arc::get_mut(tree)?;
                (tree.root.leaf_mut(place.position).rows_mut(), Some(&mut tree.heap_bytes))
            }
        };
        let slot = rows.find(place.tag, key)?.slot();
        Some((rows, slot, heap_bytes))
    }
}

/// Calls `visit` with the entries of a segment that is not shared; whether it has always returned true. None if no value lies out of line there.
fn walk_rows<'a>(
    rows: &'a Rows<FieldValue>,
    all: bool,
    visit: &mut impl FnMut(Row<'a, FieldValue>, Walked) -> bool,
) -> Option<bool> {
    if !rows.may_have_outs() || rows.is_shared() {
        return None;
    }
    let mut goes_on = true;
    for row in rows.rows() {
        if let Some(walked) = row.walk_value(all) {
            goes_on &= visit(row, walked);
        }
    }
    Some(goes_on)
}
