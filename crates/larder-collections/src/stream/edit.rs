//! Adding, deleting and trimming.

use super::node::Node;
use super::tree::Verdict;
use super::{Data, Stream};
use larder_packed::stream_node::{StreamId, StreamNode};

/// A node never takes more bytes, whatever the limits say.
const NODE_BYTES_MAX: usize = 1 << 30;

/// When a node is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes; 0 stands for the most that a node can hold.
    pub node_bytes_max: usize,
    /// Entries, deleted ones too; 0 for no limit.
    pub node_entries_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { node_bytes_max: 4096, node_entries_max: 100 }
    }
}

/// What is left by trimming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimTo {
    /// This many entries, the last ones.
    Len(u64),
    /// Entries from this id on.
    MinId(StreamId),
}

/// How to trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// What is left.
    pub to: TrimTo,
    /// Whether only whole nodes go, so that some more may be left.
    pub approximate: bool,
    /// No more entries than this many are removed, node by node; 0 for no limit.
    pub limit: u64,
}

impl Stream {
    /// The most bytes of fields and values together that an entry may have.
    pub const ENTRY_BYTES_MAX: usize = NODE_BYTES_MAX;

    /// Adds an entry, whose id is above `last_id`. Its fields and values are not longer than
    /// [`Stream::ENTRY_BYTES_MAX`] in all.
    pub fn append<'f>(
        &mut self,
        id: StreamId,
        pairs: impl ExactSizeIterator<Item = (&'f [u8], &'f [u8])> + Clone,
        limits: &Limits,
    ) {
        assert!(id > self.last_id(), "ids ascend");
        let bytes = pairs.clone().map(|(field, value)| field.len() + value.len()).sum::<usize>();
        let data = self.data();
        if data.nodes.len() == 0 {
            data.first_id = id;
        }
        data.last_id = id;
        // A dump may have said anything.
        data.entries_added = data.entries_added.wrapping_add(1);
        let added = data.nodes.edit(StreamId::MAX, |base, node| {
            if !is_full(node, bytes, limits) {
                node.plain_mut().push(base, id, pairs.clone());
                return ((), Verdict::Keep);
            }
            node.shrink();
            ((), Verdict::Add(id, new_node(id, pairs.clone())))
        });
        if added.is_none() {
            data.nodes.push_back(id, new_node(id, pairs));
        }
    }

    /// Deletes an entry, and remembers that; true if it was there.
    pub fn delete(&mut self, id: StreamId) -> bool {
        let Some((base, node)) = self.0.nodes.floor(id) else { return false };
        if node.is_cold_outside(base, id, id) {
            return false;
        }
        let plain = node.read();
        if plain.entry(base, id).is_none() {
            return false;
        }
        let copy = plain.into_copy();
        let data = self.data();
        data.nodes.edit(id, |base, node| {
            if node.live() == 1 {
                return ((), Verdict::Remove);
            }
            if let Some(copy) = copy {
                *node = Node::from(copy);
            }
            node.plain_mut().delete(base, id);
            ((), Verdict::Keep)
        });
        data.max_deleted_id = data.max_deleted_id.max(id);
        if id == data.first_id {
            data.find_first();
        }
        true
    }

    /// Removes entries from the start; returns how many.
    pub fn trim(&mut self, trim: &Trim) -> u64 {
        let mut removed = 0;
        while let Some((base, node)) = self.0.nodes.first() {
            let (len, live) = (self.len(), node.live());
            let enough = matches!(trim.to, TrimTo::Len(max) if len <= max);
            if enough || (trim.limit > 0 && removed + live > trim.limit) {
                break;
            }
            let whole = match trim.to {
                TrimTo::Len(max) => len - live >= max,
                TrimTo::MinId(id) => node.last_id(base).is_some_and(|last| last < id),
            };
            if whole {
                self.data().nodes.pop_front();
                removed += live;
                continue;
            }
            if !trim.approximate {
                removed += self.trim_node(trim.to);
            }
            break;
        }
        if removed > 0 {
            self.data().find_first();
        }
        removed
    }

    /// Removes entries of the first node, some of which are to stay, or none but deleted ones.
    fn trim_node(&mut self, to: TrimTo) -> u64 {
        let (Some((base, node)), len) = (self.0.nodes.first(), self.len()) else { return 0 };
        let goes = |id: StreamId, gone: u64| match to {
            TrimTo::Len(max) => len - gone > max,
            TrimTo::MinId(min) => id < min,
        };
        if !node.first_entry_id(base).is_some_and(|id| goes(id, 0)) {
            return 0;
        }
        let delete = |base, node: &mut Node| (node.plain_mut().delete_while(base, goes), Verdict::Keep);
        self.data().nodes.edit(base, delete).unwrap_or(0)
    }
}

impl Data {
    /// Finds the first entry again.
    pub(super) fn find_first(&mut self) {
        let first = self.nodes.first().and_then(|(base, node)| node.first_entry_id(base));
        self.first_id = first.unwrap_or_default();
    }
}

fn new_node<'f>(id: StreamId, pairs: impl ExactSizeIterator<Item = (&'f [u8], &'f [u8])> + Clone) -> Node {
    let mut node = StreamNode::new(pairs.clone());
    node.push(id, id, pairs);
    node.into()
}

fn is_full(node: &Node, more_bytes: usize, limits: &Limits) -> bool {
    let bytes_max = match limits.node_bytes_max {
        0 => NODE_BYTES_MAX,
        max => max.min(NODE_BYTES_MAX),
    };
    node.len_bytes() + more_bytes >= bytes_max
        || (limits.node_entries_max > 0 && node.slots() >= limits.node_entries_max)
}
