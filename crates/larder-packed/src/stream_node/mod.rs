//! The node of a stream: some entries packed in one listpack, in the form in which dumps carry them.
//!
//! What it is: Redis's macro-node. The fields of the first entry stand once at the start, and entries with the same fields
//! store their values only. Ids are stored as differences to the id of the node, which the directory above keeps. Why
//! not a form of our own, as for the other types: a few bytes an entry are all the overhead that this one has, and dumps
//! carry it as it is.
//!
//! | | cost |
//! |---|---|
//! | memory of the node | 24 + 7 bytes, 8 for four counts, the fields + 2 each, once |
//! | memory of an entry | 2 for flags, 2-10 and 2-10 for the id, 2 for its length, its values + 2 each |
//! | append | O(fields); O(bytes of the node) while a count is above 127 and takes more than a byte |
//! | find an entry, the first or next one; delete | O(entries before it) |
//! | the last one | O(fields) |
//! | clone | O(1), copied on write |
//!
//! ```text
//!  listpack: | count | deleted | fields n | field 1 .. field n | 0 | entry | entry | ...
//!  entry:    | flags | ms - node's | seq - node's | value 1 .. value n           | elements before this one |  same fields
//!            | flags | ms - node's | seq - node's | n | field 1 | value 1 | ..   | elements before this one |
//!  flags: 1 deleted, 2 same fields
//! ```
//!
//! Invariants:
//! - S1: the bytes are a whole listpack; the header's total and number of elements are right.
//! - S2: `count` entries are not marked as deleted and `deleted` are; there is no other.
//! - S3: ids ascend, from the node's own on.
//! - S4: the last element of an entry is the number of those before it.
//! - S5: flags are at most 3, in one byte, so that deleting changes no length.
//!
//! Tested in `tests.rs` beside this file, and by the model test of streams.

mod check;
mod edit;
mod id;
mod read;
#[cfg(test)]
mod tests;

pub use id::StreamId;
pub use read::{Back, Cursor, Entries, Entry};

use crate::block::Element;
use crate::bytes::SharedBytes;
use crate::heap::Mover;
use crate::int;
use crate::listpack::{END, HEADER, entry_at, push_element, push_int};

/// The entry is no more.
const DELETED: u8 = 1;
/// The entry has the fields of the node, and stores values only.
const SAME_FIELDS: u8 = 2;

/// See the module's comment.
#[derive(Clone)]
pub struct StreamNode {
    bytes: SharedBytes,
}

/// Where the parts of a node begin.
#[derive(Clone, Copy, Debug)]
struct Master {
    live: u64,
    deleted: u64,
    /// Where the count of deleted entries ends.
    counts_end: usize,
    fields: usize,
    fields_at: usize,
    entries_at: usize,
}

/// A number that the node's own invariants keep from being negative.
fn count_of(element: Element<'_>) -> u64 {
    match element {
        Element::Int(n) => n as u64,
        Element::Bytes(_) => unreachable!("S1: counts are integers"),
    }
}

