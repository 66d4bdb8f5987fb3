//! A table of more than one segment, or of entries that expire: the directory's root and its counts.

use super::node::{Child, Leaf, POSITION_BITS};
use super::place::{DEPTH_SLACK, Place, SEGMENT_BYTES_MAX, SEGMENT_SLOTS_MAX, Sought};
use crate::key_table::{KeyHash, position};
use larder_packed::segment::{Layout, Row, Rows};
use std::cmp::Ordering;

/// Buddies are merged when they fill at most this share of a full segment together.
const MERGE_PERCENT: usize = 85;
/// Content below this share of a full segment makes a removal look at the buddy, which costs a cache miss.
const LOOK_PERCENT: usize = 40;
/// No segment lies deeper: the directory's last level ends at bit 30.
pub(super) const DEPTH_MAX: u32 = 28;
/// The time of what never expires.
pub(super) const NEVER: u64 = u64::MAX;

#[derive(Clone)]
pub(crate) struct Tree<L: Layout> {
    pub(super) root: Child<L>,
    pub(super) len: usize,
    /// Bytes of plain segments and out-of-line strings.
    pub(super) heap_bytes: usize,
    /// Compressed segments, and their bytes.
    pub(super) cold_segments: u32,
    pub(super) cold_bytes: usize,
    /// Entries that expire.
    pub(super) expiring: usize,
    /// Nothing expires before.
    pub(super) soonest: u64,
    pub(super) segments: u32,
    pub(super) nodes: u32,
    pub(super) deepest: u8,
    pub(super) sample_bits: u8,
    pub(super) mark: bool,
}

impl<L: Layout> Tree<L> {
    /// A tree of one segment, without expiries.
    pub fn of(rows: Rows<L>, mark: bool) -> Self {
        Tree {
            len: rows.page().live(),
            heap_bytes: rows.heap_bytes(),
            sample_bits: bits_for(rows.page().slots()),
            root: Child::Leaf(Leaf::new(rows, NEVER)),
            cold_segments: 0,
            cold_bytes: 0,
            expiring: 0,
            soonest: NEVER,
            segments: 1,
            nodes: 0,
            deepest: 0,
            mark,
        }
    }

    /// Puts an entry, unless one with its key is there and `replaces` is false. Returns whether the key was not there.
    pub(super) fn put<H: KeyHash>(
        &mut self,
        place: Place,
        new: L::New<'_>,
        replaces: bool,
        sought: Sought,
    ) -> bool {
        if !replaces
            && self
                .cold_rows(place.position)
                .is_some_and(|rows| sought.row(rows, place, L::new_key(new)).is_some())
        {
            return false;
        }
        self.thaw_at(place.position);
        loop {
            let depth_max = self.depth_max();
            let leaf = self.root.leaf_mut(place.position);
            let rows = leaf.rows_mut();
            let capacity = rows.page().capacity_bytes();
            if let Some(row) = sought.row(rows, place, L::new_key(new)) {
                if replaces {
                    let old = Old::of(row, capacity);
                    rows.replace(row.slot(), new);
                    self.replaced::<H>(place.position, &old, new);
                }
                return false;
            }
            if is_full(rows, new, depth_max) {
                self.split::<H>(place.position);
                continue;
            }
            rows.insert(place.tag, new);
            let (grown, slots) = (rows.page().capacity_bytes(), rows.page().slots());
            self.heap_bytes = self.heap_bytes + grown - capacity + L::new_out_bytes(new);
            self.sample_bits = self.sample_bits.max(bits_for(slots));
            self.len += 1;
            if L::new_expiry(new).is_some() {
                self.note_expiry(place.position, None, L::new_expiry(new));
            }
            return true;
        }
    }

    /// The entries of a position's segment if that is compressed, for a look before a change that may change nothing: the copy, which stays.
    fn cold_rows(&self, position: u32) -> Option<&Rows<L>> {
        if self.cold_segments == 0 {
            return None;
        }
        let segment = self.root.leaf(position).segment();
        segment.is_cold().then(|| segment.rows())
    }

    /// Makes the segment of a position plain, if it is compressed: before it is changed.
    #[inline]
    pub(super) fn thaw_at(&mut self, position: u32) {
        if self.cold_segments > 0 {
            self.thaw_one_of_some(position);
        }
    }

    #[cold]
    fn thaw_one_of_some(&mut self, position: u32) {
        let segment = self.root.leaf(position).segment();
        if segment.is_cold() {
            let mut plain = segment.clone();
            plain.thaw();
            self.replace_segment(position, plain);
        }
    }

