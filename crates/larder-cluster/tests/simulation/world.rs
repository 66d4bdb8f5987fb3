//! Nodes in one process: their inputs in the order of a simulated time, and what they do.

use crate::laws::Laws;
use crate::network::{End, Network};
use crate::replication::Server;
use fastrand::Rng;
use larder_cluster::{
    Action, Cluster, Env, LinkId, Moment, NodeId, Origin, Reply, Settings, SlotMap, TICK_MS, parse_nodes_conf,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The wall clock of all nodes at the beginning, in ms.
const WALL_BEGIN: u64 = 1_800_000_000_000;
/// How long dialling a node takes that does not answer, in ms.
const DIAL_TIMEOUT: u64 = 4000;
/// How often replicas get what their primaries have, in ms.
const REPLICATION_MS: u64 = 50;

pub struct SimNode {
    /// `None` while it is down.
    pub cluster: Option<Cluster>,
    pub life: u32,
    pub server: Server,
    /// `nodes.conf`.
    pub saved: String,
    /// The same as the disk has it, when the machine is gone.
    pub synced: String,
    pub is_synced: bool,
    pub map: Option<Arc<SlotMap>>,
    /// By how much its wall clock is wrong, in ms.
    pub skew: i64,
    pub ip: String,
    pub is_acting: bool,
    pub settings: Settings,
    /// When it was started, or the network last kept it from another.
    pub troubled_at: u64,
    /// Whether an operator has it take its primary's place, whatever it has.
    pub is_forced: bool,
    /// Its name when it was last up.
    last_id: Option<NodeId>,
    /// The shard of which its server is.
    shard: Option<NodeId>,
}

enum Event {
    Act(usize, u32),
    Tick(usize, u32),
    Replicate,
    /// Something may have come to an end of a connection.
    Arrival(u64, usize),
    /// The dialled node may accept.
    Dialled {
        from: End,
        ip: Box<str>,
        port: u16,
    },
    Connected(End),
    Closed(End),
    WritesPaused(usize, u32),
    Restart(usize),
}

pub struct World {
    pub now: u64,
    pub nodes: Vec<SimNode>,
    pub network: Network,
    pub rng: Rng,
    pub laws: Laws,
    /// How many inputs there were.
    pub inputs: u64,
    /// How many times a replica took its primary's place.
    pub wins: u64,
    /// Whether what is not on the disk may be lost with a node.
    pub loses_machines: bool,
    /// A crash in the middle of actions: once in this many lists, if at all.
    pub crash_one_in: Option<u32>,
    /// The state is checked after one of this many inputs.
    pub check_one_in: u32,
    /// Slots of which an operator has told only their source that they have moved, and that source.
    pub told_sources: Vec<(u16, usize)>,
    /// For how long the inputs of a node are gathered before it acts, in ms, as an event loop does under load.
    pub gather_ms: u64,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    payloads: std::collections::HashMap<u64, Event>,
    scheduled: u64,
}

impl World {
    pub fn new(nodes: usize, seed: u64, node_timeout_ms: u64) -> Self {
        let mut world = World {
            now: 1000,
            nodes: Vec::new(),
            network: Network::new(nodes),
            rng: Rng::with_seed(seed),
            laws: Laws::default(),
            inputs: 0,
            wins: 0,
            loses_machines: false,
            crash_one_in: None,
            check_one_in: 50,
            told_sources: Vec::new(),
            gather_ms: 0,
            events: BinaryHeap::new(),
            payloads: Default::default(),
            scheduled: 0,
        };
        for node in 0..nodes {
            let mut settings = Settings::new(6000 + node as u16, 0, 16_000 + node as u16);
            settings.node_timeout_ms = node_timeout_ms;
            settings.replica_ping_period_ms = 1000;
            let server = Server::new(&mut world.rng);
            let fresh = SimNode {
                cluster: None,
                life: 0,
                server,
                saved: String::new(),
                synced: String::new(),
                is_synced: true,
                map: None,
                skew: 0,
                is_acting: false,
                ip: format!("10.0.{}.{}", node / 250, node % 250 + 1),
                settings,
                troubled_at: 0,
                is_forced: false,
                last_id: None,
                shard: None,
            };
            world.nodes.push(fresh);
            world.start(node);
        }
        world.schedule(REPLICATION_MS, Event::Replicate);
        world
    }

    fn schedule(&mut self, after: u64, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((self.now + after, self.scheduled)));
        self.payloads.insert(self.scheduled, event);
    }

    /// Starts a node with what it had saved.
    pub fn start(&mut self, at: usize) {
        let seed = self.rng.u64(..);
        let now = self.moment(at);
        let node = &mut self.nodes[at];
        assert!(node.cluster.is_none());
        node.life += 1;
        (node.is_acting, node.is_forced, node.troubled_at) = (false, false, self.now);
        node.server.following = None;
        node.server.now = self.now;
        let saved = parse_nodes_conf(node.saved.as_bytes()).expect("a node reads what it wrote");
        node.cluster = Some(Cluster::restore(&saved, node.settings.clone(), seed, now));
        let first = 1 + self.rng.u64(..TICK_MS);
        self.schedule(first, Event::Tick(at, self.nodes[at].life));
        let is_replica = self.cluster(at).me().is_replica();
        self.nodes[at].server.restart(is_replica, &mut self.rng);
        self.act(at);
    }

    /// Ends a node at once. Its connections are closed by its system, or die unnoticed when the machine is gone.
    pub fn crash(&mut self, at: usize) {
        if self.nodes[at].cluster.take().is_none() {
            return;
        }
        let troubled_at = self.network.troubled_at;
        if self.loses_machines && self.rng.bool() {
            self.nodes[at].saved = self.nodes[at].synced.clone();
        }
        for id in self.network.of(Some(at)) {
            self.break_connection(id);
        }
        // The others reach each other.
        self.network.troubled_at = troubled_at;
    }

    /// Gives a node another address, as a machine has after it was moved.
    pub fn move_node(&mut self, at: usize) {
        self.crash(at);
        let [x, y] = [self.rng.u8(..), self.rng.u8(1..)];
        self.nodes[at].ip = format!("10.{}.{x}.{y}", at % 200 + 1);
        self.start(at);
    }

    pub fn restart_after(&mut self, at: usize, after: u64) {
        self.schedule(after, Event::Restart(at));
    }

    /// Both ends learn that a connection is gone, sooner or later.
    pub fn break_connection(&mut self, id: u64) {
        let Some(gone) = self.network.disconnect(id) else { return };
        self.network.troubled_at = self.now;
        for end in gone.ends {
            let after = self.rng.u64(1..20);
            self.schedule(after, Event::Closed(end));
        }
    }

    pub fn moment(&self, at: usize) -> Moment {
        let wall = WALL_BEGIN + self.now;
        Moment { mono_ms: self.now, wall_ms: wall.saturating_add_signed(self.nodes[at].skew) }
    }

    pub fn is_up(&self, at: usize) -> bool {
        self.nodes[at].cluster.is_some()
    }

    pub fn cluster(&self, at: usize) -> &Cluster {
        self.nodes[at].cluster.as_ref().expect("the node is up")
    }

    pub fn id(&self, at: usize) -> NodeId {
        self.cluster(at).me().id
    }

    /// Who owns a slot, as a node sees it.
    pub fn owner_of(&self, at: usize, slot: u16) -> Option<NodeId> {
        let table = self.cluster(at).table();
        table.owner(slot).map(|owner| table[owner].id)
    }

    /// Gives a node an input, and does what it wants done.
    pub fn input<R>(&mut self, at: usize, input: impl FnOnce(&mut Cluster, &Env<'_>) -> R) -> Option<R> {
        let now = self.moment(at);
        let node = &mut self.nodes[at];
        node.server.now = self.now;
        let cluster = node.cluster.as_mut()?;
        self.inputs += 1;
        node.last_id = Some(cluster.me().id);
        let led_by = primary_of(cluster);
        let result = input(cluster, &Env { now, facts: &node.server });
        if self.rng.u32(..self.check_one_in) == 0 {
            cluster.check_invariants();
        }
        let has_won = cluster.me().is_primary() && !cluster.me().slots().is_empty();
        if let Some(primary) = led_by.filter(|_| has_won) {
            self.check_winner(at, primary);
        }
        if self.gather_ms == 0 {
            self.act(at);
        } else if !std::mem::replace(&mut self.nodes[at].is_acting, true) {
            let life = self.nodes[at].life;
            self.schedule(self.gather_ms, Event::Act(at, life));
        }
        Some(result)
    }

    /// A command of a client; its reply.
    pub fn command(&mut self, at: usize, line: &str) -> Result<Reply, String> {
        let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.nodes[at].is_forced |= ["FAILOVER FORCE", "FAILOVER TAKEOVER"].contains(&line);
        let result = self.input(at, |cluster, env| cluster.command(&args, Origin::Client, env));
        result.unwrap_or(Ok(Reply::Ok)).map_err(|error| error.to_string())
    }

    /// Like that, and it must succeed.
    pub fn must(&mut self, at: usize, line: &str) {
        if let Err(error) = self.command(at, line) {
            panic!("node {at}: {line}: {error}");
        }
    }

    fn act(&mut self, at: usize) {
        let now = self.moment(at);
        let node = &mut self.nodes[at];
        node.server.now = self.now;
        let Some(cluster) = node.cluster.as_mut() else { return };
        let actions = cluster.actions(&Env { now, facts: &node.server });
        let is_last = |rng: &mut Rng, one_in: u32| !actions.is_empty() && rng.u32(..one_in) == 0;
        let crash = self.crash_one_in.is_some_and(|one_in| is_last(&mut self.rng, one_in));
        let done = if crash { self.rng.usize(..actions.len()) } else { actions.len() };
        let mut is_map_new = false;
        for action in actions.into_iter().take(done) {
            is_map_new |= matches!(action, Action::UseSlotMap(_));
            self.perform(at, action);
        }
        if is_map_new && !crash {
            self.check_claims(at);
        }
        if crash {
            self.crash(at);
            let after = self.rng.u64(1..8000);
            self.restart_after(at, after);
        }
    }

    fn perform(&mut self, at: usize, action: Action) {
        let life = self.nodes[at].life;
        let node = &mut self.nodes[at];
        match action {
            Action::Save(text) => {
                self.laws.saved(at, &text);
                (node.saved, node.synced, node.is_synced) = (text.clone(), text, true);
            }
            Action::Write(text) => (node.saved, node.is_synced) = (text, false),
            Action::Sync => self.sync(at),
            Action::BecomeReplicaOf { id, .. } => {
                node.server.follow(id);
                node.is_forced = false;
                let shard = node.cluster.as_ref().map(|cluster| cluster.me().shard);
                if std::mem::replace(&mut node.shard, shard) != shard {
                    // It forgets what it had of the other shard, if it had that, also when it comes
                    // back.
                    node.server.synced_with = None;
                }
            }
            Action::Promote => {
                node.server.lead(&mut self.rng);
                node.shard = node.cluster.as_ref().map(|cluster| cluster.me().shard);
            }
            Action::FlushAll => node.server.flush(),
            Action::UseSlotMap(map) => {
                assert!(node.map.as_ref().is_none_or(|old| old.version != map.version) || map.version == 1);
                node.map = Some(map);
            }
            Action::DropSlotKeys(slots) => {
                for slot in slots.iter() {
                    node.server.keys.remove(slot);
                }
            }
            Action::PauseWrites => {
                node.server.is_paused = true;
                self.schedule(2, Event::WritesPaused(at, life));
            }
            Action::ResumeWrites => node.server.is_paused = false,
            Action::WaitForOffset(_) | Action::Deliver { .. } => (),
            Action::Dial { link, ip, port } => {
                let after = self.network.delay(&mut self.rng);
                let from = End { node: at, life, link };
                self.schedule(after, Event::Dialled { from, ip, port });
            }
            Action::Send { link, bytes } => {
                self.laws.said(at, &bytes);
                self.send(at, link, bytes);
            }
            Action::Close(link) => {
                if let Some((id, end)) = self.network.find(at, life, link)
                    && let Some(gone) = self.network.disconnect(id)
                {
                    let after = self.network.delay(&mut self.rng);
                    self.schedule(after, Event::Closed(gone.ends[1 - end]));
                }
            }
        }
    }

    /// What was written is on the disk from now on.
    fn sync(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        if !std::mem::replace(&mut node.is_synced, true) {
            node.synced.clone_from(&node.saved);
            self.laws.saved(at, &node.synced);
        }
    }

    fn send(&mut self, at: usize, link: LinkId, bytes: Arc<[u8]>) {
        let Some((id, end)) = self.network.find(at, self.nodes[at].life, link) else { return };
        let delay = self.network.delay(&mut self.rng);
        let connection = self.network.connections.get_mut(&id).expect("it was found");
        let queue = &mut connection.on_the_way[1 - end];
        let time = queue.back().map_or(0, |&(time, _)| time).max(self.now + delay);
        queue.push_back((time, bytes));
        self.schedule(time - self.now, Event::Arrival(id, 1 - end));
    }

    /// Lets time pass.
    pub fn run(&mut self, ms: u64) {
        let end = self.now + ms;
        while let Some(&Reverse((time, id))) = self.events.peek() {
            if time > end {
                break;
            }
            self.events.pop();
            self.now = time;
            let event = self.payloads.remove(&id).expect("an event has its payload");
            self.handle(event);
        }
        self.now = end;
    }

    fn is_alive(&self, at: usize, life: u32) -> bool {
        self.nodes[at].life == life && self.is_up(at)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Tick(at, life) if self.is_alive(at, life) => {
                self.sync(at);
                self.input(at, |cluster, env| cluster.tick(env));
                self.schedule(TICK_MS, Event::Tick(at, life));
            }
            Event::Act(at, life) if self.is_alive(at, life) => {
                self.nodes[at].is_acting = false;
                self.act(at);
            }
            Event::Replicate => {
                self.replicate();
                self.schedule(REPLICATION_MS, Event::Replicate);
            }
            Event::Arrival(id, end) => self.arrive(id, end),
            Event::Dialled { from, ip, port } => self.dialled(from, &ip, port),
            Event::Connected(end) if self.is_alive(end.node, end.life) => {
                self.input(end.node, |cluster, env| cluster.connected(end.link, env));
            }
            Event::Closed(end) if self.is_alive(end.node, end.life) => {
                self.input(end.node, |cluster, env| cluster.closed(end.link, env));
            }
            Event::WritesPaused(at, life) if self.is_alive(at, life) => {
                self.input(at, |cluster, env| cluster.writes_paused(env));
            }
            Event::Restart(at) if !self.is_up(at) => self.start(at),
            _ => (),
        }
    }

    fn arrive(&mut self, id: u64, end: usize) {
        let Some(connection) = self.network.connections.get_mut(&id) else { return };
        let Some(&(time, _)) = connection.on_the_way[end].front() else { return };
        let [a, b] = connection.ends.map(|end| end.node);
        let to = connection.ends[end];
        if self.network.is_cut(a, b) {
            // The packet is sent again later, in its place.
            let after = self.rng.u64(20..200);
            self.schedule(after, Event::Arrival(id, end));
            return;
        }
        if time > self.now {
            return;
        }
        let connection = self.network.connections.get_mut(&id).expect("it is there");
        let (_, bytes) = connection.on_the_way[end].pop_front().expect("it is there");
        let next = connection.on_the_way[end].front().map(|&(time, _)| time);
        if let Some(next) = next {
            self.schedule(next.saturating_sub(self.now), Event::Arrival(id, end));
        }
        if self.is_alive(to.node, to.life) {
            self.input(to.node, |cluster, env| cluster.receive(to.link, &bytes, env));
        }
    }

    fn dialled(&mut self, from: End, ip: &str, port: u16) {
        if !self.is_alive(from.node, from.life) {
            return;
        }
        let to = usize::from(port)
            .checked_sub(16_000)
            .filter(|&to| to < self.nodes.len() && self.nodes[to].ip == ip);
        let after = self.network.delay(&mut self.rng);
        match to {
            Some(to) if self.network.is_cut(from.node, to) => {
                self.schedule(DIAL_TIMEOUT, Event::Closed(from));
            }
            Some(to) if self.is_up(to) => {
                let (peer, local) = (self.nodes[from.node].ip.clone(), self.nodes[to].ip.clone());
                let link = self.input(to, |cluster, env| cluster.accepted(&peer, &local, env));
                let link = link.expect("the node is up");
                let end = End { node: to, life: self.nodes[to].life, link };
                self.network.connect([from, end]);
                self.schedule(after, Event::Connected(from));
            }
            _ => self.schedule(after, Event::Closed(from)),
        }
    }

    /// Primaries write; replicas that reach theirs go on with its stream.
    fn replicate(&mut self) {
        self.network.note_trouble(self.now);
        for at in 0..self.nodes.len() {
            if self.nodes[at].cluster.is_none() {
                continue;
            }
            self.nodes[at].server.now = self.now;
            match self.nodes[at].server.following {
                Some(id) => self.replicate_from(at, id),
                None if self.cluster(at).me().is_primary() && !self.nodes[at].server.is_paused => {
                    let bytes = self.rng.u64(..50);
                    self.nodes[at].server.write(bytes, &mut self.rng);
                }
                None => (),
            }
        }
    }

    fn replicate_from(&mut self, at: usize, id: NodeId) {
        let leads = |&other: &usize| self.is_up(other) && self.id(other) == id;
        let primary = (0..self.nodes.len()).find(leads).filter(|&primary| {
            !self.network.is_cut(at, primary) && self.nodes[primary].server.following.is_none()
        });
        let Some(primary) = primary else { return self.nodes[at].server.lose_link() };
        // It lags at times.
        if self.rng.u8(..5) > 0 {
            let primary = self.nodes[primary].server.clone();
            self.nodes[at].server.step(id, &primary, &mut self.rng);
            self.input(at, |cluster, env| {
                cluster.note_link(env);
                cluster.offset_reached(env);
            });
        }
    }

    /// L6, for a node that has just taken the place of a primary.
    fn check_winner(&mut self, at: usize, primary: NodeId) {
        self.wins += 1;
        let former = self.nodes.iter().find(|node| node.last_id == Some(primary)).expect("it was a node");
        let truth = Some((primary, former.server.reign));
        // One that was in step with the primary's former reign, and was away since, cannot know
        // better.
        let has_synced = self.nodes[at].server.synced_with.is_some_and(|(id, _)| id == primary);
        if std::mem::take(&mut self.nodes[at].is_forced) || has_synced {
            return;
        }
        let patience = 3 * self.nodes[at].settings.node_timeout_ms + 2000;
        let has_peace = |node: &SimNode| {
            self.now.saturating_sub(node.troubled_at.max(self.network.troubled_at)) > patience
        };
        if !has_peace(&self.nodes[at]) {
            return;
        }
        for other in (0..self.nodes.len()).filter(|&other| other != at && self.is_up(other)) {
            let node = &self.nodes[other];
            let is_sibling = primary_of(self.cluster(other)) == Some(primary);
            let has_synced = node.server.synced_with == truth;
            assert!(
                !(is_sibling && has_synced && has_peace(node)),
                "L6: node {at} takes the place of {primary:?}, and node {other} has its data\n{:?}\n{:?}\n{}\n{}",
                self.nodes[at].server,
                node.server,
                self.nodes[at].saved,
                node.saved
            );
        }
    }

    /// No other primary has one of this one's slots in its epoch.
    fn check_claims(&mut self, at: usize) {
        if !self.laws.epochs_are_unique || !self.is_up(at) || !self.cluster(at).me().is_primary() {
            return;
        }
        let me = self.cluster(at).me();
        for other in (0..self.nodes.len()).filter(|&other| other != at && self.is_up(other)) {
            let other = self.cluster(other).me();
            if other.is_primary() && other.config_epoch == me.config_epoch && !me.slots().is_empty() {
                let shared = me.slots().iter().find(|&slot| other.slots().contains(slot));
                assert_eq!(shared, None, "{} and {} in epoch {}", me.id, other.id, me.config_epoch);
            }
        }
    }
}

/// The node that a node follows.
pub fn primary_of(cluster: &Cluster) -> Option<NodeId> {
    cluster.me().primary().map(|primary| cluster.table()[primary].id)
}
