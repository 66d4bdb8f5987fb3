//! Records by entry id, packed: what a group has delivered and not got acknowledged, and the ids that belong to one consumer.

use super::pack::{Pack, Payload, RECORDS_MAX};
use super::tree::{Block, Tree, Verdict};
use larder_packed::block::Direction;
use larder_packed::heap::Mover;
use larder_packed::stream_node::StreamId;
use std::ops::ControlFlow;

/// Packs of records under a counted tree: 4 to 12 bytes a record. Get, put and remove O(log n); clone O(64).
#[derive(Clone)]
pub(super) struct Records<P: Payload> {
    tree: Tree<Pack<P>>,
}

impl<P: Payload> Default for Records<P> {
    fn default() -> Self {
        Records { tree: Tree::default() }
    }
}

impl<P: Payload> Records<P> {
    /// Number of records.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.tree.len()
    }

    /// The record of an id.
    pub(super) fn get(&self, id: StreamId) -> Option<P> {
        self.tree.floor(id)?.1.get(id)
    }

    /// The lowest id.
    pub(super) fn first(&self) -> Option<StreamId> {
        self.tree.first()?.1.records().next().map(|(id, _)| id)
    }

    /// The highest id.
    pub(super) fn last(&self) -> Option<StreamId> {
        self.tree.last().map(|(_, pack)| pack.last())
    }

    /// Puts a record; the one that it replaces.
    pub(super) fn put(&mut self, id: StreamId, payload: P) -> Option<P> {
        let old = self.tree.edit(id, |_, pack| {
            if pack.len() < RECORDS_MAX {
                return (pack.put(id, payload), Verdict::Keep);
            }
            if id > pack.last() {
                pack.shrink();
                return (None, Verdict::Add(id, Pack::new(id, payload)));
            }
            let (first, mut right) = pack.split();
            let old = if id < first { pack.put(id, payload) } else { right.put(id, payload) };
            (old, Verdict::Add(first, right))
        });
        old.unwrap_or_else(|| {
            self.tree.push_back(id, Pack::new(id, payload));
            None
        })
    }

    /// Removes a record.
    pub(super) fn remove(&mut self, id: StreamId) -> Option<P> {
        // Looking first keeps what is shared and has nothing to be removed.
        let (_, pack) = self.tree.floor(id)?;
        pack.get(id)?;
        self.tree.edit(id, |_, pack| {
            // A pack of one goes with it.
            if pack.len() == 1 { (pack.get(id), Verdict::Remove) } else { (pack.remove(id), Verdict::Keep) }
        })?
    }

    /// Calls `f` with the records from `from` on, in order, until it breaks.
    pub(super) fn walk<R>(
        &self,
        from: StreamId,
        mut f: impl FnMut(StreamId, P) -> ControlFlow<R>,
    ) -> ControlFlow<R> {
        self.tree.walk(from, Direction::Forward, &mut |_, pack| {
            pack.records().filter(|(id, _)| *id >= from).try_for_each(|(id, payload)| f(id, payload))
        })
    }

    /// Looks up records by ids that ascend from call to call.
    pub(super) fn lookup(&self) -> impl FnMut(StreamId) -> Option<P> {
        self.tree.lookup(|_, pack: &Pack<P>| pack.records())
    }

    /// Bytes of heap, estimated from `samples` packs; 0 looks at all.
    pub(super) fn heap_bytes(&self, samples: u64) -> u64 {
        self.tree.heap_bytes(samples)
    }

    /// Moves packs and nodes that lie in sparse slabs and are not shared.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover) {
        self.tree.move_blocks(mover);
    }

    /// Number of packs.
    pub(super) fn blocks(&self) -> u64 {
        self.tree.blocks()
    }

    /// Panics if an invariant of the tree or of a pack is violated.
    pub(super) fn check_invariants(&self) {
        let mut last = None;
        self.tree.check_invariants(&mut |first, pack: &Pack<P>| {
            pack.check_invariants();
            assert!(pack.len() <= RECORDS_MAX && last < Some(first), "T3: above the pack before");
            assert!(pack.records().next().is_some_and(|(id, _)| first <= id), "T3: first id");
            last = Some(pack.last());
        });
    }
}
