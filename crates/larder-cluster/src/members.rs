//! Who belongs to the cluster: links, handshakes, nodes that come and go, addresses.

use crate::action::Action;
use crate::cluster::Cluster;
use crate::facts::Env;
use crate::id::NodeId;
use crate::link::{Direction, Link, LinkId};
use crate::node::{Address, Names, Node};
use crate::node_key::NodeKey;
use crate::packet::{Extensions, Gossip, Greeting, Header, NodeFlags};

/// Links of strangers that are kept.
const STRANGE_LINKS_MAX: usize = 512;
/// Nodes that strangers ask this one to meet, at a time: each is dialled.
const STRANGE_HANDSHAKES_MAX: usize = 256;
/// A PONG of this much in the future, by the wall clock of the node that saw it, is believed.
const CLOCKS_DIFFER_MS: u64 = 500;

impl Cluster {
    /// A connection came in: from and to these addresses, as the socket says. Names the link.
    ///
    /// A peer that connects may say nothing, and there is no password: a link that none of the nodes has
    /// makes place for newer ones.
    pub fn accepted(&mut self, peer_ip: &str, local_ip: &str, env: &Env<'_>) -> LinkId {
        let oldest = self.links.of_strangers().map(|(id, _)| id).nth_back(STRANGE_LINKS_MAX - 1);
        if let Some(oldest) = oldest {
            self.close(oldest, env);
        }
        self.links.insert(Link {
            direction: Direction::From,
            node: None,
            created: env.ms(),
            created_wall_ms: env.now.wall_ms,
            is_open: true,
            is_proven: false,
            peer_ip: peer_ip.into(),
            local_ip: local_ip.into(),
        })
    }

    /// A link that was dialled is open.
    pub fn connected(&mut self, link: LinkId, env: &Env<'_>) {
        let Some(found) = self.links.get_mut(link).filter(|link| !link.is_open) else { return };
        found.is_open = true;
        let Some(key) = found.node else { return };
        let due_since = self.table[key].ping_sent;
        let is_meet = self.table[key].flags.has(NodeFlags::MEET);
        self.send_greeting(link, if is_meet { Greeting::Meet } else { Greeting::Ping }, env);
        // An answer that was due before the link is due since then.
        let node = &mut self.table[key];
        node.ping_sent = due_since.or(node.ping_sent);
        node.flags.set(NodeFlags::MEET, false);
    }

    /// A link has been closed by the other side, or could not be opened.
    pub fn closed(&mut self, link: LinkId, env: &Env<'_>) {
        let Some(closed) = self.links.remove(link) else { return };
        let Some(key) = closed.node else { return };
        let node = &mut self.table[key];
        if node.outbound == Some(link) {
            node.outbound = None;
        }
        if node.inbound == Some(link) {
            node.inbound = None;
            node.inbound_lost = env.ms();
        }
    }

    /// Closes a link.
    pub(crate) fn close(&mut self, link: LinkId, env: &Env<'_>) {
        if self.links.get(link).is_some() {
            self.closed(link, env);
            self.outbox.push(Action::Close(link));
        }
    }

    /// Dials a node. From now on an answer is due.
    pub(crate) fn dial(&mut self, key: NodeKey, env: &Env<'_>) {
        let link = self.links.insert(Link {
            direction: Direction::To,
            node: Some(key),
            created: env.ms(),
            created_wall_ms: env.now.wall_ms,
            is_open: false,
            is_proven: false,
            peer_ip: self.table[key].address.ip.clone(),
            local_ip: "".into(),
        });
        let node = &mut self.table[key];
        node.outbound = Some(link);
        node.ping_sent.get_or_insert(env.ms());
        self.outbox.push(Action::Dial { link, ip: node.address.ip.clone(), port: node.address.bus_port });
    }

    /// Whether a link is that of a node: others may send, and let wait, only little.
    pub fn is_of_node(&self, link: LinkId) -> bool {
        self.links.get(link).is_some_and(|link| link.node.is_some())
    }

    /// Closes links on which nothing has come that is a packet, since longer than a handshake may take.
    pub(crate) fn close_silent_links(&mut self, env: &Env<'_>) {
        let timeout = self.settings.handshake_timeout_ms();
        let is_silent = |link: &Link| !link.is_proven && env.now.since(link.created) > timeout;
        let silent: Vec<LinkId> =
            self.links.of_strangers().filter(|(_, link)| is_silent(link)).map(|(id, _)| id).collect();
        for link in silent {
            self.close(link, env);
        }
    }

