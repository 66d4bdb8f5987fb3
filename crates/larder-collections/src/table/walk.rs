//! Walks: a scan by cursor, all entries, a random one.

use super::node::{Child, Leaf, POSITION_BITS};
use super::tree::leaf_start;
use super::{Place, Row, Shape, Table};
use crate::key_table::{KeyHash, position};
use crate::segment_scan::{self, Paged, Segment};
use larder_packed::segment::{Layout, Looked, Page, Rows, RowsIter, RunIter};
use std::slice;

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// Visits about `count` entries from a cursor on and returns the next cursor; 0 starts, and 0 means done.
    ///
    /// A cursor has [`CURSOR_BITS`](segment_scan::CURSOR_BITS), and every number is a valid one. Each entry that is there from the
    /// first call to the last is visited exactly once, whatever is put and removed meanwhile. It is no use of compressed segments.
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(Row<'_, L>)) -> u64 {
        if let Shape::Run { run, .. } = &self.shape {
            let is_next = |row: &Row<'_, L>| {
                let place = Place::of(H::hash(row.key()));
                !segment_scan::is_past(cursor, place.position, place.tag)
            };
            run.rows().filter(is_next).for_each(visit);
            return 0;
        }
        let segment_at = |at: u32| {
            let of = self.look_at(at)?;
            let start = u64::from(leaf_start(at, of.depth()));
            let range = start..start + (1 << (POSITION_BITS - of.depth()));
            Some(Segment { of, range })
        };
        let position_of = |rows: &Looked<'_, L>, index: usize| position(H::hash(tagged(rows, index).key()));
        segment_scan::scan_by_tags(cursor, count, segment_at, position_of, |rows, index| {
            visit(tagged(rows, index));
        })
    }

    /// Asks the processor to load what a walk over a small table reads. A caller with other things to do meanwhile comes early.
    pub fn prefetch_walk(&self) {
        match &self.shape {
            Shape::Run { run, .. } => run.prefetch(),
            Shape::Small { rows, .. } => rows.prefetch_walk(),
            Shape::Tree(_) => {}
        }
    }

    /// All entries: of a small table in the order of their insertion, else by position of their segments.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_, L>> + Clone {
        self.all::<Block<'_, L>>()
    }

    /// Reads all entries in the order of [`iter`](Self::iter): a use of each, but no compressed segment leaves a copy.
    pub fn read_all(&self, mut f: impl FnMut(Row<'_, L>)) {
        match &self.shape {
            Shape::Run { run, .. } => run.rows().for_each(f),
            Shape::Small { rows, .. } => rows.rows().for_each(f),
            Shape::Tree(tree) => {
                Leaves::of(&tree.root).for_each(|leaf| leaf.segment().read().rows().for_each(&mut f));
            }
        }
    }

    /// All entries in the order of [`iter`](Self::iter), for those who copy or count them: no use of any.
    pub fn looks(&self) -> impl Iterator<Item = Look<'_, L>> + Clone {
        self.all::<LookedBlock<'_, L>>()
    }

    fn all<'a, B: OfBlock<'a, L>>(&'a self) -> Iter<'a, L, B> {
        match &self.shape {
            Shape::Run { run, .. } => Iter { block: B::of(Block::Run(run.rows())), leaves: Leaves::none() },
            Shape::Small { rows, .. } => {
                Iter { block: B::of(Block::Segment(rows.rows())), leaves: Leaves::none() }
            }
            Shape::Tree(tree) => {
                let mut leaves = Leaves::of(&tree.root);
                Iter { block: B::of_leaf(leaves.next().expect("a tree has a leaf")), leaves }
            }
        }
    }

    /// An entry, each with the same chance; None when there is none. O(1) on average.
    ///
    /// A random position names a segment of depth d with chance 2^-d; it is taken with 2^(d - deepest), and of its
    /// possible slots one. A hole, or a number beyond the last, starts again.
    pub fn sample(&self, rng: &mut fastrand::Rng) -> Option<Row<'_, L>> {
        if self.is_empty() {
            return None;
        }
        let tree = match &self.shape {
            Shape::Run { run, .. } => return run.row(rng.usize(..run.len())),
            Shape::Small { rows, .. } => return rows.row(rng.usize(..rows.page().slots())),
            Shape::Tree(tree) => tree,
        };
        loop {
            let (leaf, depth) = tree.root.leaf_with_depth(rng.u32(..));
            let lost = u32::from(tree.deepest) - depth;
            if lost > 0 && rng.u64(..) >> (64 - lost) != 0 {
                continue;
            }
            if let Some(row) = leaf.rows().row(rng.usize(..1 << tree.sample_bits)) {
                return Some(row);
            }
        }
    }

    /// The segments, in order; a run has none.
    pub(super) fn segments(&self) -> impl Iterator<Item = Looked<'_, L>> {
        let (first, leaves) = match &self.shape {
            Shape::Run { .. } => (None, Leaves::none()),
            Shape::Small { rows, .. } => (Some(Looked::Plain(rows)), Leaves::none()),
            Shape::Tree(tree) => (None, Leaves::of(&tree.root)),
        };
        first.into_iter().chain(leaves.map(|leaf| leaf.segment().look()))
    }
}

impl<L: Layout> Paged for Looked<'_, L> {
    fn page(&self) -> &Page {
        Rows::page(self)
    }
}

