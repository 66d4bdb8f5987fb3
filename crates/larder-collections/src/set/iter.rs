//! All members, and scans by cursor.

use super::{Element, Set, SetEncoding};
use crate::int_set::CURSOR_END;

/// Cursors of the integers have this bit; those of the strings are below 2^32. Together they stay below 2^53, which is
/// as far as the numbers of some clients go.
const INTS: u64 = 1 << 52;
const _: () = assert!(CURSOR_END <= INTS);

impl Set {
    /// All members: integers in ascending order, strings in the order of their table.
    pub fn iter(&self) -> impl Iterator<Item = Element<'_>> {
        let ints = self.ints().into_iter().flat_map(|ints| ints.iter()).map(Element::Int);
        let strings = self.strings().into_iter().flat_map(|strings| strings.iter());
        ints.chain(strings.map(|row| Element::Bytes(row.key())))
    }

    /// One step of a scan: calls `f` with about `count` members and returns the cursor for the next step, 0 at the end.
    /// A set that is called intset or listpack is seen at once.
    ///
    /// A member that is in the set during the whole scan is seen at least once, whatever happens to the set meanwhile.
    pub fn scan(&self, cursor: u64, count: usize, mut f: impl FnMut(Element<'_>)) -> u64 {
        if self.encoding() != SetEncoding::Hashtable {
            self.iter().for_each(f);
            return 0;
        }
        let mut left = count;
        if let Some(strings) = self.strings().filter(|_| cursor & INTS == 0) {
            let next = strings.scan(cursor, count, |row| {
                left = left.saturating_sub(1);
                f(Element::Bytes(row.key()));
            });
            if next != 0 {
                return next;
            }
        }
        let Some(ints) = self.ints() else { return 0 };
        if left == 0 {
            return INTS;
        }
        // A cursor of strings that are no more: the integers have not been seen.
        let from = if cursor & INTS == 0 { 0 } else { cursor & !INTS };
        match ints.scan(from, left, |value| f(Element::Int(value))) {
            0 => 0,
            next => next | INTS,
        }
    }
}
