//! Sizes, and the check of all invariants.

use super::node::{Child, Leaf};
use super::tree::{Tree, leaf_start};
use super::walk::Leaves;
use super::{Place, SEGMENT_BYTES_MAX, SEGMENT_SLOTS_MAX, Shape, Table, expiry};
use crate::key_table::KeyHash;
use larder_packed::segment::{Layout, Rows};
use std::collections::HashSet;

/// Bytes of the two counts of an `Arc`.
const ARC_BYTES: usize = 16;

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// Bytes of heap. O(1), or O(entries) of a small table with long strings.
    pub fn memory_bytes(&self) -> usize {
        match &self.shape {
            Shape::Run { run, .. } => run.heap_bytes(),
            Shape::Small { rows, .. } => rows.heap_bytes(),
            Shape::Tree(tree) => {
                let children = tree.segments as usize + tree.nodes as usize - 1;
                let nodes = tree.nodes as usize * ARC_BYTES + children * size_of::<Child<L>>();
                ARC_BYTES + size_of::<Tree<L>>() + tree.heap_bytes + tree.cold_bytes + nodes
            }
        }
    }

    /// Allocations beside those of out-of-line strings. O(1).
    pub fn node_count(&self) -> usize {
        match &self.shape {
            Shape::Run { .. } | Shape::Small { .. } => 1,
            Shape::Tree(tree) => 1 + tree.segments as usize + tree.nodes as usize,
        }
    }

    /// Panics unless the invariants of the [module](super) hold.
    pub fn check_invariants(&self) {
        if let Shape::Run { run, .. } = &self.shape {
            run.check_invariants();
            let keys: HashSet<_> = run.rows().map(|row| row.key()).collect();
            assert_eq!(keys.len(), run.len(), "T1: a key is twice");
            return;
        }
        let segments: Vec<_> = self.segments().collect();
        let mut keys = HashSet::new();
        for rows in &segments {
            rows.check_invariants();
            for row in rows.rows() {
                let place = Place::of(H::hash(row.key()));
                let start = leaf_start(place.position, rows.depth());
                let first = rows.rows().next().expect("there is one");
                let first = leaf_start(Place::of(H::hash(first.key())).position, rows.depth());
                assert_eq!(start, first, "T1: a position");
                assert_eq!(rows.page().tag(row.slot().index()), place.tag, "T1: a tag");
                assert!(keys.insert(row.key()), "T1: a key is twice");
                let found = rows.find(place.tag, row.key());
                assert!(found.is_some(), "T1: a key is not found");
            }
        }
        assert_eq!(keys.len(), self.len(), "T3");
        match &self.shape {
            Shape::Run { .. } => {}
            Shape::Small { rows, .. } => check_small(rows),
            Shape::Tree(tree) => check_tree(tree),
        }
    }
}

fn check_small<L: Layout>(rows: &Rows<L>) {
    let page = rows.page();
    assert_eq!(page.live(), page.slots(), "T3: a small table has no holes");
    assert!(rows.rows().all(|row| row.expire_at_ms().is_none()), "T3");
    assert!(
        page.slots() <= SEGMENT_SLOTS_MAX && page.content_bytes() <= SEGMENT_BYTES_MAX && page.depth() == 0
    );
}

fn check_tree<L: Layout>(tree: &Tree<L>) {
    tree.root.check(0, 0);
    let (mut bytes, mut count) = ([0; 2], [0; 2]);
    for segment in Leaves::of(&tree.root).map(Leaf::segment) {
        bytes[usize::from(segment.is_cold())] += segment.heap_bytes();
        count[usize::from(segment.is_cold())] += 1;
        let rows = segment.look();
        assert!(rows.depth() <= u32::from(tree.deepest), "T5");
        assert!(rows.page().slots() <= 1 << tree.sample_bits, "T5");
    }
    assert_eq!(bytes, [tree.heap_bytes, tree.cold_bytes], "T3");
    assert_eq!(count, [tree.segments - tree.cold_segments, tree.cold_segments], "T3");
    assert_eq!(nodes(&tree.root), tree.nodes, "T3");
    let (expiring, soonest) = expiry::check(&tree.root);
    assert_eq!(expiring, tree.expiring, "T3");
    assert!(tree.soonest <= soonest, "T4");
}

fn nodes<L: Layout>(child: &Child<L>) -> u32 {
    match child {
        Child::Leaf(_) => 0,
        Child::Node(_) => 1 + child.children().iter().map(nodes).sum::<u32>(),
    }
}
