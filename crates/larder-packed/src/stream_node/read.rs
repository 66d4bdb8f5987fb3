//! Reading entries, from either end.

use super::{DELETED, Master, SAME_FIELDS, StreamId, StreamNode, count_of};
use crate::block::Element;
use crate::listpack::{entry_at, start_of_entry_before};

/// An entry where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its id.
    pub id: StreamId,
    pub(super) flags: u8,
    /// Where its flags are.
    pub(super) at: usize,
    bytes: &'a [u8],
    pairs: usize,
    fields_at: usize,
    values_at: usize,
}

impl<'a> Entry<'a> {
    /// Pairs of field and value.
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// Calls `f` with each field and its value.
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(Element<'a>, Element<'a>)) {
        let (mut field_at, mut value_at) = (self.fields_at, self.values_at);
        for _ in 0..self.pairs {
            let (field, value);
            if self.flags & SAME_FIELDS != 0 {
                (field, field_at) = entry_at(self.bytes, field_at);
            } else {
                (field, value_at) = entry_at(self.bytes, value_at);
            }
            (value, value_at) = entry_at(self.bytes, value_at);
            f(field, value);
        }
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.flags & DELETED != 0
    }

    fn end(&self) -> usize {
        let own = if self.flags & SAME_FIELDS != 0 { self.pairs } else { 2 * self.pairs };
        // What is its own, and the number of elements after that.
        (0..=own).fold(self.values_at, |at, _| entry_at(self.bytes, at).1)
    }
}

impl StreamNode {
    /// The entries in order; `base` is the id of the node.
    #[inline]
    pub fn entries(&self, base: StreamId) -> Entries<'_> {
        let master = self.master();
        Entries { bytes: &self.bytes, base, at: master.entries_at, master }
    }

    /// The entry of an id, unless it is deleted; `base` is the id of the node.
    #[inline]
    pub fn entry(&self, base: StreamId, id: StreamId) -> Option<Entry<'_>> {
        self.entries(base).take_while(|entry| entry.id <= id).find(|entry| entry.id == id)
    }

    /// The entries from a place on that [`Entries::cursor`] returned for this node, or for one with
    /// the same bytes.
    #[inline]
    pub fn entries_from(&self, cursor: Cursor) -> Entries<'_> {
        Entries { bytes: &self.bytes, base: cursor.base, at: cursor.at, master: cursor.master }
    }

    /// The entries from the last one on; `base` is the id of the node.
    pub fn entries_back(&self, base: StreamId) -> Back<'_> {
        Back {
            bytes: &self.bytes,
            base,
            end: self.bytes.len() - 1,
            master: self.master(),
            deleted_too: false,
        }
    }

    /// The id of the last entry, be it deleted or not; None without any.
    pub fn last_id(&self, base: StreamId) -> Option<StreamId> {
        let mut back = self.entries_back(base);
        back.deleted_too = true;
        back.next().map(|entry| entry.id)
    }
}

/// The entry whose flags are at `at`.
#[inline]
pub(super) fn entry_of<'a>(bytes: &'a [u8], base: StreamId, master: &Master, at: usize) -> Entry<'a> {
    let (flags, next) = entry_at(bytes, at);
    let (ms, next) = entry_at(bytes, next);
    let (seq, next) = entry_at(bytes, next);
    let flags = count_of(flags) as u8;
    let id = StreamId { ms: base.ms.wrapping_add(count_of(ms)), seq: base.seq.wrapping_add(count_of(seq)) };
    let (pairs, values_at) = if flags & SAME_FIELDS != 0 {
        (master.fields, next)
    } else {
        let (pairs, next) = entry_at(bytes, next);
        (count_of(pairs) as usize, next)
    };
    Entry { id, flags, at, bytes, pairs, fields_at: master.fields_at, values_at }
}

/// Entries of a node that are not deleted, in order.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    base: StreamId,
    at: usize,
    master: Master,
}

/// A place between the entries of a node, to continue from.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    base: StreamId,
    at: usize,
    master: Master,
}

impl<'a> Entries<'a> {
    /// The place before the next entry.
    #[inline]
    pub fn cursor(&self) -> Cursor {
        Cursor { base: self.base, at: self.at, master: self.master }
    }

    /// The next one, be it deleted or not.
    #[inline]
    pub(super) fn next_slot(&mut self) -> Option<Entry<'a>> {
        // The last byte is the listpack's end.
        if self.at + 1 >= self.bytes.len() {
            return None;
        }
        let entry = entry_of(self.bytes, self.base, &self.master, self.at);
        self.at = entry.end();
        Some(entry)
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            let entry = self.next_slot()?;
            if !entry.is_deleted() {
                return Some(entry);
            }
        }
    }
}

/// Entries of a node that are not deleted, from the last one on.
#[derive(Clone, Debug)]
pub struct Back<'a> {
    bytes: &'a [u8],
    base: StreamId,
    end: usize,
    master: Master,
    deleted_too: bool,
}

impl<'a> Iterator for Back<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        while self.end > self.master.entries_at {
            let count_at = start_of_entry_before(self.bytes, self.end);
            let elements = count_of(entry_at(self.bytes, count_at).0);
            self.end = (0..elements).fold(count_at, |at, _| start_of_entry_before(self.bytes, at));
            let entry = entry_of(self.bytes, self.base, &self.master, self.end);
            if self.deleted_too || !entry.is_deleted() {
                return Some(entry);
            }
        }
        None
    }
}
