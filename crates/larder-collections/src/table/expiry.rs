//! Entries that expire: their times, and taking out those whose time has come.

use super::node::Child;
use super::tree::{NEVER, soonest_of};
use super::{FieldValue, Place, Row, Shape, Table};
use crate::key_table::KeyHash;
use larder_packed::segment::Layout;
use std::sync::Arc;

/// Leaves whose positions are gathered at once.
const LEAVES_MAX: usize = 256;

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// Number of entries that expire at some time. O(1).
    pub fn expiring(&self) -> usize {
        match &self.shape {
            Shape::Run { .. } | Shape::Small { .. } => 0,
            Shape::Tree(tree) => tree.expiring,
        }
    }

    /// A time, in milliseconds, before which nothing expires; `u64::MAX` if nothing ever does. O(1).
    #[inline]
    pub fn soonest(&self) -> u64 {
        match &self.shape {
            Shape::Run { .. } | Shape::Small { .. } => NEVER,
            Shape::Tree(tree) => tree.soonest,
        }
    }

    /// Number of entries that expire at `now_ms` or before. O(1) if nothing has expired yet, else O(those segments).
    pub fn due(&self, now_ms: u64) -> usize {
        let Shape::Tree(tree) = &self.shape else { return 0 };
        if tree.soonest > now_ms {
            return 0;
        }
        let mut due = 0;
        tree.root.for_each_leaf(0, 0, &mut |_, leaf| {
            if leaf.soonest <= now_ms {
                due += leaf.segment().look().rows().filter(|&row| is_due(row, now_ms)).count();
            }
        });
        due
    }

    /// Removes up to `max` entries that expire at `now_ms` or before, after showing them to `visit`; returns how many.
    /// Fewer than `max` means that none is left.
    pub fn take_due(&mut self, now_ms: u64, max: usize, mut visit: impl FnMut(Row<'_, L>)) -> usize {
        let mut taken = 0;
        while taken < max && self.soonest() <= now_ms {
            let positions = self.due_leaves(now_ms);
            if positions.is_empty() {
                self.find_soonest();
                break;
            }
            for position in positions {
                if taken < max {
                    taken += self.take_due_at(position, now_ms, max - taken, &mut visit);
                }
            }
        }
        taken
    }

    fn due_leaves(&self, now_ms: u64) -> Vec<u32> {
        let mut positions = Vec::new();
        if let Shape::Tree(tree) = &self.shape {
            tree.root.for_each_leaf(0, 0, &mut |start, leaf| {
                if leaf.soonest <= now_ms && positions.len() < LEAVES_MAX {
                    positions.push(start);
                }
            });
        }
        positions
    }

    fn take_due_at(
        &mut self,
        position: u32,
        now_ms: u64,
        max: usize,
        visit: &mut impl FnMut(Row<'_, L>),
    ) -> usize {
        // A merge on the way may have made the table small: then nothing in it expires.
        let Shape::Tree(tree) = &mut self.shape else { return 0 };
        let is = |row: Row<'_, L>| is_due(row, now_ms);
        let taken = Arc::make_mut(tree).take_from(position, max, is, visit);
        self.settle(position);
        taken
    }

    /// Makes the table's minimum that of its leaves.
    fn find_soonest(&mut self) {
        let Shape::Tree(tree) = &mut self.shape else { return };
        let mut soonest = NEVER;
        tree.root.for_each_leaf(0, 0, &mut |_, leaf| soonest = soonest.min(leaf.soonest));
        Arc::make_mut(tree).soonest = soonest;
    }
}

impl<H: KeyHash> Table<FieldValue, H> {
    /// Gives an entry an expiry, in milliseconds, or takes it away; false if the key is not there.
    pub fn set_expiry(&mut self, key: &[u8], expire_at_ms: Option<u64>) -> bool {
        let place = Place::of(H::hash(key));
        let Some(row) = self.get(key) else { return false };
        let before = row.expire_at_ms();
        if before == expire_at_ms {
            return true;
        }
        self.become_tree();
        let tree = self.tree_mut();
        tree.update(place.position, |rows| {
            let slot = rows.find(place.tag, key).expect("it was just found").slot();
            rows.set_expiry(slot, expire_at_ms);
        });
        let after = tree.root.leaf(place.position).rows().find(place.tag, key);
        let after = after.and_then(Row::expire_at_ms);
        tree.note_expiry(place.position, before, after);
        tree.split_large::<H>(place.position);
        self.settle(place.position);
        true
    }
}

#[inline]
fn is_due<L: Layout>(row: Row<'_, L>, now_ms: u64) -> bool {
    row.expire_at_ms().is_some_and(|at| at <= now_ms)
}

/// Checks T4; returns the number of entries that expire, and the least minimum.
pub(super) fn check<L: Layout>(root: &Child<L>) -> (usize, u64) {
    let (mut expiring, mut soonest) = (0, NEVER);
    root.for_each_leaf(0, 0, &mut |_, leaf| {
        let rows = leaf.segment().look();
        assert!(leaf.soonest <= soonest_of(&rows), "T4");
        expiring += rows.rows().filter(|row| row.expire_at_ms().is_some()).count();
        soonest = soonest.min(leaf.soonest);
    });
    (expiring, soonest)
}
