//! The state of a node, and how it begins, ends an input and is asked.

use crate::action::Action;
use crate::config_file::{self, SavedConfig, SavedNode, Variables};
use crate::election::{Election, Hindrance};
use crate::facts::Env;
use crate::id::NodeId;
use crate::link::Links;
use crate::manual::Manual;
use crate::moment::Moment;
use crate::node::{Address, Node};
use crate::node_key::NodeKey;
use crate::open_slots::OpenSlots;
use crate::outbox::Outbox;
use crate::packet::NodeFlags;
use crate::settings::Settings;
use crate::slot_map::{MapNode, NO_OWNER, SlotMap};
use crate::slot_set::{SLOTS, SlotSet};
use crate::standing::Lineage;
use crate::stats::Stats;
use crate::table::Table;
use std::collections::HashMap;
use std::sync::Arc;

/// A node of a cluster. See the head of the crate.
pub struct Cluster {
    pub(crate) table: Table,
    pub(crate) myself: NodeKey,
    pub(crate) links: Links,
    pub(crate) open: OpenSlots,
    /// Slots whose owners have ceased to claim them: theirs until somebody else does.
    pub(crate) unclaimed: SlotSet,
    /// Nodes that were forgotten, and until when they are not taken in again, in monotonic ms.
    pub(crate) banned: HashMap<NodeId, u64>,
    pub(crate) current_epoch: u64,
    pub(crate) last_vote_epoch: u64,
    pub(crate) health: Health,
    pub(crate) election: Election,
    pub(crate) manual: Option<Manual>,
    /// Which data of a replica is that of its primary.
    pub(crate) lineage: Lineage,
    pub(crate) hindrance: Option<Hindrance>,
    pub(crate) settings: Settings,
    pub(crate) rng: fastrand::Rng,
    pub(crate) outbox: Outbox,
    pub(crate) stats: Stats,
    pub(crate) ticks: u64,
    /// Nodes that are PFAIL, by the last tick or more.
    pub(crate) unreachable: usize,
    /// Numbers packets, so that no node is twice in one.
    pub(crate) gossip_round: u64,
    following: Option<(NodeId, Address)>,
    /// The slots of this node in the last map that was handed out.
    shown: SlotSet,
    versions: u64,
}

/// What is known of the state of the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Health {
    pub is_down: bool,
    /// When the state was first asked for.
    pub begun: Option<u64>,
    /// When this node was last among a minority.
    pub minority: Option<u64>,
}

