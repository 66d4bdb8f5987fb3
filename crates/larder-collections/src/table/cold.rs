//! Walks over values that lie out of line, for the thread that compresses them.

use super::tree::leaf_start;
use super::{FieldValue, Place, Row, Shape, Table};
use crate::key_table::KeyHash;
use larder_packed::segment::{OutText, Walked};
use std::sync::Arc;

/// The most segments that one call looks into, and that it passes by.
const LOOKED_INTO_MAX: usize = 16;
const PASSED_BY_MAX: usize = 1024;

impl<H: KeyHash> Table<FieldValue, H> {
    /// Calls `visit` with the entries from a position on whose values lie out of line, and with what the walk that it counts finds out about
    /// each, until it returns false. Looks into 16 segments at most; returns the position to go on from, or None at the end. Tables of one
    /// segment have no walks.
    pub(crate) fn walk_values<'a>(
        &'a self,
        from: u32,
        all: bool,
        mut visit: impl FnMut(Row<'a, FieldValue>, Walked) -> bool,
    ) -> Option<u32> {
        let Shape::Tree(tree) = &self.shape else { return None };
        let (mut at, mut looked_into) = (from, 0);
        for _ in 0..PASSED_BY_MAX {
            let rows = tree.root.leaf(at).rows();
            let mut goes_on = true;
            if rows.may_have_outs() {
                looked_into += 1;
                for row in rows.rows() {
                    if let Some(walked) = row.walk_value(all) {
                        goes_on &= visit(row, walked);
                    }
                }
            }
            let bytes = 1_u64 << (u32::BITS - rows.depth());
            at = u32::try_from(u64::from(leaf_start(at, rows.depth())) + bytes).ok()?;
            if !goes_on || looked_into == LOOKED_INTO_MAX {
                break;
            }
        }
        Some(at)
    }

    /// Puts another form of the same string in the place of a key's value, if it is still `old`, and nobody shares the table. Returns whether it
    /// did.
    pub(crate) fn change_value(&mut self, key: &[u8], old: &OutText, new: OutText) -> bool {
        let place = Place::of(H::hash(key));
        let Shape::Tree(tree) = &mut self.shape else { return false };
        let Some(tree) = Arc::get_mut(tree) else { return false };
        let rows = tree.root.leaf_mut(place.position).rows_mut();
        let Some(slot) = rows.find(place.tag, key).map(Row::slot) else { return false };
        let Some((before, after)) = rows.change_value(slot, old, new) else { return false };
        tree.heap_bytes = tree.heap_bytes + after - before;
        true
    }

    /// Frees the plain copy of a key's compressed value, if nobody shares it.
    pub(crate) fn clear_value(&mut self, key: &[u8]) {
        let place = Place::of(H::hash(key));
        let Shape::Tree(tree) = &mut self.shape else { return };
        let Some(tree) = Arc::get_mut(tree) else { return };
        let rows = tree.root.leaf_mut(place.position).rows_mut();
        if let Some(slot) = rows.find(place.tag, key).map(Row::slot) {
            rows.clear_value(slot);
        }
    }
}
