//! Scans of tables whose segments are ordered by the positions of their entries: as many entries as are asked for.
//!
//! The entries of a segment are in no order, so a part of them is found by their positions: O(n) for the n entries of one
//! segment, of which there are at most about 128. Entries at one position are visited in one step, as a cursor could not tell
//! them apart.

/// A step of a scan gives up after this many segments per entry asked for, as an almost empty table has few entries in each.
const SEGMENTS_PER_COUNT: usize = 10;

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
    use super::visit_from;

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
