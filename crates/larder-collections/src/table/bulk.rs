//! A table of entries that are all known, as payloads and files bring them: each is written once, to the segment where it stays.
//!
//! One by one, an entry is looked for, its segment grows several times, and at every split half a segment is hashed and written again. Here
//! entries are sorted by hash, which is the order of their positions; the directory is made for them from its root to where they fit, and
//! each segment with the room that it needs. O(n log n), of which the logarithm is for a handful of neighbours; 32 bytes an entry while
//! the table is made.

use super::node::{Child, LEVEL_BITS, Leaf, POSITION_BITS};
use super::place::{DEPTH_SLACK, Place, SEGMENT_BYTES_MAX, SEGMENT_SLOTS_MAX, Sought};
use super::tree::{DEPTH_MAX, NEVER, Tree, bits_for, soonest_of};
use super::{RUN_BYTES_MAX, RUN_ENTRIES_MAX, Shape, Table};
use crate::key_table::{KeyHash, position};
use larder_packed::segment::{Layout, Rows, Run};
use std::sync::Arc;

const _: () = assert!(SEGMENT_SLOTS_MAX < u8::MAX as usize);

/// Fewer entries than this are hashed without an allocation.
const FEW: usize = 16;
/// Fewer entries than this are sorted without buckets.
const BUCKETS_FROM: usize = 64;
/// Entries of a bucket, about, as a power of two.
const BUCKET_BITS: u32 = 2;
/// There are this many buckets at most, as a power of two.
const BUCKETS_BITS_MAX: u32 = 12;

/// An entry by its hash.
#[derive(Clone, Copy, Default)]
struct Hashed {
    hash: u64,
    /// The entry's number.
    id: u32,
    /// Its footprint; then the sum of those up to it, modulo 2^32.
    bytes: u32,
}

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// A table of these entries; None if a key is there twice. `entry_of` gives each again by the number that comes with it.
    ///
    /// Panics if there are 2^32 entries or more.
    pub fn of_entries<'a>(
        entries: impl Iterator<Item = (u32, L::New<'a>)>,
        entry_of: impl Fn(u32) -> L::New<'a>,
    ) -> Option<Self> {
        let (mut size, mut expires) = (0, false);
        let hash = |(id, new): (u32, L::New<'a>)| {
            let bytes = Rows::<L>::footprint_bytes(new);
            size += bytes;
            expires |= L::new_expiry(new).is_some();
            Hashed { hash: H::hash(L::new_key(new)), id, bytes: bytes as u32 }
        };
        let mut entries = entries.map(hash);
        let (mut few, mut count) = ([Hashed::default(); FEW], 0);
        for (slot, entry) in few.iter_mut().zip(&mut entries) {
            *slot = entry;
            count += 1;
        }
        let mut many = Vec::new();
        if count == FEW {
            many = few.into_iter().chain(entries).collect();
            count = many.len();
        }
        let hashed = if many.is_empty() { &few[..count] } else { &many[..] };
        if count <= RUN_ENTRIES_MAX
            && let Some(run) = run_of::<L>(hashed, &entry_of)
        {
            return run.map(|run| Table::of(Shape::Run { run, mark: false }));
        }
        assert!(u32::try_from(count).is_ok(), "the caller has fewer");
        let bulk = Bulk { entry_of, depth_max: 0, expires, made: Made::default(), rest: Vec::new() };
        if !fits::<L>(count, size) {
            if many.is_empty() {
                many = few[..count].to_vec();
            }
            return bulk.tree::<L, H>(many, size);
        }
        bulk.one_segment(if many.is_empty() { &few[..count] } else { &many }, size)
    }
}

/// A run of few entries; None if a run does not take them, and Some(None) if a key is there twice.
fn run_of<'a, L: Layout>(hashed: &[Hashed], entry_of: impl Fn(u32) -> L::New<'a>) -> Option<Option<Run<L>>> {
    let bytes = hashed.iter().map(|entry| entry.bytes as usize + 1).sum();
    if bytes > RUN_BYTES_MAX {
        return None;
    }
    let mut run = Run::with_room(bytes);
    for (at, entry) in hashed.iter().enumerate() {
        let new = entry_of(entry.id);
        if !run.takes(new, None) {
            return None;
        }
        let is_twin =
            |other: &Hashed| other.hash == entry.hash && L::new_key(entry_of(other.id)) == L::new_key(new);
        if hashed[..at].iter().any(is_twin) {
            return Some(None);
        }
        run.insert(new);
    }
    Some(Some(run))
}

/// Whether one segment takes this many entries of this many bytes in all.
fn fits<L: Layout>(slots: usize, bytes: usize) -> bool {
    slots <= SEGMENT_SLOTS_MAX && Rows::<L>::content_of(slots, bytes) <= SEGMENT_BYTES_MAX
}