    /// A stranger wants to be met.
    pub(crate) fn meet_stranger(&mut self, address: Address, env: &Env<'_>) {
        let under_way = self.table.iter().filter(|(_, node)| node.is_handshake()).count();
        if under_way < STRANGE_HANDSHAKES_MAX {
            self.begin_handshake(address, false, env);
        }
    }

    /// Takes in a node whose name is not known yet, unless that is under way. It is dialled by the next tick.
    pub(crate) fn begin_handshake(&mut self, address: Address, is_meet: bool, env: &Env<'_>) {
        let is_same = |node: &Node| {
            node.is_handshake() && node.address.ip == address.ip && node.address.bus_port == address.bus_port
        };
        if self.table.iter().any(|(_, node)| is_same(node)) {
            return;
        }
        let [id, shard] = [NodeId::random(&mut self.rng), NodeId::random(&mut self.rng)];
        let meet = if is_meet { NodeFlags::MEET } else { NodeFlags::default() };
        let mut node = Node::new(id, shard, NodeFlags::HANDSHAKE | meet, env.ms());
        node.address = address;
        self.table.insert(node);
    }

    /// Removes a node and its links.
    pub(crate) fn remove_node(&mut self, key: NodeKey, env: &Env<'_>) {
        assert!(key != self.myself, "a node does not forget itself");
        for link in [self.table[key].outbound, self.table[key].inbound].into_iter().flatten() {
            self.close(link, env);
        }
        self.open.forget(key);
        self.forget_in_failover(key);
        for slot in self.table[key].slots.clone().iter() {
            self.unclaimed.remove(slot);
        }
        let was_known = !self.table[key].is_handshake();
        self.table.remove(key);
        if was_known {
            self.outbox.notice();
        }
    }

    /// Removes a node and does not take it in again for this many seconds.
    pub(crate) fn ban(&mut self, key: NodeKey, seconds: u64, env: &Env<'_>) {
        let until = env.ms().saturating_add(seconds.saturating_mul(1000));
        self.banned.insert(self.table[key].id, until);
        self.remove_node(key, env);
    }

    /// Whether a node is not to be taken in.
    pub(crate) fn is_banned(&self, id: &NodeId, env: &Env<'_>) -> bool {
        self.banned.get(id).is_some_and(|&until| until > env.ms())
    }

    /// Notes that a link that was accepted is that of a node. One that it had before is closed.
    pub(crate) fn attach(&mut self, link: LinkId, key: NodeKey, env: &Env<'_>) {
        let Some(found) = self.links.get_mut(link).filter(|link| link.direction == Direction::From) else {
            return;
        };
        let before = found.node.replace(key);
        if before == Some(key) {
            return;
        }
        if let Some(before) = before {
            self.table[before].inbound = None;
        }
        if let Some(old) = self.table[key].inbound.replace(link) {
            self.links.get_mut(old).expect("it is there").node = None;
            self.close(old, env);
        }
    }

    /// The address that a header and the socket give.
    pub(crate) fn address_of(&self, header: &Header<'_>, link: LinkId) -> Address {
        let socket = self.links.get(link).map_or("", |link| &link.peer_ip);
        let ip = if header.ip.is_empty() { socket } else { header.ip };
        let ports = (header.port, header.other_port);
        Address::new(ip, ports, header.bus_port, self.settings.tls_cluster)
    }

    /// Changes where a node is reached; it is dialled there.
    pub(crate) fn move_to_address(&mut self, key: NodeKey, address: Address, env: &Env<'_>) {
        let node = &mut self.table[key];
        if node.address == address || address.ip.is_empty() {
            return;
        }
        // Another port for clients is no reason to dial.
        let is_elsewhere = (&node.address.ip, node.address.bus_port) != (&address.ip, address.bus_port);
        node.address = address;
        node.flags.set(NodeFlags::NOADDR, false);
        self.outbox.must_map = true;
        if let Some(link) = node.outbound.filter(|_| is_elsewhere) {
            self.close(link, env);
        }
        self.outbox.notice();
    }

    /// A node answered under another name: what was known of the address is wrong.
    pub(crate) fn lose_address(&mut self, key: NodeKey, env: &Env<'_>) {
        if let Some(link) = self.table[key].outbound {
            self.close(link, env);
        }
        let node = &mut self.table[key];
        node.flags.set(NodeFlags::NOADDR | NodeFlags::FAIL, true);
        node.flags.set(NodeFlags::PFAIL, false);
        node.failed_at = env.ms();
        node.address = Address::default();
        self.outbox.notice();
    }

