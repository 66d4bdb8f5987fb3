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
/// all if `whole` says that none lies before `from` and there are not more. Returns how many were visited, and the position
/// where the scan goes on in this segment, if it does.
pub(crate) fn visit_from<R>(
    entries: impl Iterator<Item = R>,
    (from, whole): (u32, bool),
    count: usize,
    position: impl Fn(&R) -> u32,
    mut visit: impl FnMut(R),
) -> (usize, Option<u32>) {
    let entries: Vec<R> = entries.collect();
    if whole && entries.len() <= count {
        let visited = entries.len();
        entries.into_iter().for_each(visit);
        return (visited, None);
    }
    let with_positions = entries.into_iter().map(|entry| (position(&entry), entry));
    let mut found: Vec<(u32, R)> = with_positions.filter(|&(position, _)| position >= from).collect();
    let count = count.max(1);
    if found.len() <= count {
        let visited = found.len();
        found.into_iter().for_each(|(_, entry)| visit(entry));
        return (visited, None);
    }
    let last = found.select_nth_unstable_by_key(count - 1, |&(position, _)| position).1.0;
    let (mut visited, mut next) = (0, u32::MAX);
    for (position, entry) in found {
        if position <= last {
            visited += 1;
            visit(entry);
        } else {
            next = next.min(position);
        }
    }
    (visited, (next > last).then_some(next))
}

#[cfg(test)]
mod tests {
    use super::visit_from;

    fn step(from: (u32, bool), count: usize) -> (Vec<u32>, Option<u32>) {
        let mut seen = Vec::new();
        let (visited, next) = visit_from([7, 3, 9, 3, 5].into_iter(), from, count, |&n| n, |n| seen.push(n));
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
}
