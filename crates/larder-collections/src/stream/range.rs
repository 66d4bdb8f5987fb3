//! Reading entries by id.

use super::Stream;
use larder_packed::block::Direction;
use larder_packed::stream_node::{Entry, StreamId, StreamNode};
use std::ops::ControlFlow;

/// Which end comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The lowest id.
    Ascending,
    /// The highest id.
    Descending,
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
            Order::Ascending => {
                self.0.nodes.walk(from, Direction::Forward, &mut |base, node: &StreamNode| {
                    for entry in node.entries(base) {
                        if entry.id > to {
                            return ControlFlow::Break(None);
                        }
                        if entry.id >= from {
                            f(entry).map_break(Some)?;
                        }
                    }
                    ControlFlow::Continue(())
                })
            }
            Order::Descending => {
                self.0.nodes.walk(to, Direction::Backward, &mut |base, node: &StreamNode| {
                    for entry in node.entries_back(base) {
                        if entry.id < from {
                            return ControlFlow::Break(None);
                        }
                        if entry.id <= to {
                            f(entry).map_break(Some)?;
                        }
                    }
                    ControlFlow::Continue(())
                })
            }
        };
        flow.break_value().flatten()
    }

    /// Calls `f` with the entry of this id, if it exists.
    pub fn with_entry<R>(&self, id: StreamId, f: impl FnOnce(Entry<'_>) -> R) -> Option<R> {
        let (base, node) = self.0.nodes.floor(id)?;
        let found = node.entries(base).take_while(|entry| entry.id <= id).find(|entry| entry.id == id);
        found.map(f)
    }

    /// Looks up entries by ids that ascend from call to call. All of them together cost as much as the ranges of the nodes that they are in.
    pub fn lookup<'s>(&'s self) -> impl FnMut(StreamId) -> Option<Entry<'s>> {
        self.0.nodes.lookup(|base, node: &StreamNode| node.entries(base).map(|entry| (entry.id, entry)))
    }

    /// Whether the entry exists.
    pub fn contains(&self, id: StreamId) -> bool {
        self.with_entry(id, |_| ()).is_some()
    }

    /// The id of the last entry; None without any.
    pub fn last_entry_id(&self) -> Option<StreamId> {
        let (base, node) = self.0.nodes.last()?;
        node.entries_back(base).next().map(|entry| entry.id)
    }
}
