//! The stream: entries of fields and values in order of their ids, read by ranges of ids and by consumer groups.
//!
//! What it is: packed nodes of about a hundred entries (see `larder_packed::stream_node`) under a counted tree keyed by
//! their first ids. Why not a radix tree above them, as Redis has: ids are 16 bytes that mostly grow at the end, where a tree
//! of vectors costs half as much and its parents can be shared. Everything is copied on write, node by node.
//!
//! | | cost |
//! |---|---|
//! | memory | 170 bytes; a node: 56 bytes; an entry: 8 bytes + its values + 2 each, its fields too where they differ |
//! | append | O(fields) |
//! | find or delete an entry, the start of a range | O(log n), and a scan of its node |
//! | visit a range, either way | O(log n + entries) |
//! | trim | O(log n) for each node, and a scan of the last |
//! | length, first and last id | O(1) |
//! | clone | O(1) |
//!
//! ```text
//!   Arc<Data>  ids, counts
//!              tree -> [first id | live entries | node] -> a listpack, plain or compressed
//!              groups, in order of their names -> Group: last id, consumers, pending entries packed
//! ```
//!
//! Invariants:
//! - E1: ids ascend from node to node; a node's id is its key in the tree; no node is without a live entry.
//! - E2: the tree counts live entries; their number is the stream's length.
//! - E3: `first_id` is that of the first live entry, zero without any; `last_id` is not below any entry.
//! - E4: groups are in order of their names, which differ.
//!
//! Tested by the model test in `tests` beside this file.

mod cold;
mod edit;
mod group;
mod lag;
mod load;
mod node;
mod pack;
mod pending;
mod range;
mod stats;
#[cfg(test)]
mod tests;
mod tree;

pub use cold::{NodeDone, NodeJob, NodeJobs};
pub use edit::{Limits, Trim, TrimTo};
pub use group::{Consumer, ConsumerId, Group, Pending};
pub use larder_packed::block::Element;
pub use larder_packed::segment::UNUSED_WALKS;
pub use larder_packed::stream_node::{Entry, StreamId, StreamNode};
pub use load::{LoadError, Loader};
pub use range::{Lookup, Order, Reader};

use crate::relocation::move_arc;
use larder_packed::block::Direction;
use larder_packed::heap::Mover;
use node::Node;
use std::sync::Arc;
use tree::Tree;

/// See the module's comment. Cloning is O(1).
#[derive(Clone, Default)]
pub struct Stream(pub(crate) Arc<Data>);

#[derive(Clone, Default)]
pub(crate) struct Data {
    nodes: Tree<Node>,
    last_id: StreamId,
    first_id: StreamId,
    max_deleted_id: StreamId,
    entries_added: u64,
    groups: Vec<Arc<Group>>,
}

impl Stream {
    /// A stream without entries.
    pub fn new() -> Stream {
        Stream::default()
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> u64 {
        self.0.nodes.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing has been changed since one of these was cloned from the other, its groups included. O(1).
    pub fn is_same(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The highest id that was ever given to an entry, or set.
    pub fn last_id(&self) -> StreamId {
        self.0.last_id
    }

    /// The id of the first entry; zero without any.
    pub fn first_id(&self) -> StreamId {
        self.0.first_id
    }

    /// The highest id that was deleted; zero if none was.
    pub fn max_deleted_id(&self) -> StreamId {
        self.0.max_deleted_id
    }

    /// How many entries were ever added.
    pub fn entries_added(&self) -> u64 {
        self.0.entries_added
    }

    /// Sets the last id, which must not be below any entry's.
    pub fn set_last_id(&mut self, id: StreamId) {
        assert!(self.last_entry_id().is_none_or(|last| last <= id), "E3: last");
        let data = self.data();
        data.last_id = id;
        // The marks of deleted entries may be above, in the way of what comes next.
        data.nodes.edit(StreamId::MAX, |base, node| {
            if node.last_id(base) > Some(id) {
                *node = Node::from(node.peek().compacted(base));
            }
            ((), tree::Verdict::Keep)
        });
    }

    /// Sets what is remembered of deleted entries.
    pub fn set_max_deleted_id(&mut self, id: StreamId) {
        self.data().max_deleted_id = id;
    }

    /// Sets how many entries were ever added.
    pub fn set_entries_added(&mut self, count: u64) {
        self.data().entries_added = count;
    }

    /// Number of groups.
    pub fn group_count(&self) -> usize {
        self.0.groups.len()
    }

    /// The groups in order of their names.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = &Group> {
        self.0.groups.iter().map(|group| &**group)
    }

    /// The group of a name.
    pub fn group(&self, name: &[u8]) -> Option<&Group> {
        self.group_position(name).ok().map(|at| &*self.0.groups[at])
    }

    /// The group of a name, to be changed.
    pub fn group_mut(&mut self, name: &[u8]) -> Option<&mut Group> {
        let at = self.group_position(name).ok()?;
        Some(Arc::make_mut(&mut self.data().groups[at]))
    }

    /// Adds a group; false if there is one of its name.
    pub fn add_group(&mut self, group: Group) -> bool {
        let Err(at) = self.group_position(group.name()) else { return false };
        self.data().groups.insert(at, Arc::new(group));
        true
    }

    /// Removes a group; false if there is none of this name.
    pub fn remove_group(&mut self, name: &[u8]) -> bool {
        let Ok(at) = self.group_position(name) else { return false };
        self.data().groups.remove(at);
        true
    }

    /// The nodes in order, with their ids, as dumps carry them.
    pub fn for_each_node(&self, mut f: impl FnMut(StreamId, &StreamNode)) {
        let _ = self.0.nodes.walk(StreamId::ZERO, Direction::Forward, &mut |id, node| {
            f(id, &node.peek());
            std::ops::ControlFlow::<()>::Continue(())
        });
    }

    /// Moves the stream's blocks, those that lie in sparse slabs and are not shared.
    pub(crate) fn move_blocks(&mut self, mover: &mut Mover) {
        let Some(data) = move_arc(&mut self.0, mover) else { return };
        mover.each(1 + data.groups.len(), |mover, part| match part.checked_sub(1) {
            None => data.nodes.move_blocks(mover),
            Some(group) => {
                if let Some(group) = move_arc(&mut data.groups[group], mover) {
                    group.move_blocks(mover);
                }
            }
        });
    }

    /// Panics if an invariant of the module's comment is violated.
    pub fn check_invariants(&self) {
        let (mut last, mut first) = (None, None);
        self.0.nodes.check_invariants(&mut |base, node: &Node| {
            node.check_invariants(base);
            assert!(last < Some(base) && node.live() > 0, "E1");
            last = node.last_id(base);
            first = first.or_else(|| node.first_entry_id(base));
        });
        assert_eq!(self.first_id(), first.unwrap_or_default(), "E3: first");
        assert!(last.is_none_or(|last| last <= self.last_id()), "E3: last");
        assert!(self.groups().map(Group::name).is_sorted_by(|a, b| a < b), "E4");
        self.groups().for_each(Group::check_invariants);
    }

    fn data(&mut self) -> &mut Data {
        Arc::make_mut(&mut self.0)
    }

    fn group_position(&self, name: &[u8]) -> Result<usize, usize> {
        self.0.groups.binary_search_by(|group| group.name().cmp(name))
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream of {} entries up to {}", self.len(), self.last_id())
    }
}
