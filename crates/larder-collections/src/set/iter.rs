//! All members, and scans by cursor.

use super::{Element, Member, Set, SetEncoding};
use crate::int_set::CURSOR_END;
use crate::table::Look;

/// Cursors of the integers have this bit; those of the strings are below 2^32. Together they stay below 2^53, which is
/// as far as the numbers of some clients go.
const INTS: u64 = 1 << 52;
const _: () = assert!(CURSOR_END <= INTS);

/// A member that is looked at.
#[derive(Clone)]
pub enum MemberLook<'a> {
    /// An integer that is packed as such.
    Int(i64),
    /// A string.
    Text(TextLook<'a>),
}

impl MemberLook<'_> {
    /// The member.
    pub fn element(&self) -> Element<'_> {
        match self {
            MemberLook::Int(value) => Element::Int(*value),
            MemberLook::Text(text) => Element::Bytes(text.bytes()),
        }
    }
}

/// A string that is looked at.
#[derive(Clone)]
pub struct TextLook<'a>(Look<'a, Member>);

impl TextLook<'_> {
    /// The string.
    pub fn bytes(&self) -> &[u8] {
        self.0.row().key()
    }
}

impl Set {
    /// All members: integers in ascending order, strings in the order of their table.
    pub fn iter(&self) -> impl Iterator<Item = Element<'_>> {
        let ints = self.ints().into_iter().flat_map(|ints| ints.iter()).map(Element::Int);
        let strings = self.strings().into_iter().flat_map(|strings| strings.iter());
        ints.chain(strings.map(|row| Element::Bytes(row.key())))
    }

    /// Reads all members in the order of [`iter`](Self::iter): a use of each, but compressed segments leave no copies.
    pub fn for_each(&self, mut f: impl FnMut(Element<'_>)) {
        self.ints().into_iter().flat_map(|ints| ints.iter()).for_each(|value| f(Element::Int(value)));
        if let Some(strings) = self.strings() {
            strings.read_all(|row| f(Element::Bytes(row.key())));
        }
    }

    /// All members in the same order, for those who copy or count them: no use of any.
    pub fn looks(&self) -> impl Iterator<Item = MemberLook<'_>> + Clone {
        let ints = self.ints().into_iter().flat_map(|ints| ints.iter()).map(MemberLook::Int);
        ints.chain(self.strings_only().map(MemberLook::Text))
    }

    /// The strings, and the integers that are stored as such, in the same way.
    pub fn strings_only(&self) -> impl Iterator<Item = TextLook<'_>> + Clone {
        self.strings().into_iter().flat_map(|strings| strings.looks()).map(TextLook)
    }

    /// One step of a scan: calls `f` with about `count` members and returns the cursor for the next step, 0 at the end.
    /// A set that is called intset or listpack is seen at once.
    ///
    /// A member that is in the set during the whole scan is seen at least once, whatever happens to the set meanwhile.
    pub fn scan(&self, cursor: u64, count: usize, mut f: impl FnMut(Element<'_>)) -> u64 {
        if self.encoding() != SetEncoding::Hashtable {
            self.looks().for_each(|member| f(member.element()));
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