impl StreamNode {
    /// A node with the fields of these pairs, and without entries.
    pub fn new<'f>(pairs: impl ExactSizeIterator<Item = (&'f [u8], &'f [u8])>) -> StreamNode {
        let mut bytes = vec![0; HEADER];
        push_int(&mut bytes, 0);
        push_int(&mut bytes, 0);
        let elements = 4 + pairs.len();
        push_int(&mut bytes, pairs.len() as i64);
        pairs.for_each(|(field, _)| push_element(&mut bytes, Element::Bytes(field)));
        push_int(&mut bytes, 0);
        bytes.push(END);
        bytes[4..HEADER].copy_from_slice(&saturated(elements).to_le_bytes());
        let mut node = StreamNode { bytes: SharedBytes::new(&bytes) };
        node.set_total();
        node
    }

    /// Returns the node of these bytes, which come from [`StreamNode::as_bytes`] and are not checked.
    pub fn of_bytes(bytes: SharedBytes) -> StreamNode {
        StreamNode { bytes }
    }

    /// The bytes, as dumps carry them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, shared with the node.
    pub fn shared_bytes(&self) -> &SharedBytes {
        &self.bytes
    }

    /// Entries that are not deleted.
    #[inline]
    pub fn live(&self) -> u64 {
        count_of(entry_at(&self.bytes, HEADER).0)
    }

    /// Entries, and marks of deleted ones.
    #[inline]
    pub fn slots(&self) -> u64 {
        let (live, at) = entry_at(&self.bytes, HEADER);
        count_of(live) + count_of(entry_at(&self.bytes, at).0)
    }

    /// Bytes of the listpack.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Moves the node if it lies in a sparse slab and is not shared.
    pub fn move_block(&mut self, mover: &mut Mover) {
        self.bytes.move_block(mover);
    }

    /// Bytes of heap.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes()
    }

    /// Gives back the room for more entries.
    pub fn shrink(&mut self) {
        self.bytes.shrink();
    }

    /// Appends an entry to the node whose id is `base`. `id` is higher than all ids in it.
    pub fn push<'f>(
        &mut self,
        base: StreamId,
        id: StreamId,
        pairs: impl ExactSizeIterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) {
        let master = self.master();
        let same = self.has_fields(&master, pairs.clone());
        let (count, mut entry) = (pairs.len(), Vec::with_capacity(64));
        push_int(&mut entry, i64::from(if same { SAME_FIELDS } else { 0 }));
        push_int(&mut entry, id.ms.wrapping_sub(base.ms) as i64);
        push_int(&mut entry, id.seq.wrapping_sub(base.seq) as i64);
        if !same {
            push_int(&mut entry, count as i64);
        }
        for (field, value) in pairs {
            if !same {
                push_element(&mut entry, Element::Bytes(field));
            }
            push_element(&mut entry, Element::Bytes(value));
        }
        let elements = if same { 3 + count } else { 4 + 2 * count };
        push_int(&mut entry, elements as i64);
        entry.push(END);
        let end = self.bytes.len();
        self.bytes.make_mut()[end - 1] = entry[0];
        self.bytes.extend(&entry[1..]);
        self.set_counts(&master, master.live + 1, master.deleted);
        self.count_elements(elements + 1);
        self.set_total();
    }

    /// Whether the fields are those of the node.
    fn has_fields<'f>(
        &self,
        master: &Master,
        pairs: impl ExactSizeIterator<Item = (&'f [u8], &'f [u8])>,
    ) -> bool {
        if pairs.len() != master.fields {
            return false;
        }
        let mut at = master.fields_at;
        for (field, _) in pairs {
            let (own, next) = entry_at(&self.bytes, at);
            let same = match own {
                Element::Bytes(own) => own == field,
                Element::Int(own) => int::parse(field) == Some(own),
            };
            if !same {
                return false;
            }
            at = next;
        }
        true
    }

    #[inline]
    fn master(&self) -> Master {
        let (live, at) = entry_at(&self.bytes, HEADER);
        let (deleted, counts_end) = entry_at(&self.bytes, at);
        let (fields, fields_at) = entry_at(&self.bytes, counts_end);
        let fields = count_of(fields) as usize;
        let mut at = fields_at;
        // The fields, and the zero after them.
        for _ in 0..=fields {
            at = entry_at(&self.bytes, at).1;
        }
        Master {
            live: count_of(live),
            deleted: count_of(deleted),
            counts_end,
            fields,
            fields_at,
            entries_at: at,
        }
    }

    /// Writes both counts; may move what is after them.
    fn set_counts(&mut self, master: &Master, live: u64, deleted: u64) {
        // Most of the time each is one byte before and after.
        if master.counts_end == HEADER + 4 && live < 128 && deleted < 128 {
            let bytes = self.bytes.make_mut();
            (bytes[HEADER], bytes[HEADER + 2]) = (live as u8, deleted as u8);
            return;
        }
        let mut counts = Vec::with_capacity(8);
        push_int(&mut counts, live as i64);
        push_int(&mut counts, deleted as i64);
        self.bytes.splice(HEADER..master.counts_end, &counts);
    }

    fn count_elements(&mut self, more: usize) {
        let header = &mut self.bytes.make_mut()[4..HEADER];
        let count = u16::from_le_bytes([header[0], header[1]]);
        header.copy_from_slice(&saturated(usize::from(count) + more).to_le_bytes());
    }

    fn set_total(&mut self) {
        let total = u32::try_from(self.bytes.len()).expect("the limits of a node are below 4 GB");
        self.bytes.make_mut()[..4].copy_from_slice(&total.to_le_bytes());
    }
}

/// A number of elements as the header has it: 65535 stands for all that do not fit.
fn saturated(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}
