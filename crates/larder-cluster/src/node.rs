//! What is known of a node.

use crate::id::NodeId;
use crate::link::LinkId;
use crate::node_key::NodeKey;
use crate::packet::NodeFlags;
use crate::reports::Reports;
use crate::slot_set::SlotSet;

/// Where a node is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Its address as text; empty: unknown.
    pub ip: Box<str>,
    /// Its port for clients without TLS; 0: none.
    pub port: u16,
    /// Its port for clients with TLS; 0: none.
    pub tls_port: u16,
    /// Its port for the bus.
    pub bus_port: u16,
}

impl Address {
    /// The port that stands first in packets and lines, and the other one.
    pub fn ports(&self, tls_cluster: bool) -> (u16, u16) {
        if tls_cluster { (self.tls_port, self.port) } else { (self.port, self.tls_port) }
    }

    /// An address of the port that stands first and the other one.
    pub fn new(ip: &str, (first, other): (u16, u16), bus_port: u16, tls_cluster: bool) -> Self {
        let (port, tls_port) = if tls_cluster { (other, first) } else { (first, other) };
        Address { ip: ip.into(), port, tls_port, bus_port }
    }
}

/// What a node announces beyond its address. Empty and 0: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Name of its host.
    pub hostname: Box<str>,
    /// Its name for humans.
    pub node_name: Box<str>,
    /// The address for clients that come by IPv4.
    pub client_ipv4: Box<str>,
    /// The address for clients that come by IPv6.
    pub client_ipv6: Box<str>,
    /// The port for clients.
    pub client_port: u16,
    /// The port for clients that use TLS.
    pub client_tls_port: u16,
    /// Its availability zone.
    pub zone: Box<str>,
}

/// A node. All times are monotonic ms.
///
/// About 500 bytes, 2 KiB more if it has slots, and 16 bytes for each report that it has failed.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name; a random one while the true one is not known.
    pub id: NodeId,
    /// The name of its shard.
    pub shard: NodeId,
    /// What it is. The bits of role are changed by the table alone.
    pub(crate) flags: NodeFlags,
    /// The version of its slots. A replica's is not used: that of its primary is.
    pub config_epoch: u64,
    pub(crate) slots: SlotSet,
    pub(crate) primary: Option<NodeKey>,
    pub(crate) replicas: Vec<NodeKey>,
    /// Where it is reached.
    pub address: Address,
    /// What it announces.
    pub names: Names,
    /// How far its replication stream is, by its last packet.
    pub offset: u64,
    /// The same, by its last packet as a replica.
    pub(crate) replica_offset: u64,
    /// Whether it has said that it reads extensions.
    pub(crate) reads_extensions: bool,
    pub(crate) created: u64,
    /// When the PING was sent whose answer is due.
    pub(crate) ping_sent: Option<u64>,
    pub(crate) pong_received: Option<u64>,
    /// When the last packet came, on whichever link.
    pub(crate) data_received: u64,
    pub(crate) failed_at: u64,
    /// Since when it has slots, no good replica, and has had some.
    pub(crate) orphaned_since: Option<u64>,
    /// The link that was dialled, which may not be open yet.
    pub(crate) outbound: Option<LinkId>,
    /// The link that it dialled.
    pub(crate) inbound: Option<LinkId>,
    pub(crate) inbound_lost: u64,
    pub(crate) meet_sent: u64,
    pub(crate) reports: Reports,
    /// The last packet that spoke of it.
    pub(crate) gossip_round: u64,
}

impl Node {
    /// A node without role, slots and links.
    pub fn new(id: NodeId, shard: NodeId, flags: NodeFlags, now: u64) -> Self {
        Node {
            id,
            shard,
            flags,
            config_epoch: 0,
            slots: SlotSet::new(),
            primary: None,
            replicas: Vec::new(),
            address: Address::default(),
            names: Names::default(),
            offset: 0,
            replica_offset: 0,
            reads_extensions: false,
            created: now,
            ping_sent: None,
            pong_received: None,
            data_received: 0,
            failed_at: 0,
            orphaned_since: None,
            outbound: None,
            inbound: None,
            inbound_lost: now,
            meet_sent: 0,
            reports: Reports::default(),
            gossip_round: 0,
        }
    }

    /// What it is.
    pub fn flags(&self) -> NodeFlags {
        self.flags
    }

    /// Its slots. Only primaries have some.
    pub fn slots(&self) -> &SlotSet {
        &self.slots
    }

    /// Whether it is a primary.
    pub fn is_primary(&self) -> bool {
        self.flags.has(NodeFlags::PRIMARY)
    }

    /// Whether it is a replica.
    pub fn is_replica(&self) -> bool {
        self.flags.has(NodeFlags::REPLICA)
    }

    /// Whether it is counted and asked in elections.
    pub fn votes(&self) -> bool {
        self.is_primary() && !self.slots.is_empty()
    }

    /// Whether this node is the one that runs.
    pub fn is_myself(&self) -> bool {
        self.flags.has(NodeFlags::MYSELF)
    }

    /// Whether its name is not known yet.
    pub fn is_handshake(&self) -> bool {
        self.flags.has(NodeFlags::HANDSHAKE)
    }

    /// Whether a majority found it failed.
    pub fn has_failed(&self) -> bool {
        self.flags.has(NodeFlags::FAIL)
    }

    /// Whether it has failed, or cannot be reached.
    pub fn is_failing(&self) -> bool {
        self.flags.has(NodeFlags::FAILURE)
    }

    /// Whose replica it is.
    pub fn primary(&self) -> Option<NodeKey> {
        self.primary
    }

    /// Its replicas.
    pub fn replicas(&self) -> &[NodeKey] {
        &self.replicas
    }
}