impl Cluster {
    /// A node that knows nobody and has a new name. `seed` is for everything that is random.
    pub fn new(settings: Settings, seed: u64, now: Moment) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let [id, shard] = [NodeId::random(&mut rng), NodeId::random(&mut rng)];
        let mut table = Table::default();
        let me = Node::new(id, shard, NodeFlags::MYSELF | NodeFlags::PRIMARY, now.mono_ms);
        let myself = table.insert(me).expect("the table is empty");
        let mut cluster = Cluster {
            table,
            myself,
            links: Links::default(),
            open: OpenSlots::default(),
            unclaimed: SlotSet::new(),
            banned: HashMap::new(),
            current_epoch: 0,
            last_vote_epoch: 0,
            health: Health { is_down: true, begun: None, minority: None },
            election: Election::default(),
            manual: None,
            lineage: Lineage::NOTHING,
            hindrance: None,
            settings: settings.bounded(),
            rng,
            outbox: Outbox::default(),
            stats: Stats::default(),
            ticks: 0,
            unreachable: 0,
            gossip_round: 0,
            following: None,
            shown: SlotSet::new(),
            versions: 0,
        };
        cluster.outbox.changed();
        cluster.announce_settings();
        cluster
    }

    /// The node that a `nodes.conf` describes; a new one for an empty file.
    pub fn restore(saved: &SavedConfig, settings: Settings, seed: u64, now: Moment) -> Self {
        let mut cluster = Self::new(settings, seed, now);
        let Some(me) = saved.nodes.iter().find(|node| node.flags.has(NodeFlags::MYSELF)) else {
            return cluster;
        };
        assert!(cluster.table.rename(cluster.myself, me.id), "it is alone");
        for node in &saved.nodes {
            cluster.restore_node(node, now);
        }
        for node in &saved.nodes {
            cluster.restore_relations(node, now);
        }
        let epochs = cluster.table.iter().map(|(_, node)| node.config_epoch).max().unwrap_or_default();
        // No vote is of an epoch that is not known: a file that says so is damaged, and the greater number the safer one.
        cluster.current_epoch = saved.current_epoch.max(epochs).max(saved.last_vote_epoch);
        cluster.last_vote_epoch = saved.last_vote_epoch;
        cluster.lineage = saved.lineage;
        cluster.announce_settings();
        cluster
    }

    fn restore_node(&mut self, saved: &SavedNode, now: Moment) {
        let key = match self.table.find(&saved.id) {
            Some(key) => key,
            None => {
                let shard = NodeId::random(&mut self.rng);
                let node = Node::new(saved.id, shard, NodeFlags::default(), now.mono_ms);
                let Some(key) = self.table.insert(node) else { return };
                key
            }
        };
        let tls_cluster = self.settings.tls_cluster;
        let node = &mut self.table[key];
        node.flags = saved.flags & !NodeFlags::ROLE;
        node.failed_at = now.mono_ms;
        node.ping_sent = saved.is_pinged.then_some(now.mono_ms);
        node.pong_received = saved.has_answered.then_some(now.mono_ms);
        node.shard = saved.shard.unwrap_or(node.shard);
        node.names = saved.names.clone();
        node.address = Address::new(&saved.ip, (saved.port, saved.other_port), saved.bus_port, tls_cluster);
        if saved.flags.has(NodeFlags::ROLE) {
            self.table.set_role(key, saved.flags.has(NodeFlags::PRIMARY));
        }
    }

    /// Once all nodes are there: primaries, slots.
    fn restore_relations(&mut self, saved: &SavedNode, now: Moment) {
        let Some(key) = self.table.find(&saved.id) else { return };
        if let Some(primary) = saved.primary.filter(|&primary| primary != saved.id) {
            let shard = self.table[key].shard;
            let primary = self.known_or_unreachable(primary, shard, now);
            self.table.set_primary(key, primary);
        }
        if self.table[key].is_primary() {
            self.table[key].config_epoch = saved.config_epoch;
        }
        saved.slots.iter().for_each(|slot| self.table.assign(slot, key));
        if key != self.myself {
            return;
        }
        for &(slot, to) in &saved.migrating {
            let shard = NodeId::random(&mut self.rng);
            let to = self.known_or_unreachable(to, shard, now);
            self.open.migrating.extend(to.map(|to| (slot, to)));
        }
        for &(slot, from) in &saved.importing {
            let shard = NodeId::random(&mut self.rng);
            let from = self.known_or_unreachable(from, shard, now);
            self.open.importing.extend(from.map(|from| (slot, from)));
        }
    }

    /// A node that a line names: one that has no line itself is there without an address.
    fn known_or_unreachable(&mut self, id: NodeId, shard: NodeId, now: Moment) -> Option<NodeKey> {
        self.table.find(&id).or_else(|| {
            let flags = NodeFlags::PRIMARY | NodeFlags::NOADDR;
            self.table.insert(Node::new(id, shard, flags, now.mono_ms))
        })
    }

    /// This node.
    pub fn me(&self) -> &Node {
        &self.table[self.myself]
    }

    pub(crate) fn me_mut(&mut self) -> &mut Node {
        &mut self.table[self.myself]
    }

    /// All nodes.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The options.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The highest epoch that is known.
    pub fn current_epoch(&self) -> u64 {
        self.current_epoch
    }

    /// The epoch of the last vote.
    pub fn last_vote_epoch(&self) -> u64 {
        self.last_vote_epoch
    }

    /// Whether the cluster is down, as this node sees it.
    pub fn is_down(&self) -> bool {
        self.health.is_down
    }

    /// Why this node does not seek the place of its primary, which has failed.
    pub fn hindrance(&self) -> Option<Hindrance> {
        self.hindrance
    }

    /// What has been counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Changes the options.
    pub fn configure(&mut self, settings: Settings) {
        let before = std::mem::replace(&mut self.settings, settings.bounded());
        if !before.address.ip.is_empty() && self.settings.address.ip.is_empty() {
            // The next packet tells by which address others reach this node.
            self.me_mut().address.ip = "".into();
        }
        self.announce_settings();
        self.outbox.changed();
    }

    fn announce_settings(&mut self) {
        let Settings { address, names, no_failover, .. } = self.settings.clone();
        let me = self.me_mut();
        let ip = if address.ip.is_empty() { std::mem::take(&mut me.address.ip) } else { address.ip.clone() };
        me.address = Address { ip, ..address };
        me.names = names;
        me.flags.set(NodeFlags::NOFAILOVER, no_failover);
    }

    /// What is to be done because of the inputs since this was last called, in the order in which it is to be done. To be called, and done,
    /// before the next input that the server's state depends on, and before the reply to a command.
    pub fn actions(&mut self, env: &Env<'_>) -> Vec<Action> {
        if std::mem::take(&mut self.outbox.must_judge) {
            self.judge(env);
        }
        let must_write = std::mem::take(&mut self.outbox.must_write);
        let must_save = std::mem::take(&mut self.outbox.must_save);
        let must_map = std::mem::take(&mut self.outbox.must_map);
        let must_flush = std::mem::take(&mut self.outbox.must_flush);
        let text = (must_save || must_write).then(|| self.saved_text(env.now));
        let role = self.take_role();
        let is_smaller = must_map && self.has_only_lost_slots() && role.is_none() && !must_flush;
        let map = must_map.then(|| Action::UseSlotMap(Arc::new(self.slot_map())));
        let mut actions = Vec::new();
        if must_save && is_smaller {
            // Clients may be waiting to be told where to go, and the disk takes its time. What they are told is no promise of this node.
            actions.extend(text.map(Action::Write).into_iter().chain(map).chain([Action::Sync]));
        } else {
            actions.extend(text.map(if must_save { Action::Save } else { Action::Write }));
            actions.extend(role);
            actions.extend(must_flush.then_some(Action::FlushAll));
            actions.extend(map);
        }
        actions.extend(self.take_dropped());
        actions.extend(self.outbox.take());
        actions
    }

    /// The text of `nodes.conf`.
    pub fn saved_text(&self, now: Moment) -> String {
        let variables = Variables {
            current_epoch: self.current_epoch,
            last_vote_epoch: self.last_vote_epoch,
            lineage: Some(&self.lineage).filter(|_| self.me().is_replica()),
        };
        config_file::print(&self.table, &self.open, &variables, self.settings.tls_cluster, now)
    }

    /// Whether this node has lost slots since the last map, and none has come to it.
    fn has_only_lost_slots(&self) -> bool {
        let slots = &self.me().slots;
        slots.len() < self.shown.len() && slots.iter().all(|slot| self.shown.contains(slot))
    }

    /// The change of role, if this node has to follow another node than the one that it follows, or none.
    fn take_role(&mut self) -> Option<Action> {
        let wanted = self.me().primary.map(|primary| &self.table[primary]);
        if wanted.is_some_and(|primary| primary.address.ip.is_empty()) {
            return None;
        }
        let wanted = wanted.map(|primary| (primary.id, primary.address.clone()));
        if wanted == self.following || (wanted.is_none() && self.me().is_replica()) {
            return None;
        }
        self.following = wanted.clone();
        Some(wanted.map_or(Action::Promote, |(id, address)| Action::BecomeReplicaOf {
            id,
            ip: address.ip,
            port: address.port,
            tls_port: address.tls_port,
        }))
    }

    /// The slots whose keys have to go. A replica drops what its primary drops.
    fn take_dropped(&mut self) -> Option<Action> {
        if self.outbox.dropped.is_empty() {
            return None;
        }
        let mut slots = std::mem::take(&mut self.outbox.dropped);
        for slot in self.me().slots.iter() {
            slots.remove(slot);
        }
        (!slots.is_empty() && self.me().is_primary()).then_some(Action::DropSlotKeys(slots))
    }

    /// A picture for those who serve clients. O(nodes + slots).
    fn slot_map(&mut self) -> SlotMap {
        self.versions += 1;
        self.shown = self.me().slots.clone();
        let known: Vec<(NodeKey, &Node)> =
            self.table.iter().filter(|(_, node)| !node.is_handshake()).collect();
        let places: HashMap<NodeKey, u16> =
            known.iter().enumerate().map(|(at, &(key, _))| (key, at as u16)).collect();
        let place = |key: Option<NodeKey>| key.and_then(|key| places.get(&key).copied());
        let nodes = known.iter().map(|(_, node)| MapNode {
            id: node.id,
            shard: node.shard,
            address: node.address.clone(),
            names: node.names.clone(),
            primary: place(node.primary),
            has_failed: node.has_failed(),
        });
        let mut owners = vec![NO_OWNER; usize::from(SLOTS)].into_boxed_slice();
        for &(key, node) in &known {
            let place = places[&key];
            for (start, end) in node.slots.ranges() {
                owners[usize::from(start)..=usize::from(end)].fill(place);
            }
        }
        let mut map = SlotMap::new(self.versions, nodes.collect(), places[&self.myself], owners);
        let places_of = |open: &std::collections::BTreeMap<u16, NodeKey>| {
            open.iter().filter_map(|(&slot, &other)| Some((slot, place(Some(other))?))).collect()
        };
        map.is_down = self.health.is_down;
        map.migrating = places_of(&self.open.migrating);
        map.importing = places_of(&self.open.importing);
        map.hidden = self.open.hidden.clone();
        map
    }

    /// Panics if the state contradicts itself. O(nodes + slots).
    pub fn check_invariants(&self) {
        self.table.check_invariants();
        assert!(self.me().is_myself() && !self.me().is_failing());
        assert!(self.me().config_epoch <= self.current_epoch, "an epoch of its own is known");
        assert!(self.last_vote_epoch <= self.current_epoch, "who votes knows the epoch");
        for (key, node) in self.table.iter() {
            assert_eq!(node.is_myself(), key == self.myself);
            for link in [node.outbound, node.inbound].into_iter().flatten() {
                assert!(self.links.get(link).is_some_and(|link| link.node == Some(key)), "{link:?}");
            }
        }
        let open = [&self.open.migrating, &self.open.importing];
        for &other in open.into_iter().flat_map(|open| open.values()) {
            assert!(other != self.myself && !self.table[other].is_myself());
        }
    }
}