/// An entry that is looked at.
#[derive(Clone)]
pub enum Look<'a, L: Layout> {
    /// Of a plain segment.
    Plain(Row<'a, L>),
    /// In this slot of a copy of a compressed one.
    Copy(Rows<L>, usize),
}

impl<L: Layout> Look<'_, L> {
    /// The entry.
    #[inline]
    pub fn row(&self) -> Row<'_, L> {
        match self {
            Look::Plain(row) => *row,
            Look::Copy(rows, slot) => tagged(rows, *slot),
        }
    }
}

/// The entries of one block, looked at: of a copy, which has no holes, those from a slot on.
#[derive(Clone)]
enum LookedBlock<'a, L: Layout> {
    Plain(Block<'a, L>),
    Copy(Rows<L>, usize),
}

impl<'a, L: Layout> OfBlock<'a, L> for LookedBlock<'a, L> {
    fn of(block: Block<'a, L>) -> Self {
        LookedBlock::Plain(block)
    }

    fn of_leaf(leaf: &'a Leaf<L>) -> Self {
        match leaf.segment().look() {
            Looked::Plain(rows) => LookedBlock::Plain(Block::Segment(rows.rows())),
            Looked::Copy(rows) => LookedBlock::Copy(rows, 0),
        }
    }
}

impl<'a, L: Layout> Iterator for LookedBlock<'a, L> {
    type Item = Look<'a, L>;

    #[inline]
    fn next(&mut self) -> Option<Look<'a, L>> {
        match self {
            LookedBlock::Plain(rows) => rows.next().map(Look::Plain),
            LookedBlock::Copy(rows, next) => {
                let slot = *next;
                *next += 1;
                (slot < rows.page().slots()).then(|| Look::Copy(rows.clone(), slot))
            }
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        match self {
            LookedBlock::Plain(rows) => rows.fold(init, |all, row| f(all, Look::Plain(row))),
            LookedBlock::Copy(rows, next) => {
                (next..rows.page().slots()).fold(init, |all, slot| f(all, Look::Copy(rows.clone(), slot)))
            }
        }
    }
}

/// The entry of a tag.
fn tagged<L: Layout>(rows: &Rows<L>, index: usize) -> Row<'_, L> {
    rows.row(index).expect("a tag belongs to an entry")
}

/// All entries of a table, block by block. What a chain of adapters does here costs more than the entries themselves.
#[derive(Clone)]
struct Iter<'a, L: Layout, B> {
    block: B,
    leaves: Leaves<'a, L>,
}

/// The entries of one block, as an iterator.
trait OfBlock<'a, L: Layout>: Iterator + Clone {
    /// Of a run or a segment.
    fn of(block: Block<'a, L>) -> Self;

    /// Of a leaf's segment.
    fn of_leaf(leaf: &'a Leaf<L>) -> Self;
}

/// The entries of a run or of a segment.
#[derive(Clone)]
enum Block<'a, L: Layout> {
    Run(RunIter<'a, L>),
    Segment(RowsIter<'a, L>),
}

impl<'a, L: Layout> Iterator for Block<'a, L> {
    type Item = Row<'a, L>;

    #[inline]
    fn next(&mut self) -> Option<Row<'a, L>> {
        match self {
            Block::Run(rows) => rows.next(),
            Block::Segment(rows) => rows.next(),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, f: F) -> B {
        match self {
            Block::Run(rows) => rows.fold(init, f),
            Block::Segment(rows) => rows.fold(init, f),
        }
    }
}

impl<'a, L: Layout> OfBlock<'a, L> for Block<'a, L> {
    #[inline]
    fn of(block: Block<'a, L>) -> Self {
        block
    }

    #[inline]
    fn of_leaf(leaf: &'a Leaf<L>) -> Self {
        Block::Segment(leaf.rows().rows())
    }
}

impl<'a, L: Layout, B: OfBlock<'a, L>> Iterator for Iter<'a, L, B> {
    type Item = B::Item;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.block.next() {
                return Some(row);
            }
            self.block = B::of_leaf(self.leaves.next()?);
        }
    }

    /// `for_each` uses this: one loop for each block, which does not ask at every entry what the block is.
    #[inline]
    fn fold<R, F: FnMut(R, Self::Item) -> R>(self, init: R, mut f: F) -> R {
        let first = self.block.fold(init, &mut f);
        self.leaves.fold(first, |all, leaf| B::of_leaf(leaf).fold(all, &mut f))
    }
}

/// Walks over a tree's leaves.
#[derive(Clone)]
pub(super) struct Leaves<'a, L: Layout> {
    stack: Vec<slice::Iter<'a, Child<L>>>,
}

impl<'a, L: Layout> Leaves<'a, L> {
    fn none() -> Self {
        Leaves { stack: Vec::new() }
    }

    pub(super) fn of(root: &'a Child<L>) -> Self {
        Leaves { stack: vec![slice::from_ref(root).iter()] }
    }
}

impl<'a, L: Layout> Iterator for Leaves<'a, L> {
    type Item = &'a Leaf<L>;

    fn next(&mut self) -> Option<&'a Leaf<L>> {
        loop {
            match self.stack.last_mut()?.next() {
                Some(Child::Leaf(leaf)) => return Some(leaf),
                Some(node) => self.stack.push(node.children().iter()),
                None => drop(self.stack.pop()),
            }
        }
    }
}
