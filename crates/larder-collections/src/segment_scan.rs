//! Scans of tables whose segments are ordered by the positions of their entries: as many entries as are asked for.
//!
//! The entries of a segment are in no order, and there are up to about 128 of them. Which of them a step visits, their tags say: a tag is
//! a byte of the hash, so it stays the same wherever the entry goes, and reading it costs nothing. A hash is computed only where a
//! segment has grown over the range that a walk has begun (segments were joined since).
//!
//! A cursor says which entries are done, whatever is split and joined after it:
//! ```text
//!   bits  0..32  position   all before it are done
//!   bits 32..40  tag        0, or: of those at the position and after it, in the range, all with lower tags are done
//!   bits 40..45  depth      the range: that part of all positions, one of 2^depth equal ones, which has the position in it
//! ```
//! [`visit_from`] does without tags: it finds the entries of a part of the table that follow a position.

use larder_packed::segment::Page;
use std::ops::Range;

/// Bits of a cursor of [`scan_by_tags`].
pub const CURSOR_BITS: u32 = 45;
const TAG_AT: u32 = 32;
const DEPTH_AT: u32 = 40;
/// One more than the last position.
const POSITIONS: u64 = 1 << 32;

/// A step of a scan gives up after this many segments per entry asked for, as an almost empty table has few entries in each.
const SEGMENTS_PER_COUNT: usize = 10;

/// A table's own name for a segment, which leads to its bytes.
pub(crate) trait Paged {
    /// The segment's bytes.
    fn page(&self) -> &Page;
}

/// A segment of a table as a scan sees it.
pub(crate) struct Segment<S> {
    pub of: S,
    /// The positions of its entries: an aligned power of two of them.
    pub range: Range<u64>,
}

/// How far a scan by tags has come.
#[derive(Clone, Copy)]
struct Place {
    position: u64,
    tag: u8,
    depth: u32,
}

impl Place {
    fn decode(cursor: u64) -> Option<Place> {
        let (tag, depth) = ((cursor >> TAG_AT) as u8, (cursor >> DEPTH_AT) as u32);
        (cursor >> CURSOR_BITS == 0).then_some(Place { position: cursor % POSITIONS, tag, depth })
    }

    /// Whether the scan has visited an entry of this position and tag.
    fn is_past(self, position: u32, tag: u8) -> bool {
        let (position, size) = (u64::from(position), POSITIONS >> self.depth.min(POSITIONS.ilog2()));
        let end = (self.position / size + 1) * size;
        position < self.position || position < end && tag < self.tag
    }

    fn encode(self) -> u64 {
        match self.tag {
            0 => self.position,
            tag => self.position | u64::from(tag) << TAG_AT | u64::from(self.depth) << DEPTH_AT,
        }
    }

    /// The end of the range that the walk is in. One that begins a range takes the segment, or as much of it as is aligned: others
    /// than the first positions of a segment are where a smaller one began before it was joined.
    fn begin(&mut self, segment: &Range<u64>) -> u64 {
        if self.tag == 0 {
            let aligned = if self.position == 0 { POSITIONS } else { 1 << self.position.trailing_zeros() };
            self.depth = POSITIONS.ilog2() - aligned.min(segment.end - segment.start).ilog2();
        }
        let size = POSITIONS >> self.depth;
        (self.position / size + 1) * size
    }
}

/// Whether a scan that has come to this cursor has visited an entry of a position and a tag. For tables that have become so
/// small that the rest of the scan is one step.
pub(crate) fn is_past(cursor: u64, position: u32, tag: u8) -> bool {
    Place::decode(cursor).is_none_or(|place| place.is_past(position, tag))
}

