//! Scans of tables whose segments are ordered by the positions of their entries: as many entries as are asked for.
//!
//! The entries of a segment are in no order, so a part of them is found by sorting their positions: O(n log n) for the n
//! entries of one segment, of which there are at most about 128. Entries at one position are visited together, as a cursor
//! could not tell them apart.

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
    let mut found: Vec<(u32, R)> = entries.into_iter().map(|entry| (position(&entry), entry)).collect();
    found.retain(|&(position, _)| position >= from);
    found.sort_unstable_by_key(|&(position, _)| position);
    let last = found.get(count.max(1) - 1).map(|&(position, _)| position);
    let end = last.map_or(found.len(), |last| found.partition_point(|&(position, _)| position <= last));
    let next = found.get(end).map(|&(position, _)| position);
    found.truncate(end);
    found.into_iter().for_each(|(_, entry)| visit(entry));
    (end, next)
}

#[cfg(test)]
mod tests {
    use super::visit_from;

    fn step(from: (u32, bool), count: usize) -> (Vec<u32>, Option<u32>) {
        let mut seen = Vec::new();
        let (visited, next) = visit_from([7, 3, 9, 3, 5].into_iter(), from, count, |&n| n, |n| seen.push(n));
        assert_eq!(visited, seen.len());
        (seen, next)
    }

    #[test]
    fn as_many_as_are_asked_for_are_visited() {
        assert_eq!(step((0, true), 5), (vec![7, 3, 9, 3, 5], None), "all, as they come");
        assert_eq!(step((0, true), 2), (vec![3, 3], Some(5)));
        assert_eq!(step((0, true), 1), (vec![3, 3], Some(5)), "those at one position come together");
        assert_eq!(step((0, true), 0), (vec![3, 3], Some(5)), "a step goes on at least by one");
        assert_eq!(step((4, false), 2), (vec![5, 7], Some(9)));
        assert_eq!(step((4, false), 3), (vec![5, 7, 9], None));
        assert_eq!(step((10, false), 3), (vec![], None));
    }
}
