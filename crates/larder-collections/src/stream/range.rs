//! Reading entries by id.

use super::Stream;
use super::node::{Node, Readable};
use larder_packed::block::Direction;
use larder_packed::bytes::SharedBytes;
use larder_packed::stream_node::{Cursor, Entry, StreamId, StreamNode};
use std::ops::ControlFlow;

/// Which end comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The lowest id.
    Ascending,
    /// The highest id.
    Descending,
}

/// Looks up entries of a stream by ids that ascend from call to call; see [`Stream::lookup`].
pub struct Lookup<'s> {
    stream: &'s Stream,
    /// The node of the last id: its id, its entries, and the place after those that were looked at.
    current: Option<(StreamId, Readable<'s>, Cursor)>,
}

/// Reads entries by ids in any order, from a stream that may change between calls. Keeps a copy of
/// the last cold node read.
#[derive(Default)]
pub struct Reader {
    copy: Option<(SharedBytes, StreamNode)>,
}

impl Stream {
    /// Calls `f` with the entries from id `from` to id `to`, both included, until it breaks.
    pub fn range<R>(
        &self,
        from: StreamId,
        to: StreamId,
        order: Order,
        mut f: impl FnMut(Entry<'_>) -> ControlFlow<R>,
    ) -> Option<R> {
        // Breaking with None ends the walk after the range.
        let flow = match order {
            Order::Ascending => self.0.nodes.walk(from, Direction::Forward, &mut |base, node: &Node| {
                if base > to {
                    return ControlFlow::Break(None);
                }
                if node.is_cold_outside(base, from, to) {
                    return ControlFlow::Continue(());
                }
                for entry in node.read().entries(base) {
                    if entry.id > to {
                        return ControlFlow::Break(None);
                    }
                    if entry.id >= from {
                        f(entry).map_break(Some)?;
                    }
                }
                ControlFlow::Continue(())
            }),
            Order::Descending => self.0.nodes.walk(to, Direction::Backward, &mut |base, node: &Node| {
                if !node.is_cold_outside(base, from, to) {
                    for entry in node.read().entries_back(base) {
                        if entry.id < from {
                            return ControlFlow::Break(None);
                        }
                        if entry.id <= to {
                            f(entry).map_break(Some)?;
                        }
                    }
                }
                if base <= from { ControlFlow::Break(None) } else { ControlFlow::Continue(()) }
            }),
        };
        flow.break_value().flatten()
    }

    /// Calls `f` with the entry of this id, if it exists.
    pub fn with_entry<R>(&self, id: StreamId, f: impl FnOnce(Entry<'_>) -> R) -> Option<R> {
        let (base, node) = self.0.nodes.floor(id)?;
        if node.is_cold_outside(base, id, id) {
            return None;
        }
        node.read().entry(base, id).map(f)
    }

    /// Looks up entries by ids that ascend from call to call. All calls together cost as much as
    /// reading the nodes that hold the ids.
    pub fn lookup(&self) -> Lookup<'_> {
        Lookup { stream: self, current: None }
    }

    /// Whether the entry exists.
    pub fn contains(&self, id: StreamId) -> bool {
        self.with_entry(id, |_| ()).is_some()
    }

    /// The id of the last entry; None without any.
    pub fn last_entry_id(&self) -> Option<StreamId> {
        let (base, node) = self.0.nodes.last()?;
        node.last_entry_id(base)
    }
}

impl Lookup<'_> {
    /// Calls `f` with the entry of this id, if it exists.
    pub fn with_entry<R>(&mut self, id: StreamId, f: impl FnOnce(Entry<'_>) -> R) -> Option<R> {
        if let Some((_, node, cursor)) = &mut self.current
            && let Some(found) = advance(node, cursor, id)
        {
            return found.map(f);
        }
        let (base, node) = self.stream.0.nodes.floor(id)?;
        if self.current.as_ref().is_some_and(|(of, ..)| *of == base) || node.is_cold_outside(base, id, id) {
            return None;
        }
        let node = node.read();
        let cursor = node.entries(base).cursor();
        let (_, node, cursor) = self.current.insert((base, node, cursor));
        advance(node, cursor, id)?.map(f)
    }

    /// Whether the entry exists.
    pub fn contains(&mut self, id: StreamId) -> bool {
        self.with_entry(id, |_| ()).is_some()
    }
}

impl Reader {
    /// Calls `f` with the entry of this id, if the stream has it.
    pub fn with_entry<R>(
        &mut self,
        stream: &Stream,
        id: StreamId,
        f: impl FnOnce(Entry<'_>) -> R,
    ) -> Option<R> {
        let (base, node) = stream.0.nodes.floor(id)?;
        if node.is_cold_outside(base, id, id) {
            return None;
        }
        if let Some((_, copy)) = self.copy.as_ref().filter(|(of, _)| node.bytes().ptr_eq(of)) {
            return copy.entry(base, id).map(f);
        }
        match node.read() {
            Readable::Itself(plain) => plain.entry(base, id).map(f),
            Readable::Copy(copy) => {
                let (_, copy) = self.copy.insert((node.bytes().clone(), copy));
                copy.entry(base, id).map(f)
            }
        }
    }
}

/// Moves to the first entry that is not below `id`, and returns it if it has this id. None if no
/// such entry is left.
fn advance<'n>(node: &'n StreamNode, cursor: &mut Cursor, id: StreamId) -> Option<Option<Entry<'n>>> {
    let mut entries = node.entries_from(*cursor);
    loop {
        *cursor = entries.cursor();
        let entry = entries.next()?;
        if entry.id == id {
            *cursor = entries.cursor();
            return Some(Some(entry));
        }
        if entry.id > id {
            return Some(None);
        }
    }
}