    /// Counts again after an entry has been replaced.
    fn replaced<H: KeyHash>(&mut self, position: u32, old: &Old, new: L::New<'_>) {
        let grown = self.root.leaf(position).rows().page().capacity_bytes() + L::new_out_bytes(new);
        self.heap_bytes = self.heap_bytes + grown - old.capacity_bytes - old.out_bytes;
        if old.expire_at_ms.is_some() || L::new_expiry(new).is_some() {
            self.note_expiry(position, old.expire_at_ms, L::new_expiry(new));
        }
        match L::entry_bytes(new).cmp(&old.entry_bytes) {
            Ordering::Greater => self.split_large::<H>(position),
            Ordering::Less => self.settle(position),
            Ordering::Equal => {}
        }
    }

    /// Removes an entry after showing it to `visit`, and gives memory back where that pays.
    pub(super) fn take<R>(
        &mut self,
        place: Place,
        key: &[u8],
        visit: impl FnOnce(Row<'_, L>) -> R,
    ) -> Option<R> {
        if self.cold_rows(place.position).is_some_and(|rows| rows.find(place.tag, key).is_none()) {
            return None;
        }
        self.thaw_at(place.position);
        let leaf = self.root.leaf_mut(place.position);
        let row = leaf.rows().find(place.tag, key)?;
        let result = visit(row);
        self.len -= 1;
        self.expiring -= usize::from(row.expire_at_ms().is_some());
        self.heap_bytes -= row.out_bytes();
        let slot = row.slot();
        // The first segment of a growing table keeps the order of insertion.
        if self.segments == 1 {
            leaf.rows_mut().remove_in_order(slot);
        } else {
            leaf.rows_mut().remove(slot);
        }
        // As long as the segment has no memory to give back its buddy is not looked at: that costs a cache miss.
        if leaf.rows().page().is_sparse() {
            self.settle(place.position);
        }
        Some(result)
    }

    /// Removes up to `max` entries of the segment of a position which `is` picks, after showing them to `visit`.
    pub fn take_from(
        &mut self,
        position: u32,
        max: usize,
        is: impl Fn(Row<'_, L>) -> bool,
        visit: &mut impl FnMut(Row<'_, L>),
    ) -> usize {
        self.thaw_at(position);
        let leaf = self.root.leaf_mut(position);
        let mut taken = 0;
        for index in (0..leaf.rows().page().slots()).rev() {
            let Some(row) = leaf.rows().row(index).filter(|&row| taken < max && is(row)) else { continue };
            visit(row);
            taken += 1;
            self.expiring -= usize::from(row.expire_at_ms().is_some());
            self.heap_bytes -= row.out_bytes();
            let slot = row.slot();
            if self.segments == 1 {
                leaf.rows_mut().remove_in_order(slot);
            } else {
                leaf.rows_mut().remove(slot);
            }
        }
        leaf.soonest = soonest_of(leaf.rows());
        self.len -= taken;
        taken
    }

    /// Keeps counts and minima after the expiry of an entry has changed.
    pub fn note_expiry(&mut self, position: u32, before: Option<u64>, after: Option<u64>) {
        self.expiring = self.expiring + usize::from(after.is_some()) - usize::from(before.is_some());
        if let Some(ms) = after {
            let leaf = self.root.leaf_mut(position);
            leaf.soonest = leaf.soonest.min(ms);
            self.soonest = self.soonest.min(ms);
        }
    }

    /// Changes the segment of a position in another way, which may move it but not its out-of-line strings.
    pub fn update<R>(&mut self, position: u32, change: impl FnOnce(&mut Rows<L>) -> R) -> R {
        self.thaw_at(position);
        let rows = self.root.leaf_mut(position).rows_mut();
        let capacity = rows.page().capacity_bytes();
        let result = change(rows);
        self.heap_bytes = self.heap_bytes + rows.page().capacity_bytes() - capacity;
        result
    }

    /// Splits the segment of a position as long as it is larger than segments should be.
    pub fn split_large<H: KeyHash>(&mut self, position: u32) {
        loop {
            let page = self.root.leaf(position).rows().page();
            let large = page.content_bytes() > SEGMENT_BYTES_MAX;
            if !large || page.live() < 2 || page.depth() >= self.depth_max() {
                return;
            }
            self.split::<H>(position);
        }
    }

    /// Gives memory back around a position where an entry has gone or become shorter.
    pub fn settle(&mut self, position: u32) {
        while is_sparse(self.root.leaf(position).rows()) && self.merge(position) {}
        if self.root.leaf(position).rows().page().is_sparse() {
            self.update(position, Rows::shrink);
        }
    }

    /// How deep a segment may lie, as things are.
    pub fn depth_max(&self) -> u32 {
        (self.segments.ilog2() + DEPTH_SLACK).min(DEPTH_MAX)
    }

    pub(super) fn split<H: KeyHash>(&mut self, at: u32) {
        let (mut before, mut after, mut depth) = (0, 0, 0);
        self.nodes += self.root.split(at, |leaf| {
            depth = leaf.rows().depth() + 1;
            before = leaf.rows().page().capacity_bytes();
            let middle = leaf_start(at, depth) | 1 << (POSITION_BITS - depth);
            let (mut left, mut right) = leaf.rows().split(|row| position(H::hash(row.key())) >= middle);
            left.set_depth(depth);
            right.set_depth(depth);
            after = left.page().capacity_bytes() + right.page().capacity_bytes();
            let soonest = |rows: &Rows<L>| if leaf.soonest == NEVER { NEVER } else { soonest_of(rows) };
            let (left_soonest, right_soonest) = (soonest(&left), soonest(&right));
            (Leaf::new(left, left_soonest), Leaf::new(right, right_soonest))
        }) as u32;
        self.segments += 1;
        self.heap_bytes = self.heap_bytes + after - before;
        self.deepest = self.deepest.max(depth as u8);
    }

    fn merge(&mut self, position: u32) -> bool {
        let (mut before, mut after) = (0, 0);
        let (mut cold_segments, mut cold_bytes) = (0, 0);
        let merged = self.root.merge(position, &mut |left, right| {
            let (left_rows, right_rows) = (left.segment().look(), right.segment().look());
            let (a, b) = (left_rows.page(), right_rows.page());
            let bytes = a.content_bytes() + b.content_bytes();
            let fits = bytes * 100 <= SEGMENT_BYTES_MAX * MERGE_PERCENT
                && (a.live() + b.live()) * 100 <= SEGMENT_SLOTS_MAX * MERGE_PERCENT;
            fits.then(|| {
                let mut rows = Rows::join(&left_rows, &right_rows);
                rows.set_depth(a.depth() - 1);
                for (leaf, page) in [(left, a), (right, b)] {
                    match leaf.segment().cold_bytes() {
                        None => before += page.capacity_bytes(),
                        Some(cold) => {
                            cold_segments += 1;
                            cold_bytes += cold.heap;
                        }
                    }
                }
                after = rows.page().capacity_bytes();
                Leaf::new(rows, left.soonest.min(right.soonest))
            })
        });
        let Some(merged) = merged else { return false };
        self.nodes -= merged.nodes_gone as u32;
        self.segments -= 1;
        self.cold_segments -= cold_segments;
        self.cold_bytes -= cold_bytes;
        self.heap_bytes = self.heap_bytes + after - before;
        if self.segments.is_power_of_two() {
            self.find_deepest();
        }
        true
    }

    /// Makes `deepest` exact again, which merges do not.
    fn find_deepest(&mut self) {
        let mut last = None;
        let mut deepest = 0;
        // The length of a run is the distance to the next leaf, or its own alignment where that is less; the segments
        // need not be touched.
        self.root.for_each_leaf(0, 0, &mut |start, _| {
            if let Some(before) = last.replace(start) {
                deepest = deepest.max(POSITION_BITS - (start - before).ilog2());
            }
        });
        if let Some(start) = last.filter(|&start| start > 0) {
            deepest = deepest.max(POSITION_BITS - (u32::MAX - start + 1).ilog2());
        }
        self.deepest = deepest as u8;
    }
}

/// What is to be remembered of an entry that is replaced.
struct Old {
    capacity_bytes: usize,
    entry_bytes: usize,
    out_bytes: usize,
    expire_at_ms: Option<u64>,
}

impl Old {
    fn of<L: Layout>(row: Row<'_, L>, capacity_bytes: usize) -> Old {
        let (entry_bytes, out_bytes) = (row.entry_bytes(), row.out_bytes());
        Old { capacity_bytes, entry_bytes, out_bytes, expire_at_ms: row.expire_at_ms() }
    }
}

/// Whether a segment is so empty that it may be merged or shrunk.
fn is_sparse<L: Layout>(rows: &Rows<L>) -> bool {
    let page = rows.page();
    page.content_bytes() * 100 <= SEGMENT_BYTES_MAX * LOOK_PERCENT || page.is_sparse()
}

/// Whether a segment must be split before an entry comes in, and may be.
fn is_full<L: Layout>(rows: &Rows<L>, new: L::New<'_>, depth_max: u32) -> bool {
    let page = rows.page();
    let full = rows.content_with(new) > SEGMENT_BYTES_MAX
        || page.slots() >= SEGMENT_SLOTS_MAX && page.live() >= SEGMENT_SLOTS_MAX;
    full && page.live() > 1 && page.depth() < depth_max
}

/// The first position of the segment of a depth that a position belongs to.
pub(super) fn leaf_start(position: u32, depth: u32) -> u32 {
    position & u32::MAX.checked_shl(POSITION_BITS - depth).unwrap_or(0)
}

/// When the first entry of a segment expires.
pub(super) fn soonest_of<L: Layout>(rows: &Rows<L>) -> u64 {
    rows.rows().filter_map(Row::expire_at_ms).min().unwrap_or(NEVER)
}

/// How many bits number this many slots.
pub(super) fn bits_for(slots: usize) -> u8 {
    slots.next_power_of_two().ilog2() as u8
}