/// The entries in the order of their hashes.
fn sort(entries: Vec<Hashed>) -> Vec<Hashed> {
    let mut entries = entries;
    if entries.len() < BUCKETS_FROM {
        entries.sort_unstable_by_key(|entry| entry.hash);
        return entries;
    }
    let bits = (entries.len().ilog2() - BUCKET_BITS).min(BUCKETS_BITS_MAX);
    let bucket = |entry: &Hashed| (entry.hash >> (u64::BITS - bits)) as usize;
    // Where each bucket begins, and then where it ends.
    let mut bounds = vec![0_u32; (1 << bits) + 1];
    entries.iter().for_each(|entry| bounds[bucket(entry) + 1] += 1);
    (1..bounds.len()).for_each(|at| bounds[at] += bounds[at - 1]);
    let mut sorted = vec![Hashed::default(); entries.len()];
    for entry in &entries {
        let end = &mut bounds[bucket(entry)];
        sorted[*end as usize] = *entry;
        *end += 1;
    }
    let mut start = 0;
    for &end in &bounds[..1 << bits] {
        sorted[start..end as usize].sort_unstable_by_key(|entry| entry.hash);
        start = end as usize;
    }
    sorted
}

/// What has been made of the directory.
#[derive(Default)]
struct Made {
    len: usize,
    heap_bytes: usize,
    segments: u32,
    nodes: u32,
    deepest: u32,
    slots_max: usize,
}

/// A table that is being made.
struct Bulk<F> {
    entry_of: F,
    depth_max: u32,
    /// Whether an entry does.
    expires: bool,
    made: Made,
    /// Entries that did not fit.
    rest: Vec<Hashed>,
}

impl<F> Bulk<F> {
    fn one_segment<'a, L, H>(self, entries: &[Hashed], size: usize) -> Option<Table<L, H>>
    where
        L: Layout,
        H: KeyHash,
        F: Fn(u32) -> L::New<'a>,
    {
        let new = |entry: &Hashed| (Place::of(entry.hash).tag, (self.entry_of)(entry.id));
        let rows = Rows::<L>::of_entries(entries.len(), size, entries.iter().map(new));
        if self.is_twice::<L>(entries) {
            return None;
        }
        if !self.expires {
            return Some(Table::of(Shape::Small { rows, mark: false }));
        }
        let expiring = rows.rows().filter(|row| row.expire_at_ms().is_some()).count();
        let soonest = soonest_of(&rows);
        let mut tree = Tree::of(rows, false);
        (tree.expiring, tree.soonest) = (expiring, soonest);
        tree.root.leaf_mut(0).soonest = soonest;
        Some(Table::of(Shape::Tree(Arc::new(tree))))
    }

    /// Whether a key is twice among the entries of a segment.
    fn is_twice<'a, L: Layout>(&self, entries: &[Hashed]) -> bool
    where
        F: Fn(u32) -> L::New<'a>,
    {
        // The last entry of each tag, counted from 1, and for each entry the one before it that has its tag.
        let (mut last, mut before) = ([0_u8; 256], [0_u8; SEGMENT_SLOTS_MAX]);
        let key = |entry: &Hashed| L::new_key((self.entry_of)(entry.id));
        for (at, entry) in entries.iter().enumerate() {
            let last = &mut last[usize::from(Place::of(entry.hash).tag)];
            let mut other = std::mem::replace(last, at as u8 + 1);
            before[at] = other;
            while let Some(twin) = usize::from(other).checked_sub(1) {
                if entries[twin].hash == entry.hash && key(&entries[twin]) == key(entry) {
                    return true;
                }
                other = before[twin];
            }
        }
        false
    }

    fn tree<'a, L, H>(mut self, entries: Vec<Hashed>, size: usize) -> Option<Table<L, H>>
    where
        L: Layout,
        H: KeyHash,
        F: Fn(u32) -> L::New<'a>,
    {
        let mut sorted = sort(entries);
        if self.has_twins::<L>(&sorted) {
            return None;
        }
        let mut sum = 0_u32;
        for entry in &mut sorted {
            sum = sum.wrapping_add(entry.bytes);
            entry.bytes = sum;
        }
        // No deeper than a table of full segments would let them lie; what does not fit there is put in one by one.
        let segments = (sorted.len() / SEGMENT_SLOTS_MAX).max(size / SEGMENT_BYTES_MAX).max(1);
        self.depth_max = (segments.ilog2() + DEPTH_SLACK).min(DEPTH_MAX);
        let root = self.child::<L>(0, 0, 0, &sorted);
        let (mut expiring, mut soonest) = (0, NEVER);
        if self.expires {
            root.for_each_leaf(0, 0, &mut |_, leaf| {
                expiring += leaf.rows().rows().filter(|row| row.expire_at_ms().is_some()).count();
                soonest = soonest.min(leaf.soonest);
            });
        }
        let Bulk { entry_of, made, rest, .. } = self;
        let mut tree = Tree {
            root,
            len: made.len,
            heap_bytes: made.heap_bytes,
            cold_segments: 0,
            cold_bytes: 0,
            expiring,
            soonest,
            segments: made.segments,
            nodes: made.nodes,
            deepest: made.deepest as u8,
            sample_bits: bits_for(made.slots_max),
            mark: false,
        };
        for entry in rest {
            tree.put::<H>(Place::of(entry.hash), entry_of(entry.id), false, Sought::Unknown);
        }
        Some(Table::of(Shape::Tree(Arc::new(tree))))
    }

