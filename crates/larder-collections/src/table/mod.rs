//! The packed table of hashes and sets: a hash-ordered tree of counted segments.
//!
//! Why this and not the keyspace's table: that one's flat directory cannot be shared between clones, and doubles at once.
//! Here the directory is a radix tree of the position, six bits a level; a write to a clone copies the path to its
//! segment, and no insert moves more than one segment and one node. Why not an open-addressing table: see
//! [`larder_packed::segment`].
//!
//! Cost: 2.1 bytes per entry, the slack of the segments, and 24 to 40 bytes of directory per segment of about 90 entries. A
//! table of one segment is that segment and nothing else: one allocation, one raw pointer. Get, insert, remove O(1)
//! with a cache miss per level (one up to 64 segments, three at a million entries); clone O(1); the first write after it
//! O(levels) nodes of at most 1.5 KB and one segment.
//!
//! ```text
//!  Run --> entries and nothing else           up to 32 entries or 512 bytes, in the order of their insertion
//!  Small --> segment                          up to 128 entries or 4 KB, in the order of their insertion
//!
//!  Tree --> len, bytes, soonest, .. | root --> Node    starts: bit s set where a run of slots starts
//!                                              | 1000 1100 .. |          child = children[popcount(starts up to s) - 1]
//!                                              +--+---+--+----+
//!                                    children: | a| b | c | ..|          each 24 bytes: a leaf (segment pointer, earliest
//!                                              +--+---+---+---+          expiry), or a node (starts, children)
//! ```
//! A segment of depth d holds the positions that share its first d bits, so within its node it is a run of slots.
//!
//! Policies: those of [`crate::key_table`]: split at [`SEGMENT_SLOTS_MAX`] or [`SEGMENT_BYTES_MAX`] but not deeper than
//! log2(segments) + [`DEPTH_SLACK`], merge buddies that fit into one segment with room to spare.
//!
//! Tables of entries that are all known are made at once, by `bulk`.
//!
//! Invariants:
//! - T1: each entry's position lies in its segment's positions, and its slot has the tag of its hash. No key is twice.
//! - T2: a child of a node at level k (root: 0) has a run of 2^(6(k+1) - depth) slots, a node one of a single slot and at
//!   least two children.
//! - T3: a small table has no holes and no expiry. A tree's counts are those of its entries, leaves and nodes.
//! - T4: a leaf's `soonest` is at most its earliest expiry, a tree's at most that of its leaves.
//! - T5: no leaf is deeper than `deepest` or has more than `2^sample_bits` slots.
//!
//! Tested by `tests/` here: a model with clones, tables made at once beside single inserts, hostile hashes, scans under change, chi-square, drops.

mod bulk;
mod change;
mod cold;
mod expiry;
mod image;
mod node;
mod place;
mod small;
mod stats;
mod tree;
mod walk;

#[cfg(test)]
mod tests;

pub use larder_packed::segment::{
    FIELD_INLINE_MAX, FieldValue, FieldValueNew, Layout, MEMBER_INLINE_MAX, Member, RUN_BYTES_MAX,
    RUN_ENTRIES_MAX, Row, VALUE_INLINE_MAX,
};
pub use place::{DEPTH_SLACK, SEGMENT_BYTES_MAX, SEGMENT_SLOTS_MAX};
pub use walk::Look;

use crate::key_table::{KeyHash, position};
use crate::member_hash::MemberHash;
use crate::relocation::move_arc;
use larder_packed::heap::Mover;
use larder_packed::segment::{Looked, Rows, Run};
use place::Place;
use std::marker::PhantomData;
use std::sync::Arc;
use tree::Tree;

/// A table of entries of a layout, each found by its key. Clones are O(1) and independent.
pub struct Table<L: Layout, H: KeyHash = MemberHash> {
    pub(crate) shape: Shape<L>,
    hash: PhantomData<fn() -> H>,
}

