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
//! Groups come out in the order in which their keys came first (but for those that take the place of one that was taken out), so that the
//! same file gives the same groups every time.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// A key with all that was added to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The database.
    pub db: u32,
    /// How long the key is.
    key_len: u32,
    /// The key, and the elements: most groups are one small allocation.
    bytes: Vec<u8>,
    /// When it expires, in milliseconds since 1970; the last row that says so decides.
    pub expire_at_ms: Option<u64>,
    /// Where it began: the line of its first row, the offset of its first command, or its number.
    pub place: u64,
}

impl Group {
    /// A key with its first elements. A key has at most 512 MB.
    pub fn new(db: u32, key: &[u8], elements: &[u8], expire_at_ms: Option<u64>, place: u64) -> Self {
        let mut bytes = Vec::with_capacity(key.len() + elements.len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(elements);
        Group { db, key_len: key.len() as u32, bytes, expire_at_ms, place }
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len as usize]
    }

    /// Its elements.
    pub fn elements(&self) -> &[u8] {
        &self.bytes[self.key_len as usize..]
    }
}

/// What a group takes beside key and elements, about: itself, its place in the index, and the slack of allocations.
const GROUP_BYTES: usize = 96;

/// Gathers groups.
#[derive(Default)]
pub struct Grouper {
    groups: Vec<Group>,
    /// Hashes of databases with keys, and positions.
    index: HashTable<(u64, u32)>,
    hasher: RandomState,
    /// Positions without a group.
    free: Vec<u32>,
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
        let hash = self.hasher.hash_one((db, key));
        if let Some(at) = self.position(hash, db, key) {
            let group = &mut self.groups[at];
            if self.replaces {
                self.bytes -= group.elements().len();
                group.bytes.truncate(key.len());
            }
            group.bytes.extend_from_slice(elements);
            group.expire_at_ms = expire_at_ms.or(group.expire_at_ms);
            return;
        }
        self.bytes += key.len() + GROUP_BYTES;
        let group = Group::new(db, key, elements, expire_at_ms, place);
        let at = self.free.pop().unwrap_or(self.groups.len() as u32);
        self.index.insert_unique(hash, (hash, at), |&(hash, _)| hash);
        match self.groups.get_mut(at as usize) {
            Some(free) => *free = group,
            None => self.groups.push(group),
        }
    }

    /// Takes the group of a key out. O(1).
    pub fn remove(&mut self, db: u32, key: &[u8]) -> Option<Group> {
        let hash = self.hasher.hash_one((db, key));
        let at = self.position(hash, db, key)?;
        let entry = self.index.find_entry(hash, |&(_, other)| other as usize == at);
        entry.ok()?.remove();
        self.free.push(at as u32);
        let group = std::mem::take(&mut self.groups[at]);
        self.bytes -= group.bytes.len() + GROUP_BYTES;
        Some(group)
    }

    /// Whether a key of a database is there.
    pub fn contains(&self, db: u32, key: &[u8]) -> bool {
        self.position(self.hasher.hash_one((db, key)), db, key).is_some()
    }

    fn position(&self, hash: u64, db: u32, key: &[u8]) -> Option<usize> {
        let is_it = |&(other, at): &(u64, u32)| {
            let group = &self.groups[at as usize];
            other == hash && group.db == db && group.key() == key
        };
        self.index.find(hash, is_it).map(|&(_, at)| at as usize)
    }

    /// Bytes of memory, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether no more groups can be told apart by their numbers.
    pub fn is_full(&self) -> bool {
        self.groups.len() >= u32::MAX as usize
    }

    /// Takes all groups out.
    pub fn take(&mut self) -> Vec<Group> {
        self.index.clear();
        self.bytes = 0;
        let mut groups = std::mem::take(&mut self.groups);
        self.free.sort_unstable();
        let mut free = std::mem::take(&mut self.free).into_iter().peekable();
        let mut at = 0;
        groups.retain(|_| {
            let is_free = free.next_if_eq(&at).is_some();
            at += 1;
            !is_free
        });
        groups
    }
}

/// The parts of elements.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    /// Of these elements.
    pub fn of(elements: &'a [u8]) -> Self {
        Parts(elements)
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.0.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        self.0 = rest;
        Some(part)
    }
}

/// The parts of elements two by two: fields with their values.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a>(Parts<'a>);

impl<'a> Pairs<'a> {
    /// Of these parts.
    pub fn of(parts: Parts<'a>) -> Self {
        Pairs(parts)
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.next()?))
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
                groups.iter().map(|g| (g.key(), g.elements(), g.expire_at_ms, g.place)).collect();
            let first: &[u8] = if replaces { b"3" } else { b"13" };
            assert_eq!(shown, [(&b"b"[..], first, Some(2), 1), (b"a", b"2", Some(1), 2)]);
            assert!(grouper.take().is_empty() && grouper.bytes() == 0);
        }
    }

    #[test]
    fn groups_are_taken_out_one_by_one() {
        let mut grouper = Grouper::new(false);
        for key in [b"a", b"b", b"c"] {
            grouper.add(1, key, b"1", None, 0);
        }
        assert_eq!(grouper.remove(1, b"b").unwrap().elements(), b"1");
        assert_eq!((grouper.remove(1, b"b"), grouper.remove(0, b"a")), (None, None));
        grouper.add(1, b"c", b"2", None, 0);
        let keys =
            |groups: Vec<Group>| groups.iter().map(|g| [g.key(), g.elements()].concat()).collect::<Vec<_>>();
        let mut other = Grouper::new(false);
        other.add(1, b"x", b"", None, 0);
        other.remove(1, b"x");
        assert!(other.take().is_empty() && other.bytes() == 0);
        assert_eq!(keys(grouper.take()), [b"a1".to_vec(), b"c12".to_vec()]);
        grouper.add(1, b"a", b"", None, 0);
        grouper.add(1, b"b", b"", None, 0);
        grouper.remove(1, b"a");
        grouper.add(1, b"d", b"3", None, 0);
        assert_eq!(keys(grouper.take()), [b"d3".to_vec(), b"b".to_vec()]);
    }

    #[test]
    fn parts_end_where_bytes_do() {
        let bytes = [1, 0, 0, 0, b'x', 0, 0, 0, 0, 9, 0, 0, 0, b'y'];
        assert_eq!(Parts::of(&bytes).collect::<Vec<_>>(), [&b"x"[..], b""]);
    }
}
