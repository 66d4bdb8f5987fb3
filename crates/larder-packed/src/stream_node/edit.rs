//! Deleting entries: they are marked, and go with their node.

use super::{DELETED, StreamId, StreamNode};
use crate::block::Element;

impl StreamNode {
    /// Deletes an entry; true if it was there. `base` is the id of the node.
    pub fn delete(&mut self, base: StreamId, id: StreamId) -> bool {
        let Some(at) = self.entry(base, id).map(|entry| entry.at) else { return false };
        self.mark(&[at]);
        true
    }

    /// Deletes entries from the first on while `goes` agrees, which is asked with the id of each and the number deleted
    /// so far. Returns how many were deleted.
    pub fn delete_while(&mut self, base: StreamId, mut goes: impl FnMut(StreamId, u64) -> bool) -> u64 {
        let (mut marks, mut entries) = (Vec::new(), self.entries(base));
        while let Some(entry) = entries.next_slot() {
            if !goes(entry.id, marks.len() as u64) {
                break;
            }
            if !entry.is_deleted() {
                marks.push(entry.at);
            }
        }
        self.mark(&marks);
        marks.len() as u64
    }

    /// The node without what is left of deleted entries; `base` stays its id.
    pub fn compacted(&self, base: StreamId) -> StreamNode {
        let owned = |element: Element<'_>| element.to_vec();
        let mut copy: Option<StreamNode> = None;
        for entry in self.entries(base) {
            let mut pairs = Vec::with_capacity(entry.pairs());
            entry.for_each(|field, value| pairs.push((owned(field), owned(value))));
            let pairs = pairs.iter().map(|(field, value)| (&field[..], &value[..]));
            copy.get_or_insert_with(|| StreamNode::new(pairs.clone())).push(base, entry.id, pairs);
        }
        copy.unwrap_or_else(|| StreamNode::new(std::iter::empty()))
    }

    /// Marks the entries whose flags are at these places.
    fn mark(&mut self, marks: &[usize]) {
        if marks.is_empty() {
            return;
        }
        let bytes = self.bytes.make_mut();
        for &at in marks {
            bytes[at] |= DELETED;
        }
        let (master, count) = (self.master(), marks.len() as u64);
        self.set_counts(&master, master.live - count, master.deleted + count);
        self.set_total();
    }
}
