//! Elements gathered by key.
//!
//! An element is a row of parts, each its length (4 bytes, little endian) and its bytes, one after the other:
//!
//! ```text
//!  string, list, set    value
//!  hash                 field, value, field, value, ..
//!  sorted set           member, score as eight bytes
//!  stream               ID as twice eight bytes, number of fields as four, field, value, ..
//! ```
//!
//! Of commands that were gathered an element is a command (see [`crate::replay`]); of keys of another server it is the payload.
//!
//! Groups come out in the order in which their keys came first, so that the same file gives the same groups every time.

use std::collections::HashMap;

/// A key with all that rows have added to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The database.
    pub db: u32,
    /// The key.
    pub key: Vec<u8>,
    /// Its elements.
    pub elements: Vec<u8>,
    /// When it expires, in milliseconds since 1970; the last row that says so decides.
    pub expire_at_ms: Option<u64>,
    /// Where it began: the line of its first row, the offset of its first command, or its number.
    pub place: u64,
}

/// What a group takes beside key and elements, about: itself, its place in the index, and the slack of allocations.
const GROUP_BYTES: usize = 160;

/// Gathers groups.
#[derive(Default)]
pub struct Grouper {
    groups: Vec<Group>,
    /// Positions by key and database.
    index: HashMap<Vec<u8>, usize>,
    /// Room for what is looked up.
    name: Vec<u8>,
    bytes: usize,
    replaces: bool,
}

impl Grouper {
    /// A grouper; with `replaces` an element takes the place of the one before it, as values of strings do.
    pub fn new(replaces: bool) -> Self {
        Grouper { replaces, ..Grouper::default() }
    }

    /// Adds elements to a key of a database. O(1), and the copy of the elements.
    pub fn add(&mut self, db: u32, key: &[u8], elements: &[u8], expire_at_ms: Option<u64>, place: u64) {
        self.bytes += elements.len();
        if let Some(at) = self.position(db, key) {
            let group = &mut self.groups[at];
            if self.replaces {
                self.bytes -= group.elements.len();
                group.elements.clear();
            }
            group.elements.extend_from_slice(elements);
            group.expire_at_ms = expire_at_ms.or(group.expire_at_ms);
            return;
        }
        self.bytes += 2 * key.len() + GROUP_BYTES;
        self.index.insert(self.name.clone(), self.groups.len());
        self.groups.push(Group { db, key: key.to_vec(), elements: elements.to_vec(), expire_at_ms, place });
    }

    /// Whether a key of a database is there.
    pub fn contains(&mut self, db: u32, key: &[u8]) -> bool {
        self.position(db, key).is_some()
    }

    fn position(&mut self, db: u32, key: &[u8]) -> Option<usize> {
        self.name.clear();
        self.name.extend_from_slice(key);
        self.name.extend_from_slice(&db.to_le_bytes());
        self.index.get(&self.name).copied()
    }

    /// Bytes of memory, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes all groups out.
    pub fn take(&mut self) -> Vec<Group> {
        self.index.clear();
        self.bytes = 0;
        std::mem::take(&mut self.groups)
    }
}

/// The parts of elements.
pub struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    /// Of these elements.
    pub fn of(elements: &'a [u8]) -> Self {
        Parts(elements)
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.0.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        self.0 = rest;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_in_the_order_of_their_first_rows() {
        for replaces in [false, true] {
            let mut grouper = Grouper::new(replaces);
            for (line, (key, element)) in [("b", "1"), ("a", "2"), ("b", "3")].iter().enumerate() {
                grouper.add(7, key.as_bytes(), element.as_bytes(), Some(line as u64), line as u64 + 1);
            }
            assert!(grouper.contains(7, b"a") && !grouper.contains(7, b"c") && !grouper.contains(8, b"a"));
            assert!(grouper.bytes() > 2 * GROUP_BYTES);
            let groups = grouper.take();
            let shown: Vec<_> =
                groups.iter().map(|g| (&g.key[..], &g.elements[..], g.expire_at_ms, g.place)).collect();
            let first: &[u8] = if replaces { b"3" } else { b"13" };
            assert_eq!(shown, [(&b"b"[..], first, Some(2), 1), (b"a", b"2", Some(1), 2)]);
            assert!(grouper.take().is_empty() && grouper.bytes() == 0);
        }
    }

    #[test]
    fn parts_end_where_bytes_do() {
        let bytes = [1, 0, 0, 0, b'x', 0, 0, 0, 0, 9, 0, 0, 0, b'y'];
        assert_eq!(Parts::of(&bytes).collect::<Vec<_>>(), [&b"x"[..], b""]);
    }
}