/// A step of a scan over a table whose entries lie by their hashes: visits about `count` entries from a cursor on, and returns the next
/// one, 0 at the end. Each entry that is there from the first call to the last is visited exactly once. `segment_at` gives the segment of
/// a position, if there is one; `position_of` computes that of an entry, `visit` takes it, both by segment and slot.
pub(crate) fn scan_by_tags<S: Paged>(
    cursor: u64,
    count: usize,
    segment_at: impl Fn(u32) -> Option<Segment<S>>,
    position_of: impl Fn(&S, usize) -> u32,
    mut visit: impl FnMut(&S, usize),
) -> u64 {
    let Some(mut place) = Place::decode(cursor) else { return 0 };
    let mut left = count.max(1);
    for _ in 0..left.saturating_mul(SEGMENTS_PER_COUNT) {
        let Some(segment) = segment_at(place.position as u32) else { return 0 };
        let page = segment.of.page();
        let end = place.begin(&segment.range);
        let part = place.position..end.min(segment.range.end);
        let is_whole = part == segment.range;
        // In a part of a range, a step that stopped would leave the others to be walked again. At a single position a cursor has no room.
        let ends_range = part.end == end;
        let may_stop = ends_range && place.depth < POSITIONS.ilog2();
        let last = if may_stop { last_tag(page, place.tag, left) } else { u8::MAX };
        for (index, tag) in page.tags().enumerate() {
            let is_next = (place.tag.max(1)..=last).contains(&tag);
            if is_next && (is_whole || part.contains(&u64::from(position_of(&segment.of, index)))) {
                visit(&segment.of, index);
                left = left.saturating_sub(1);
            }
        }
        match last {
            u8::MAX => {
                place.position = part.end;
                place.tag = if ends_range { 0 } else { place.tag };
            }
            last => place.tag = last + 1,
        }
        if place.position == POSITIONS {
            return 0;
        }
        if left == 0 {
            break;
        }
    }
    place.encode()
}

/// The tag up to which there are `count` entries of a segment, from a tag on.
fn last_tag(page: &Page, from: u8, count: usize) -> u8 {
    if page.slots() <= count {
        return u8::MAX;
    }
    let mut counts = [0_u32; 256];
    page.tags().for_each(|tag| counts[usize::from(tag)] += 1);
    let mut seen = 0;
    let is_enough = |&tag: &u8| {
        seen += counts[usize::from(tag)] as usize;
        seen >= count
    };
    (from.max(1)..=u8::MAX).find(is_enough).unwrap_or(u8::MAX)
}

/// A step of a scan over a table: `segment` visits what [`visit_from`] does of the segment at a position, and returns the
/// number of entries and where the scan goes on, `None` at the end of the table. Returns the next cursor, 0 at the end.
pub(crate) fn scan(
    cursor: u64,
    count: usize,
    mut segment: impl FnMut(u32, usize) -> (usize, Option<u32>),
) -> u64 {
    let Ok(mut position) = u32::try_from(cursor) else { return 0 };
    let mut left = count.max(1);
    for _ in 0..left.saturating_mul(SEGMENTS_PER_COUNT) {
        let (visited, next) = segment(position, left);
        left = left.saturating_sub(visited);
        match next {
            None => return 0,
            Some(next) => position = next,
        }
        if left == 0 {
            break;
        }
    }
    u64::from(position)
}

/// Calls `visit` with the entries from position `from` on, `count` of them and those that share the position of the last, or
/// all if `whole` says that none lies before `from` and there are not more; `most` is as many as there may be. Returns how many were
/// visited, and the position where the scan goes on in this segment, if it does.
pub(crate) fn visit_from<R>(
    (entries, most): (impl Iterator<Item = R>, usize),
    (from, whole): (u32, bool),
    count: usize,
    position: impl Fn(&R) -> u32,
    mut visit: impl FnMut(R),
) -> (usize, Option<u32>) {
    if whole && most <= count {
        let visited = entries.map(&mut visit).count();
        return (visited, None);
    }
    let count = count.max(1);
    let full = count.saturating_mul(2);
    let mut nearest = Nearest { count, found: Vec::new(), full, limit: u32::MAX, next: None };
    for entry in entries {
        let position = position(&entry);
        if position >= from {
            nearest.offer(position, entry);
        }
    }
    nearest.cut();
    let visited = nearest.found.len();
    nearest.found.into_iter().for_each(|(_, entry)| visit(entry));
    (visited, nearest.next)
}

/// The entries with the lowest positions of those that are offered: `count`, and those that share the position of the last.
struct Nearest<R> {
    count: usize,
    /// Them, and some more.
    found: Vec<(u32, R)>,
    /// When those are taken out that are not.
    full: usize,
    /// None above it is among them.
    limit: u32,
    /// The lowest position that is not.
    next: Option<u32>,
}

