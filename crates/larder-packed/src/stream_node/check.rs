//! Checking nodes from any source, hostile ones included.

use super::{DELETED, SAME_FIELDS, StreamId, StreamNode};
use crate::block::Element;
use crate::bytes::SharedBytes;
use crate::listpack::{Damaged, HEADER, Reader, entry_at};

/// Reads the elements of a listpack as a node has them.
struct Walk<'a> {
    elements: Reader<'a>,
    /// Elements read.
    read: u64,
}

impl<'a> Walk<'a> {
    fn next(&mut self) -> Result<Element<'a>, Damaged> {
        self.read += 1;
        self.elements.next().ok_or(Damaged)?
    }

    fn int(&mut self) -> Result<i64, Damaged> {
        match self.next()? {
            Element::Int(n) => Ok(n),
            Element::Bytes(_) => Err(Damaged),
        }
    }

    fn count(&mut self) -> Result<u64, Damaged> {
        u64::try_from(self.int()?).map_err(|_| Damaged)
    }

    fn skip(&mut self, count: u64) -> Result<(), Damaged> {
        (0..count).try_for_each(|_| self.next().map(drop))
    }
}

impl StreamNode {
    /// The node with the id `base` that a dump has as these bytes, every one of them checked, and the id of
    /// its last entry, be it deleted or not. A node without entries counts as damaged.
    pub fn from_bytes(bytes: &[u8], base: StreamId) -> Result<(StreamNode, StreamId), Damaged> {
        let mut walk = Walk { elements: Reader::new(bytes)?, read: 0 };
        let (live, deleted, fields) = (walk.count()?, walk.count()?, walk.count()?);
        walk.skip(fields)?;
        if walk.int()? != 0 {
            return Err(Damaged);
        }
        let (mut last, mut seen) = (None, [0, 0]);
        for _ in 0..live.checked_add(deleted).ok_or(Damaged)? {
            let (id, is_deleted) = walk_entry(&mut walk, base, fields)?;
            if id < base || last.is_some_and(|last| id <= last) {
                return Err(Damaged);
            }
            last = Some(id);
            seen[usize::from(is_deleted)] += 1;
        }
        if seen != [live, deleted] || walk.elements.next().is_some() {
            return Err(Damaged);
        }
        let mut node = StreamNode { bytes: SharedBytes::new(bytes) };
        // A dump may say of any number of elements that it does not know it.
        let elements = super::saturated(walk.read as usize).to_le_bytes();
        if bytes[4..6] != elements {
            node.bytes.make_mut()[4..6].copy_from_slice(&elements);
        }
        // The reader takes an integer in any width; marking an entry needs flags in one byte.
        let mut entries = node.entries(base);
        while let Some(entry) = entries.next_slot() {
            if node.bytes[entry.at] > DELETED | SAME_FIELDS {
                return Err(Damaged);
            }
        }
        Ok((node, last.ok_or(Damaged)?))
    }

    /// Panics if an invariant of the module's comment is violated.
    pub fn check_invariants(&self, base: StreamId) {
        let checked = StreamNode::from_bytes(&self.bytes, base);
        assert!(checked.is_ok(), "S1 to S5");
        let count = u16::from_le_bytes([self.bytes[4], self.bytes[5]]);
        let (mut at, mut elements) = (HEADER, 0);
        while at + 1 < self.bytes.len() {
            at = entry_at(&self.bytes, at).1;
            elements += 1;
        }
        assert_eq!(count, super::saturated(elements), "S1: number of elements");
    }
}

/// Walks over one entry; its id, and whether it is deleted.
fn walk_entry(walk: &mut Walk<'_>, base: StreamId, fields: u64) -> Result<(StreamId, bool), Damaged> {
    let start = walk.read;
    let flags = u8::try_from(walk.count()?).map_err(|_| Damaged)?;
    let (ms, seq) = (walk.int()? as u64, walk.int()? as u64);
    let id = StreamId { ms: base.ms.wrapping_add(ms), seq: base.seq.wrapping_add(seq) };
    if flags & SAME_FIELDS != 0 {
        walk.skip(fields)?;
    } else {
        let own = walk.count()?;
        walk.skip(own.checked_mul(2).ok_or(Damaged)?)?;
    }
    let elements = walk.read - start;
    if walk.count()? != elements || flags > DELETED | SAME_FIELDS {
        return Err(Damaged);
    }
    Ok((id, flags & DELETED != 0))
}
