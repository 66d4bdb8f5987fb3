//! What CLUSTER SLOTS, SHARDS and LINKS show.

use super::nodes::Viewer;
use crate::cluster::Cluster;
use crate::facts::Env;
use crate::id::NodeId;
use crate::link::{Direction, LinkId};
use crate::node::Node;
use crate::node_key::NodeKey;
use std::collections::BTreeMap;

/// A node as a client is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// Its name.
    pub id: NodeId,
    /// Its address; may be empty.
    pub ip: Box<str>,
    /// Its host; may be empty.
    pub hostname: Box<str>,
    /// Its availability zone; may be empty.
    pub zone: Box<str>,
    /// The port for clients that do not use TLS; 0: none.
    pub port: u16,
    /// The port for clients that use TLS; 0: none.
    pub tls_port: u16,
    /// Whether the node itself has a port of each kind, whatever it announces.
    pub has_ports: (bool, bool),
    /// Whether it is a replica.
    pub is_replica: bool,
    /// How far its replication stream is.
    pub offset: u64,
    /// How it is.
    pub health: HealthView,
}

/// How a node is, as CLUSTER SHARDS says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthView {
    /// `fail`: a majority found it failed.
    Fail,
    /// `loading`: a replica that has no data yet.
    Loading,
    /// `online`
    Online,
}

impl HealthView {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            HealthView::Fail => "fail",
            HealthView::Loading => "loading",
            HealthView::Online => "online",
        }
    }
}

/// Slots in a row that one node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRangeView {
    /// The first.
    pub start: u16,
    /// The last.
    pub end: u16,
    /// The primary, then the replicas that can be asked, by name.
    pub nodes: Vec<NodeView>,
}

/// A shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardView {
    /// Its name.
    pub id: NodeId,
    /// Its slots: first and last of each range.
    pub ranges: Vec<(u16, u16)>,
    /// Its nodes: the primary, then the replicas by name.
    pub nodes: Vec<NodeView>,
}

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// Its name, by which its buffers are found.
    pub link: LinkId,
    /// Who dialled.
    pub direction: Direction,
    /// The other node.
    pub node: NodeId,
    /// When it was made, in ms of the wall clock.
    pub create_time: u64,
}

impl Cluster {
    /// The ranges of CLUSTER SLOTS, ascending. Replicas that have failed, or have no data, are left out.
    pub fn slots_view(&self, viewer: Viewer, env: &Env<'_>) -> Vec<SlotRangeView> {
        let mut ranges: Vec<SlotRangeView> = Vec::new();
        for (key, node) in self.table.iter().filter(|(_, node)| !node.slots.is_empty()) {
            let usable = |view: &NodeView| view.health == HealthView::Online;
            let replicas = node.replicas.iter().map(|&replica| self.node_view(replica, viewer, env));
            let mut nodes = vec![self.node_view(key, viewer, env)];
            nodes.extend(replicas.filter(usable));
            let all = node.slots.ranges().into_iter();
            ranges.extend(all.map(|(start, end)| SlotRangeView { start, end, nodes: nodes.clone() }));
        }
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// The shards of CLUSTER SHARDS, by name.
    pub fn shards_view(&self, viewer: Viewer, env: &Env<'_>) -> Vec<ShardView> {
        let mut shards: BTreeMap<NodeId, Vec<NodeKey>> = BTreeMap::new();
        for (key, node) in self.table.iter().filter(|(_, node)| !node.is_handshake()) {
            shards.entry(node.shard).or_default().push(key);
        }
        let view = |(id, mut keys): (NodeId, Vec<NodeKey>)| {
            keys.sort_by_key(|&key| (self.table[key].is_replica(), self.table[key].id));
            let ranges = keys.iter().flat_map(|&key| self.table[key].slots.ranges()).collect();
            ShardView {
                id,
                ranges,
                nodes: keys.iter().map(|&key| self.node_view(key, viewer, env)).collect(),
            }
        };
        shards.into_iter().map(view).collect()
    }

    /// The links of CLUSTER LINKS: those to and from known nodes.
    pub fn links_view(&self) -> Vec<LinkView> {
        let both = |(_, node)| {
            let node: &Node = node;
            [node.outbound, node.inbound].map(|link| Some((link?, node.id)))
        };
        let links = self.table.iter().flat_map(both).flatten().filter_map(|(link, node)| {
            let found = self.links.get(link).filter(|link| link.is_open)?;
            let create_time = found.created_wall_ms;
            Some(LinkView { link, direction: found.direction, node, create_time })
        });
        links.collect()
    }

    fn node_view(&self, key: NodeKey, viewer: Viewer, env: &Env<'_>) -> NodeView {
        let node = &self.table[key];
        let offset = if node.is_myself() { self.claimed_offset(env) } else { node.offset };
        let health = match () {
            () if node.has_failed() => HealthView::Fail,
            () if node.is_replica() && offset == 0 => HealthView::Loading,
            () => HealthView::Online,
        };
        let (tls_port, port) = viewer.both_ports(&node.address, &node.names);
        NodeView {
            id: node.id,
            ip: viewer.ip(&node.address, &node.names).into(),
            hostname: node.names.hostname.clone(),
            zone: node.names.zone.clone(),
            port,
            tls_port,
            has_ports: (node.address.port > 0, node.address.tls_port > 0),
            is_replica: node.is_replica(),
            offset,
            health,
        }
    }
}