    /// What a known node says of others.
    pub(crate) fn hear_gossip(&mut self, from: NodeKey, gossip: &Gossip<'_>, env: &Env<'_>) {
        let Some(key) = self.table.find(&gossip.id) else {
            self.hear_of_new(gossip, env);
            return;
        };
        if key == self.myself {
            return;
        }
        self.hear_of_failure(from, key, gossip.flags.has(NodeFlags::FAILURE), env);
        let tls_cluster = self.settings.tls_cluster;
        let node = &self.table[key];
        if !gossip.flags.has(NodeFlags::FAILURE) && !node.is_failing() {
            self.hear_of_pong(key, gossip.pong_received, env);
        } else if node.is_failing() && !gossip.flags.has(NodeFlags::FAILURE | NodeFlags::NOADDR) {
            let ports = (gossip.port, gossip.other_port);
            let address = Address::new(gossip.ip, ports, gossip.bus_port, tls_cluster);
            self.move_to_address(key, address, env);
        }
    }

    /// Takes in a node that others know. It is dialled by the next tick.
    fn hear_of_new(&mut self, gossip: &Gossip<'_>, env: &Env<'_>) {
        let unwanted = NodeFlags::NOADDR | NodeFlags::HANDSHAKE;
        if gossip.flags.has(unwanted) || gossip.ip.is_empty() || self.is_banned(&gossip.id, env) {
            return;
        }
        let kept = NodeFlags::NOFAILOVER | NodeFlags::MIGRATE_TO;
        let shard = NodeId::random(&mut self.rng);
        let mut node = Node::new(gossip.id, shard, gossip.flags & kept, env.ms());
        let ports = (gossip.port, gossip.other_port);
        node.address = Address::new(gossip.ip, ports, gossip.bus_port, self.settings.tls_cluster);
        let Some(key) = self.table.insert(node) else { return };
        // What role a node has is known from itself; until then a primary has no slots and a replica no primary.
        self.table.set_role(key, !gossip.flags.has(NodeFlags::REPLICA));
        self.outbox.notice();
    }

    /// Others have had an answer of a node: it needs not be asked that soon.
    fn hear_of_pong(&mut self, key: NodeKey, seconds: u32, env: &Env<'_>) {
        let wall = u64::from(seconds) * 1000;
        let node = &mut self.table[key];
        if node.ping_sent.is_some() || !node.reports.is_empty() || wall > env.now.wall_ms + CLOCKS_DIFFER_MS {
            return;
        }
        let time = env.now.mono_of(wall).unwrap_or(env.ms());
        node.pong_received = node.pong_received.max(Some(time));
    }

    /// What a node says of itself.
    pub(crate) fn hear_extensions(&mut self, from: NodeKey, extensions: &Extensions<'_>, env: &Env<'_>) {
        let names = Names {
            hostname: extensions.hostname.into(),
            node_name: extensions.node_name.into(),
            client_ipv4: extensions.client_ipv4.into(),
            client_ipv6: extensions.client_ipv6.into(),
            client_port: extensions.client_port,
            client_tls_port: extensions.client_tls_port,
            zone: extensions.zone.into(),
        };
        let node = &mut self.table[from];
        if node.names != names {
            node.names = names;
            // Clients are sent to what is announced here.
            self.outbox.must_map = true;
            self.outbox.notice();
        }
        // A replica is of its primary's shard, by whatever name this node knows that.
        let node = &self.table[from];
        if let Some(shard) = extensions.shard.filter(|&shard| node.primary.is_none() && node.shard != shard) {
            self.table.set_shard(from, shard);
            self.outbox.notice();
        }
        for (id, seconds) in &extensions.forgotten {
            let found =
                self.table.find(id).filter(|&key| key != self.myself && self.me().primary != Some(key));
            if let Some(key) = found.filter(|&key| key != from) {
                self.ban(key, *seconds, env);
            }
        }
    }

    /// An address by which others reach this node.
    pub(crate) fn learn_own_ip(&mut self, link: LinkId, is_meet: bool) {
        let ip = self.links.get(link).map_or("".into(), |link| link.local_ip.clone());
        let is_wanted = is_meet || self.me().address.ip.is_empty();
        if self.settings.address.ip.is_empty() && is_wanted && !ip.is_empty() && self.me().address.ip != ip {
            self.me_mut().address.ip = ip;
            self.outbox.notice();
        }
    }
}
