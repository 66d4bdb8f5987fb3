//! Compressing idle nodes, and decompressing those that are used again, by a background thread.
//!
//! The thread collects jobs while it holds the shard ([`Stream::cold_jobs`]), works on shared
//! clones without a lock ([`NodeJob::run`]), and swaps each result in while it holds the shard
//! again ([`Stream::apply_cold`]), if the node is still the same. A job holds the node's bytes, so
//! a writer that came in between has copied them. [`super::node`] defines uses. Tested by
//! `tests/cold.rs`.

use super::node::Node;
use super::tree::{Block, Verdict};
use super::{Stream, StreamId};
use crate::cold::parts::PartSums;
use crate::cold::registry::DictionaryRef;
use crate::cold::{ColdParts, forced};
use larder_packed::block::Direction;
use larder_packed::bytes::SharedBytes;
use larder_packed::dictionary::Compressor;
use std::ops::ControlFlow;

/// The most nodes that one call looks at.
const LOOKED_AT_MAX: usize = 1024;

/// A node to compress, or to decompress because it is read repeatedly.
pub struct NodeJob {
    base: StreamId,
    node: Node,
}

/// The outcome of a [`NodeJob`].
pub struct NodeDone {
    base: StreamId,
    old: SharedBytes,
    /// None: the node does not shrink.
    new: Option<Node>,
}

/// What a walk has found in a stream.
#[derive(Default)]
pub struct NodeJobs {
    /// What is to be done.
    pub jobs: Vec<NodeJob>,
    /// The nodes that were cold already.
    pub cold: ColdParts,
}

impl NodeJob {
    /// Whether the node is to be decompressed, which [`NodeJob::thaw`] does without a dictionary.
    pub fn is_thaw(&self) -> bool {
        self.node.is_cold()
    }

    /// Decompresses the node, if that is the job. Needs no lock.
    pub fn thaw(&self) -> Option<NodeDone> {
        self.is_thaw().then(|| {
            let mut node = self.node.clone();
            node.plain_mut();
            self.done(Some(node))
        })
    }

    /// Does the job, with the compressor of a dictionary if the node is to be compressed. Needs no
    /// lock. The result for a node that does not shrink keeps it from being tried again.
    pub fn run(&self, dictionary: &DictionaryRef, compressor: &mut Compressor) -> NodeDone {
        self.run_as(dictionary, compressor, forced::is_forced())
    }

    /// As [`NodeJob::run`]; with `is_forced`, nodes need not shrink.
    pub(super) fn run_as(
        &self,
        dictionary: &DictionaryRef,
        compressor: &mut Compressor,
        is_forced: bool,
    ) -> NodeDone {
        match &self.node {
            Node::Plain { node, .. } => {
                self.done(Node::compressed(node, self.base, dictionary, compressor, is_forced))
            }
            Node::Cold { .. } => self.thaw().expect("that is the job"),
        }
    }

    /// Bytes of the plain node.
    pub fn len_bytes(&self) -> usize {
        self.node.len_bytes()
    }

    /// Bytes for training; none if the node is to be decompressed.
    pub fn sample(&self) -> Vec<u8> {
        match &self.node {
            Node::Plain { node, .. } => node.as_bytes().to_vec(),
            Node::Cold { .. } => Vec::new(),
        }
    }

    fn done(&self, new: Option<Node>) -> NodeDone {
        NodeDone { base: self.base, old: self.node.bytes().clone(), new }
    }
}

fn add_if_cold(sum: &mut ColdParts, node: &Node) {
    if node.is_cold() {
        sum.add(node.len_bytes(), node.heap_bytes());
    }
}

impl NodeDone {
    /// Whether the node gets another form; if not, it did not shrink.
    pub fn is_change(&self) -> bool {
        self.new.is_some()
    }
}

impl Stream {
    /// Adds jobs for nodes from an id on: to compress those that were not used for
    /// [`UNUSED_WALKS`](super::UNUSED_WALKS) walks, and to decompress those that are read
    /// repeatedly. Counts the walk for each node. With `all`, every plain node that may shrink is
    /// compressed, including the last one, and none is decompressed.
    ///
    /// The jobs of a call are for one node, or for more with at most `max_bytes` as plain nodes; a
    /// call looks at 1024 nodes, and sums up the cold ones among them. Returns the id to continue
    /// from, or None after the last node.
    pub fn cold_jobs(
        &self,
        from: StreamId,
        all: bool,
        max_bytes: usize,
        out: &mut NodeJobs,
    ) -> Option<StreamId> {
        let (last, _) = self.0.nodes.last()?;
        let (mut bytes, mut looked_at) = (0, 0);
        let flow = self.0.nodes.walk(from, Direction::Forward, &mut |base, node: &Node| {
            // The walk starts with the node that may hold `from`; one that begins earlier was part
            // of the last call.
            if base < from {
                return ControlFlow::Continue(());
            }
            if looked_at == LOOKED_AT_MAX {
                return ControlFlow::Break(base);
            }
            looked_at += 1;
            add_if_cold(&mut out.cold, node);
            if !node.wants_change(all) || (base == last && !all && !node.is_cold()) {
                return ControlFlow::Continue(());
            }
            let len = node.len_bytes();
            if bytes > 0 && bytes + len > max_bytes {
                return ControlFlow::Break(base);
            }
            bytes += len;
            out.jobs.push(NodeJob { base, node: node.clone() });
            ControlFlow::Continue(())
        });
        flow.break_value()
    }

    /// Swaps in the result of a job if the node that it was made from is still there. Returns
    /// whether the stream changed.
    pub fn apply_cold(&mut self, done: NodeDone) -> bool {
        let found = self.0.nodes.floor(done.base).filter(|(base, _)| *base == done.base);
        let Some((_, node)) = found.filter(|(_, node)| node.bytes().ptr_eq(&done.old)) else { return false };
        let Some(new) = done.new else {
            node.set_stays();
            return false;
        };
        self.data().nodes.edit(done.base, |_, node| {
            *node = new;
            ((), Verdict::Keep)
        });
        true
    }

    /// Sums up the nodes, with some samples of those that could be compressed. O(nodes).
    pub fn part_sums(&self, samples: usize) -> PartSums {
        let mut sums = PartSums::new(samples);
        let _ = self.0.nodes.walk(StreamId::ZERO, Direction::Forward, &mut |_, node: &Node| {
            match node {
                Node::Cold { .. } => add_if_cold(&mut sums.cold, node),
                Node::Plain { node: plain, .. } => {
                    sums.add_plain(node.len_bytes(), || plain.as_bytes().to_vec());
                }
            }
            ControlFlow::<()>::Continue(())
        });
        sums
    }
}