/// What a table is made of.
pub(crate) enum Shape<L: Layout> {
    Run { run: Run<L>, mark: bool },
    Small { rows: Rows<L>, mark: bool },
    Tree(Arc<Tree<L>>),
}

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// An empty table; allocates nothing.
    pub fn new() -> Self {
        Table::of(Shape::Run { run: Run::new(), mark: false })
    }

    /// An empty table with room for this many entries of this many bytes in all, if that is one segment at most.
    pub fn with_room(slots: usize, entry_bytes: usize) -> Self {
        if slots <= RUN_ENTRIES_MAX && slots + entry_bytes <= RUN_BYTES_MAX {
            return Table::of(Shape::Run { run: Run::with_room(slots + entry_bytes), mark: false });
        }
        let fits = slots <= SEGMENT_SLOTS_MAX && entry_bytes <= SEGMENT_BYTES_MAX;
        let rows = if fits { Rows::with_room(slots, entry_bytes) } else { Rows::with_room(0, 0) };
        Table::of(Shape::Small { rows, mark: false })
    }

    /// Number of entries. O(1).
    #[inline]
    pub fn len(&self) -> usize {
        match &self.shape {
            Shape::Run { run, .. } => run.len(),
            Shape::Small { rows, .. } => rows.page().live(),
            Shape::Tree(tree) => tree.len,
        }
    }

    /// Whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A bit for the owner, that stays with the table: sets and hashes note here that they have once been large.
    #[inline]
    pub fn mark(&self) -> bool {
        match &self.shape {
            Shape::Run { mark, .. } | Shape::Small { mark, .. } => *mark,
            Shape::Tree(tree) => tree.mark,
        }
    }

    /// Sets the owner's bit.
    pub fn set_mark(&mut self) {
        match &mut self.shape {
            Shape::Run { mark, .. } | Shape::Small { mark, .. } => *mark = true,
            Shape::Tree(tree) if tree.mark => {}
            Shape::Tree(tree) => Arc::make_mut(tree).mark = true,
        }
    }

    /// Copies entries that lie in a record.
    #[inline]
    pub(crate) fn make_own(&mut self) {
        if let Shape::Run { run, .. } = &mut self.shape {
            run.make_own();
        }
    }

    /// Moves the table's blocks, those that lie in sparse slabs and are not shared.
    pub(crate) fn move_blocks(&mut self, mover: &mut Mover) {
        match &mut self.shape {
            Shape::Run { run, .. } => run.move_block(mover),
            Shape::Small { rows, .. } => rows.move_blocks(mover),
            Shape::Tree(tree) => {
                if let Some(tree) = move_arc(tree, mover) {
                    tree.root.move_blocks(mover);
                }
            }
        }
    }

    /// Whether the entries come in the order in which they were inserted.
    pub fn is_in_order(&self) -> bool {
        !matches!(self.shape, Shape::Tree(_))
    }

    /// The run of a small table.
    #[inline]
    pub(crate) fn as_run(&self) -> Option<&Run<L>> {
        match &self.shape {
            Shape::Run { run, .. } => Some(run),
            Shape::Small { .. } | Shape::Tree(_) => None,
        }
    }

    /// The hash by which the table finds a key, for [`get_hashed`](Self::get_hashed).
    #[inline]
    pub fn hash_of(key: &[u8]) -> u64 {
        H::hash(key)
    }

    /// The entry of a key.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<Row<'_, L>> {
        match &self.shape {
            Shape::Run { run, .. } => run.find(key),
            _ => self.get_hashed(H::hash(key), key),
        }
    }

    /// The entry of a key whose hash is known.
    #[inline]
    pub fn get_hashed(&self, hash: u64, key: &[u8]) -> Option<Row<'_, L>> {
        let place = Place::of(hash);
        match self.rows_at(place.position) {
            Some(rows) => rows.find(place.tag, key),
            None => self.get(key),
        }
    }

    /// Whether a key is there.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// Asks the processor to load what a lookup of this hash reads first. Many lookups whose keys are known ahead are
    /// faster after a round of this for all, and a round of [`prefetch_entry`](Self::prefetch_entry).
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        match self.rows_at(position(hash)) {
            Some(rows) => rows.prefetch(),
            None => self.prefetch_walk(),
        }
    }

    /// Asks the processor to load the entry that a lookup of this hash looks at first.
    #[inline]
    pub fn prefetch_entry(&self, hash: u64) {
        let place = Place::of(hash);
        if let Some(rows) = self.rows_at(place.position) {
            rows.prefetch_entry(place.tag);
        }
    }

    /// Asks the processor to load what lookups of these hashes read: at first the segments, all at once; when they have arrived, the entries in
    /// them.
    pub fn prefetch_each(&self, hashes: impl Iterator<Item = u64> + Clone) {
        hashes.clone().for_each(|hash| self.prefetch(hash));
        hashes.for_each(|hash| self.prefetch_entry(hash));
    }

    /// The segment of a position; a run has none.
    #[inline]
    fn rows_at(&self, position: u32) -> Option<&Rows<L>> {
        match &self.shape {
            Shape::Run { .. } => None,
            Shape::Small { rows, .. } => Some(rows),
            Shape::Tree(tree) => Some(tree.root.leaf(position).rows()),
        }
    }

    /// The same for those who look at it: no use.
    fn look_at(&self, position: u32) -> Option<Looked<'_, L>> {
        match &self.shape {
            Shape::Run { .. } => None,
            Shape::Small { rows, .. } => Some(Looked::Plain(rows)),
            Shape::Tree(tree) => Some(tree.root.leaf(position).segment().look()),
        }
    }

    pub(crate) fn of(shape: Shape<L>) -> Self {
        Table { shape, hash: PhantomData }
    }
}

impl<L: Layout, H: KeyHash> Clone for Table<L, H> {
    fn clone(&self) -> Self {
        Table::of(match &self.shape {
            Shape::Run { run, mark } => Shape::Run { run: run.clone(), mark: *mark },
            Shape::Small { rows, mark } => Shape::Small { rows: rows.clone(), mark: *mark },
            Shape::Tree(tree) => Shape::Tree(Arc::clone(tree)),
        })
    }
}

impl<L: Layout, H: KeyHash> Default for Table<L, H> {
    fn default() -> Self {
        Table::new()
    }
}
