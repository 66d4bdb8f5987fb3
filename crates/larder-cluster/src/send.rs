//! Packets of this node: headers, gossip, the nodes that they go to.

use crate::cluster::Cluster;
use crate::facts::Env;
use crate::id::NodeId;
use crate::link::{Direction, LinkId};
use crate::manual::Manual;
use crate::moment::Moment;
use crate::node::Node;
use crate::node_key::NodeKey;
use crate::packet::{
    Extensions, Gossip, Greeting, Header, Kind, Message, MessageFlags, NodeFlags, Slots, encode,
    encode_greeting, encode_light,
};
use std::sync::Arc;

/// What this node can do, said in every header.
const ABILITIES: NodeFlags =
    NodeFlags(NodeFlags::EXTENSIONS.0 | NodeFlags::LIGHT_PUBLISH.0 | NodeFlags::LIGHT_MODULE.0);

/// Entries of gossip in a packet, at least.
const GOSSIP_MIN: usize = 3;
/// One entry for this many nodes.
const GOSSIP_SHARE: usize = 10;

impl Cluster {
    fn header(&self, extra: MessageFlags, env: &Env<'_>) -> Header<'_> {
        let me = self.me();
        let primary = me.primary.map(|primary| &self.table[primary]);
        let claims = primary.unwrap_or(me);
        let (port, other_port) = me.address.ports(self.settings.tls_cluster);
        let mut flags = me.flags | ABILITIES;
        flags.set(NodeFlags::PRIMARY_FAIL, primary.is_some_and(Node::has_failed));
        let is_paused = matches!(self.manual, Some(Manual::Primary { is_paused: true, .. }));
        let paused = if is_paused { MessageFlags::PAUSED } else { MessageFlags::default() };
        Header {
            port,
            other_port,
            bus_port: me.address.bus_port,
            current_epoch: self.current_epoch,
            config_epoch: claims.config_epoch,
            offset: self.claimed_offset(env),
            sender: me.id,
            slots: Slots::Set(&claims.slots),
            primary: primary.map(|primary| primary.id),
            ip: &self.settings.address.ip,
            flags,
            is_down: self.health.is_down,
            message_flags: extra | paused,
        }
    }

    /// Sends PING, PONG or MEET on an open link.
    pub(crate) fn send_greeting(&mut self, link: LinkId, greeting: Greeting, env: &Env<'_>) {
        let Some(found) = self.links.get(link).filter(|link| link.is_open) else { return };
        let (receiver, direction) = (found.node, found.direction);
        let entries = self.choose_gossip(receiver);
        let reads_extensions = receiver.is_some_and(|node| self.table[node].reads_extensions);
        let header = self.header(MessageFlags::EXTENSIONS, env);
        let gossip =
            entries.iter().map(|&key| gossip_entry(&self.table[key], self.settings.tls_cluster, env.now));
        let extensions = if reads_extensions { self.extensions(env) } else { Extensions::default() };
        let bytes = encode_greeting(&header, greeting, gossip, &extensions);
        self.stats.sent.count(greeting.kind(), bytes.len());
        self.outbox.send(link, bytes.into());
        let Some(receiver) = receiver.filter(|_| direction == Direction::To) else { return };
        match greeting {
            Greeting::Ping => self.table[receiver].ping_sent = Some(env.ms()),
            Greeting::Meet => self.table[receiver].meet_sent = env.ms(),
            Greeting::Pong => (),
        }
    }

    /// What this node says of itself.
    fn extensions(&self, env: &Env<'_>) -> Extensions<'_> {
        let (me, names) = (self.me(), &self.me().names);
        let left = |until: u64| until.saturating_sub(env.ms()).div_ceil(1000);
        let mut forgotten: Vec<(NodeId, u64)> =
            self.banned.iter().map(|(&id, &until)| (id, left(until))).filter(|&(_, left)| left > 0).collect();
        forgotten.sort_unstable();
        Extensions {
            hostname: &names.hostname,
            node_name: &names.node_name,
            forgotten,
            shard: Some(me.shard),
            client_ipv4: &names.client_ipv4,
            client_ipv6: &names.client_ipv6,
            client_port: names.client_port,
            client_tls_port: names.client_tls_port,
            zone: &names.zone,
        }
    }

    /// The nodes that a packet speaks of: some at random, and all that this node cannot reach.
    fn choose_gossip(&mut self, receiver: Option<NodeKey>) -> Vec<NodeKey> {
        self.gossip_round += 1;
        let round = self.gossip_round;
        let others = self.table.len().saturating_sub(2);
        let wanted = (self.table.len() / GOSSIP_SHARE).max(GOSSIP_MIN).min(others);
        let mut chosen = Vec::with_capacity(wanted + self.unreachable);
        for _ in 0..wanted * 3 {
            let Some(key) = self.table.choose(&mut self.rng).filter(|_| chosen.len() < wanted) else { break };
            let node = &mut self.table[key];
            if Some(key) == receiver || node.gossip_round == round || !is_news(node) {
                continue;
            }
            node.gossip_round = round;
            chosen.push(key);
        }
        if self.unreachable > 0 {
            let unknown = NodeFlags::HANDSHAKE | NodeFlags::NOADDR;
            let all = self.table.iter().filter(|(key, node)| {
                node.flags.has(NodeFlags::PFAIL) && !node.flags.has(unknown) && Some(*key) != receiver
            });
            chosen.extend(all.map(|(key, _)| key));
        }
        chosen
    }

    /// Sends a packet to a node, on the link to it.
    pub(crate) fn send_message(
        &mut self,
        node: NodeKey,
        message: &Message<'_>,
        extra: MessageFlags,
        env: &Env<'_>,
    ) {
        if let Some(link) = self.open_link_to(node) {
            let bytes = encode(&self.header(extra, env), message);
            self.count_and_send(link, message, bytes.into());
        }
    }

    /// Sends a packet to all nodes whose names are known.
    pub(crate) fn broadcast(&mut self, message: &Message<'_>, extra: MessageFlags, env: &Env<'_>) {
        let bytes: Arc<[u8]> = encode(&self.header(extra, env), message).into();
        for key in self.table.keys() {
            if let Some(link) = self.open_link_to(key).filter(|_| !self.table[key].is_handshake()) {
                self.count_and_send(link, message, bytes.clone());
            }
        }
    }

    /// Tells all nodes, or those of this node's shard, what this node has become.
    pub(crate) fn broadcast_pong(&mut self, only_shard: bool, env: &Env<'_>) {
        let primary = self.me().primary.unwrap_or(self.myself);
        for key in self.table.keys() {
            let node = &self.table[key];
            if node.is_handshake() || (only_shard && node.primary != Some(primary)) {
                continue;
            }
            if let Some(link) = self.open_link_to(key) {
                self.send_greeting(link, Greeting::Pong, env);
            }
        }
    }

    /// Sends a message of a channel to the nodes that may have subscribers: all, or those of this node's shard.
    pub fn publish(&mut self, channel: &[u8], payload: &[u8], is_sharded: bool, env: &Env<'_>) {
        let message = Message::Publish { channel, payload, is_sharded };
        let (mut full, mut light) = (None::<Arc<[u8]>>, None::<Arc<[u8]>>);
        for key in self.table.keys() {
            let node = &self.table[key];
            if node.is_handshake() || (is_sharded && !self.is_of_my_shard(key)) {
                continue;
            }
            let Some(link) = self.open_link_to(key) else { continue };
            let is_proven = self.links.get(link).is_some_and(|link| link.is_proven);
            let bytes = if is_proven && node.flags.has(NodeFlags::LIGHT_PUBLISH) {
                light.get_or_insert_with(|| encode_light(channel, payload, is_sharded).into())
            } else {
                full.get_or_insert_with(|| {
                    encode(&self.header(MessageFlags::default(), env), &message).into()
                })
            };
            let bytes = bytes.clone();
            self.count_and_send(link, &message, bytes);
        }
    }

    /// Whether a node has the same primary as this one, or is it, or is its replica.
    pub(crate) fn is_of_my_shard(&self, key: NodeKey) -> bool {
        let head = |key: NodeKey| self.table[key].primary.unwrap_or(key);
        key != self.myself && head(key) == head(self.myself)
    }

    fn count_and_send(&mut self, link: LinkId, message: &Message<'_>, bytes: Arc<[u8]>) {
        self.stats.sent.count(message.kind().unwrap_or(Kind::Module), bytes.len());
        self.outbox.send(link, bytes);
    }

    /// The link to a node, if it is open.
    pub(crate) fn open_link_to(&self, node: NodeKey) -> Option<LinkId> {
        self.table[node].outbound.filter(|&link| self.links.get(link).is_some_and(|link| link.is_open))
    }
}

/// Whether a node is worth an entry.
fn is_news(node: &Node) -> bool {
    let unwanted = NodeFlags::MYSELF | NodeFlags::PFAIL | NodeFlags::HANDSHAKE | NodeFlags::NOADDR;
    !node.flags.has(unwanted) && (node.outbound.is_some() || !node.slots.is_empty())
}

fn gossip_entry(node: &Node, tls_cluster: bool, now: Moment) -> Gossip<'_> {
    let seconds = |time: Option<u64>| time.map_or(0, |time| (now.wall_of(time) / 1000) as u32);
    let (port, other_port) = node.address.ports(tls_cluster);
    Gossip {
        id: node.id,
        ping_sent: seconds(node.ping_sent),
        pong_received: seconds(node.pong_received),
        ip: &node.address.ip,
        port,
        bus_port: node.address.bus_port,
        flags: node.flags,
        other_port,
    }
}