impl<R> Nearest<R> {
    #[inline]
    fn offer(&mut self, position: u32, entry: R) {
        if position > self.limit {
            return self.pass(position);
        }
        self.found.push((position, entry));
        if self.found.len() >= self.full {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.found.len() <= self.count {
            return;
        }
        let last = self.found.select_nth_unstable_by_key(self.count - 1, |&(position, _)| position).1.0;
        let next =
            self.found[self.count..].iter().map(|&(position, _)| position).filter(|&at| at > last).min();
        self.found.retain(|&(position, _)| position <= last);
        (self.limit, self.full) = (last, 2 * self.found.len());
        if let Some(next) = next {
            self.pass(next);
        }
    }

    fn pass(&mut self, position: u32) {
        self.next = Some(self.next.map_or(position, |next| next.min(position)));
    }
}

#[cfg(test)]
mod tests {
    use super::{POSITIONS, Place, visit_from};

    #[test]
    fn a_range_is_a_segment_or_what_is_aligned_of_it() {
        let half = POSITIONS / 2;
        let begin = |position: u64, tag: u8, depth: u32, segment: std::ops::Range<u64>| {
            let mut place = Place { position, tag, depth };
            let end = place.begin(&segment);
            assert_eq!(Place::decode(place.encode()).map(Place::encode), Some(place.encode()));
            (end, place.depth)
        };
        assert_eq!(begin(0, 0, 0, 0..POSITIONS), (POSITIONS, 0));
        assert_eq!(begin(half, 0, 7, half..POSITIONS), (POSITIONS, 1));
        assert_eq!(begin(half / 2, 0, 0, 0..POSITIONS), (half, 2), "it began at a smaller segment");
        assert_eq!(begin(half + 1, 0, 0, half..POSITIONS), (half + 2, 32));
        assert_eq!(begin(half + 1, 9, 1, half..half + 8), (POSITIONS, 1), "the segment has been split");
        assert_eq!(begin(half + 1, 9, 3, 0..POSITIONS), (half + half / 4, 3), "segments have been joined");
    }

    fn step(from: (u32, bool), count: usize) -> (Vec<u32>, Option<u32>) {
        let mut seen = Vec::new();
        let (visited, next) =
            visit_from(([7, 3, 9, 3, 5].into_iter(), 5), from, count, |&n| n, |n| seen.push(n));
        assert_eq!(visited, seen.len());
        seen.sort_unstable();
        (seen, next)
    }

    #[test]
    fn as_many_as_are_asked_for_are_visited() {
        assert_eq!(step((0, true), 5), (vec![3, 3, 5, 7, 9], None), "all");
        assert_eq!(step((0, true), 2), (vec![3, 3], Some(5)));
        assert_eq!(step((0, true), 1), (vec![3, 3], Some(5)), "those at one position come together");
        assert_eq!(step((0, true), 0), (vec![3, 3], Some(5)), "a step goes on at least by one");
        assert_eq!(step((4, false), 2), (vec![5, 7], Some(9)));
        assert_eq!(step((4, false), 3), (vec![5, 7, 9], None));
        assert_eq!(step((10, false), 3), (vec![], None));
    }

    #[test]
    fn they_are_the_first_of_all_in_order() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let (len, range) = (rng.usize(..200), rng.u32(1..300));
            let all: Vec<u32> = (0..len).map(|_| rng.u32(..range)).collect();
            let (from, count) = (rng.u32(..range), rng.usize(1..250));
            let mut seen = Vec::new();
            let entries = (all.iter().copied(), len);
            let (visited, next) = visit_from(entries, (from, from == 0), count, |&n| n, |n| seen.push(n));
            seen.sort_unstable();
            let mut sorted: Vec<u32> = all.into_iter().filter(|&n| n >= from).collect();
            sorted.sort_unstable();
            let last = sorted.get(count - 1).copied().unwrap_or(u32::MAX);
            let end = sorted.partition_point(|&n| n <= last);
            assert_eq!((visited, &seen[..], next), (end, &sorted[..end], sorted.get(end).copied()));
        }
    }
}