    /// Whether a key is twice among entries in the order of their hashes.
    fn has_twins<'a, L: Layout>(&self, sorted: &[Hashed]) -> bool
    where
        F: Fn(u32) -> L::New<'a>,
    {
        if sorted.windows(2).all(|pair| pair[0].hash != pair[1].hash) {
            return false;
        }
        let key = |entry: &Hashed| L::new_key((self.entry_of)(entry.id));
        sorted
            .chunk_by(|a, b| a.hash == b.hash)
            .any(|run| (1..run.len()).any(|at| run[..at].iter().any(|other| key(other) == key(&run[at]))))
    }

    /// What the directory has for the positions that share their first `depth` bits with `start`: a leaf, or a node of the level that
    /// begins there. `before` is the sum of the footprints before these entries.
    fn child<'a, L: Layout>(&mut self, start: u32, depth: u32, before: u32, sorted: &[Hashed]) -> Child<L>
    where
        F: Fn(u32) -> L::New<'a>,
    {
        if self.ends::<L>(depth, before, sorted) {
            return Child::Leaf(self.leaf(depth, before, sorted));
        }
        let mut node = Branch { level: depth, children: Vec::new(), starts: 0 };
        self.halve(&mut node, start, depth, before, sorted);
        self.made.nodes += 1;
        Child::of_children(node.children, node.starts)
    }

    /// Adds what a node has for the positions that share their first `depth` bits with `start`: a child, or those of two halves.
    fn divide<'a, L: Layout>(
        &mut self,
        node: &mut Branch<L>,
        start: u32,
        depth: u32,
        before: u32,
        sorted: &[Hashed],
    ) where
        F: Fn(u32) -> L::New<'a>,
    {
        let is_slot = depth == node.level + LEVEL_BITS;
        if !is_slot && !self.ends::<L>(depth, before, sorted) {
            return self.halve(node, start, depth, before, sorted);
        }
        node.starts |= 1 << (start << node.level >> (POSITION_BITS - LEVEL_BITS));
        let child = self.child(start, depth, before, sorted);
        node.children.push(child);
    }

    fn halve<'a, L: Layout>(
        &mut self,
        node: &mut Branch<L>,
        start: u32,
        depth: u32,
        before: u32,
        sorted: &[Hashed],
    ) where
        F: Fn(u32) -> L::New<'a>,
    {
        let middle = start | 1 << (POSITION_BITS - 1 - depth);
        let (left, right) = sorted.split_at(sorted.partition_point(|entry| position(entry.hash) < middle));
        self.divide(node, start, depth + 1, before, left);
        self.divide(node, middle, depth + 1, left.last().map_or(before, |last| last.bytes), right);
    }

    /// Whether these entries are one segment.
    fn ends<L: Layout>(&self, depth: u32, before: u32, sorted: &[Hashed]) -> bool {
        // What fits one segment by its number cannot be 2^32 bytes.
        let bytes = sorted.last().map_or(0, |last| last.bytes.wrapping_sub(before));
        sorted.len() <= 1 || fits::<L>(sorted.len(), bytes as usize) || depth >= self.depth_max
    }

    /// A segment of these entries, or of the first of them that it takes.
    fn leaf<'a, L: Layout>(&mut self, depth: u32, before: u32, sorted: &[Hashed]) -> Leaf<L>
    where
        F: Fn(u32) -> L::New<'a>,
    {
        let size = |count: usize| {
            let last = count.checked_sub(1).map(|last| sorted[last].bytes);
            last.map_or(0, |last| last.wrapping_sub(before) as usize)
        };
        let all = sorted.len().min(SEGMENT_SLOTS_MAX);
        let takes = |count: &usize| *count <= 1 || fits::<L>(*count, size(*count));
        let count = (0..=all).rev().find(takes).unwrap_or(0);
        let (here, rest) = sorted.split_at(count);
        self.rest.extend_from_slice(rest);
        let new = |entry: &Hashed| (Place::of(entry.hash).tag, (self.entry_of)(entry.id));
        let mut rows = Rows::of_entries(count, size(count), here.iter().map(new));
        rows.set_depth(depth);
        let made = &mut self.made;
        made.len += count;
        made.heap_bytes += rows.heap_bytes();
        made.segments += 1;
        made.deepest = made.deepest.max(depth);
        made.slots_max = made.slots_max.max(count);
        let soonest = if self.expires { soonest_of(&rows) } else { NEVER };
        Leaf::new(rows, soonest)
    }
}

/// A node that is being made.
struct Branch<L: Layout> {
    /// Bits of the position above it.
    level: u32,
    children: Vec<Child<L>>,
    starts: u64,
}
