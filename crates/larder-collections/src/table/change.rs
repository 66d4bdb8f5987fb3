//! Changes: put, insert, remove, and the way between segment and tree.

use super::place::Sought;
use super::tree::Tree;
use super::{Place, Row, SEGMENT_BYTES_MAX, SEGMENT_SLOTS_MAX, Shape, Table};
use crate::key_table::KeyHash;
use larder_packed::segment::{Layout, Rows, Run};
use std::sync::Arc;

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// Adds an entry or replaces the one of the same key; true if the key was not there. A replaced entry keeps its place
    /// in the order of a small table.
    #[inline]
    pub fn put(&mut self, new: L::New<'_>) -> bool {
        self.add(None, new, true, Sought::Unknown)
    }

    /// As [`put`](Self::put), after [`get_hashed`](Self::get_hashed) of this hash has found the key in this slot, or nowhere, and nothing was
    /// changed since: the key is hashed and sought once.
    #[inline]
    pub fn put_found(&mut self, hash: u64, slot: Option<usize>, new: L::New<'_>) -> bool {
        debug_assert_eq!(slot, self.get_hashed(hash, L::new_key(new)).map(|row| row.slot().index()));
        self.add(Some(hash), new, true, slot.map_or(Sought::Absent, Sought::In))
    }

    /// Adds an entry unless its key is there; true if it was not.
    #[inline]
    pub fn insert(&mut self, new: L::New<'_>) -> bool {
        self.add(None, new, false, Sought::Unknown)
    }

    /// Removes a key; true if it was there.
    #[inline]
    pub fn remove(&mut self, key: &[u8]) -> bool {
        self.take(key, |_| ()).is_some()
    }

    /// Removes a key after showing its entry to `visit`.
    pub fn take<R>(&mut self, key: &[u8], visit: impl FnOnce(Row<'_, L>) -> R) -> Option<R> {
        match &mut self.shape {
            Shape::Run { run, .. } => {
                let row = run.find(key)?;
                let result = visit(row);
                run.remove(row.slot());
                Some(result)
            }
            Shape::Small { rows, .. } => {
                let row = rows.find(Place::of(H::hash(key)).tag, key)?;
                let result = visit(row);
                rows.remove_in_order(row.slot());
                if !self.become_run_if_it_can() {
                    self.shrink_small();
                }
                Some(result)
            }
            Shape::Tree(tree) => {
                let result = Arc::make_mut(tree).take(Place::of(H::hash(key)), key, visit)?;
                self.become_small_if_it_can();
                Some(result)
            }
        }
    }

    fn add(&mut self, hash: Option<u64>, new: L::New<'_>, replaces: bool, sought: Sought) -> bool {
        if let Shape::Run { run, .. } = &mut self.shape {
            if let Some(added) = add_to_run(run, new, replaces, sought) {
                return added;
            }
            self.become_segment();
        }
        let place = Place::of(hash.unwrap_or_else(|| H::hash(L::new_key(new))));
        if let Shape::Small { rows, .. } = &mut self.shape {
            if let Some(added) = add_small(rows, place, new, replaces, sought) {
                return added;
            }
            self.become_tree();
        }
        let added = self.tree_mut().put::<H>(place, new, replaces, sought);
        if !added && replaces {
            self.become_small_if_it_can();
        }
        added
    }

    /// The tree of a table that is one.
    pub(super) fn tree_mut(&mut self) -> &mut Tree<L> {
        match &mut self.shape {
            Shape::Run { .. } | Shape::Small { .. } => unreachable!("the caller has made it a tree"),
            Shape::Tree(tree) => Arc::make_mut(tree),
        }
    }

    /// Makes a small table a tree of one segment. O(1), and O(entries) of a run.
    pub(super) fn become_tree(&mut self) {
        self.become_segment();
        if let Shape::Small { rows, mark } = &mut self.shape {
            let rows = std::mem::replace(rows, Rows::with_room(0, 0));
            self.shape = Shape::Tree(Arc::new(Tree::of(rows, *mark)));
        }
    }

    /// Gives memory back around a position where something has gone.
    pub(super) fn settle(&mut self, position: u32) {
        if let Shape::Tree(tree) = &mut self.shape {
            Arc::make_mut(tree).settle(position);
        }
        self.become_small_if_it_can();
    }

    fn become_small_if_it_can(&mut self) {
        let Shape::Tree(tree) = &mut self.shape else { return };
        if tree.segments > 1 || tree.expiring > 0 {
            return;
        }
        let (mark, rows) = (tree.mark, tree.root.leaf(0).rows());
        // An overflowing segment stays a tree's: a small table promises the limits.
        if rows.page().content_bytes() <= SEGMENT_BYTES_MAX && rows.page().slots() <= SEGMENT_SLOTS_MAX {
            self.shape = Shape::Small { rows: rows.clone(), mark };
            self.become_run_if_it_can();
        }
    }

    fn shrink_small(&mut self) {
        if let Shape::Small { rows, .. } = &mut self.shape {
            rows.shrink();
        }
    }
}

/// Adds an entry to a run; None if the table has to become a segment before.
fn add_to_run<L: Layout>(run: &mut Run<L>, new: L::New<'_>, replaces: bool, sought: Sought) -> Option<bool> {
    let row = match sought {
        Sought::Unknown => run.find(L::new_key(new)),
        Sought::Absent => None,
        Sought::In(index) => run.row(index),
    };
    let found = row.map(|row| (row.slot(), row.entry_bytes()));
    if found.is_some() && !replaces {
        return Some(false);
    }
    if !run.takes(new, found.map(|(_, bytes)| bytes)) {
        return None;
    }
    match found {
        Some((slot, _)) => run.replace(slot, new),
        None => run.insert(new),
    }
    Some(found.is_none())
}

/// Adds an entry to the segment of a small table; None if the table has to become a tree before.
fn add_small<L: Layout>(
    rows: &mut Rows<L>,
    place: Place,
    new: L::New<'_>,
    replaces: bool,
    sought: Sought,
) -> Option<bool> {
    let row = sought.row(rows, place, L::new_key(new));
    let found = row.map(|row| (row.slot(), row.entry_bytes()));
    if found.is_some() && !replaces {
        return Some(false);
    }
    let added_bytes = L::entry_bytes(new).saturating_sub(found.map_or(0, |(_, bytes)| bytes));
    let large = rows.page().content_bytes() + rows.page().insert_bytes(added_bytes) > SEGMENT_BYTES_MAX;
    if large || L::new_expiry(new).is_some() {
        return None;
    }
    match found {
        Some((slot, _)) => rows.replace(slot, new),
        None if rows.page().slots() >= SEGMENT_SLOTS_MAX => return None,
        None => rows.insert(place.tag, new),
    }
    Some(found.is_none())
}
