//! Building a stream from the parts that a dump has, each of them checked.

use super::{Data, Stream};
use larder_packed::listpack::Damaged;
use larder_packed::stream_node::{StreamId, StreamNode};
use std::sync::Arc;

/// A stream that is being built from nodes.
#[derive(Default)]
pub struct Loader {
    data: Data,
    /// The last id of the nodes so far, be it deleted or not.
    last: Option<StreamId>,
}

/// Why a part does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// A node's bytes are not a node.
    Node,
    /// Nodes or ids are not in order.
    Order,
    /// The number of entries is not that of the nodes.
    Length,
}

impl From<Damaged> for LoadError {
    fn from(_: Damaged) -> Self {
        LoadError::Node
    }
}

impl Loader {
    /// Adds a node after those before it.
    pub fn add_node(&mut self, base: StreamId, bytes: &[u8]) -> Result<(), LoadError> {
        let (node, last) = StreamNode::from_bytes(bytes, base)?;
        if self.last.is_some_and(|before| base <= before) {
            return Err(LoadError::Order);
        }
        self.last = Some(last);
        // Trimming in Redis may leave a node of deleted entries behind.
        if node.live() > 0 {
            self.data.nodes.push_back(base, node.into());
        }
        Ok(())
    }

    /// The stream, which has this many entries.
    pub fn finish(mut self, len: u64, last_id: StreamId) -> Result<Stream, LoadError> {
        if self.data.nodes.len() != len {
            return Err(LoadError::Length);
        }
        if self.last.is_some_and(|last| last > last_id) {
            return Err(LoadError::Order);
        }
        self.data.last_id = last_id;
        self.data.find_first();
        self.data.entries_added = len;
        Ok(Stream(Arc::new(self.data)))
    }
}
