//! Packets that no honest node sends: well formed, and with any content. The state machine must keep its invariants and its own file.

use fastrand::Rng;
use larder_cluster::packet::{
    Extensions, Gossip, Greeting, Header, Message, MessageFlags, NodeFlags, Slots, decode, encode,
    encode_greeting, encode_light,
};
use larder_cluster::{
    Action, Cluster, Env, Facts, HistoryId, LinkId, Moment, NodeId, Origin, Place, PrimaryLink, SLOTS,
    Settings, SlotSet, parse_nodes_conf,
};
use larder_testkit::mutate::damage;

struct Server;

impl Facts for Server {
    fn place(&self) -> Place {
        Place { history: HistoryId::parse(&[b'a'; 40]), former: None, offset: 7 }
    }

    fn primary_link(&self) -> PrimaryLink {
        PrimaryLink { node: None, is_up: false, silence_ms: Some(0) }
    }

    fn keys_in_slot(&self, slot: u16) -> u64 {
        u64::from(slot % 2)
    }

    fn has_keys(&self) -> bool {
        false
    }
}

/// A node, its links, and the names that packets may give.
struct Victim {
    cluster: Cluster,
    links: Vec<LinkId>,
    dialled: Vec<LinkId>,
    ids: Vec<NodeId>,
    time: Moment,
}

impl Victim {
    fn new(rng: &mut Rng) -> Self {
        let time = Moment { mono_ms: 1000, wall_ms: 1_800_000_000_000 };
        let mut settings = Settings::new(1, 0, 2);
        settings.node_timeout_ms = if rng.bool() { 1000 } else { u64::MAX };
        let cluster = Cluster::new(settings, rng.u64(..), time);
        let mut ids: Vec<NodeId> = (0..5).map(|_| NodeId::random(rng)).collect();
        ids.push(cluster.me().id);
        let mut victim = Victim { cluster, links: Vec::new(), dialled: Vec::new(), ids, time };
        victim.act();
        victim
    }

    fn input<R>(&mut self, input: impl FnOnce(&mut Cluster, &Env<'_>) -> R) -> R {
        let result = input(&mut self.cluster, &Env { now: self.time, facts: &Server });
        self.act();
        result
    }

    fn act(&mut self) {
        for action in self.cluster.actions(&Env { now: self.time, facts: &Server }) {
            match action {
                Action::Dial { link, .. } => self.dialled.push(link),
                Action::Close(link) => {
                    self.links.retain(|&other| other != link);
                    self.dialled.retain(|&other| other != link);
                }
                Action::Send { bytes, .. } => drop(decode(&bytes).expect("what is sent is a packet")),
                Action::Save(text) | Action::Write(text) => {
                    drop(parse_nodes_conf(text.as_bytes()).expect("it can be read"));
                }
                _ => (),
            }
        }
    }

    fn step(&mut self, rng: &mut Rng) {
        match rng.u8(..12) {
            0 => {
                let link = self.input(|cluster, env| cluster.accepted("10.9.9.9", "10.9.9.1", env));
                self.links.push(link);
            }
            1 if !self.dialled.is_empty() => {
                let link = self.dialled.swap_remove(rng.usize(..self.dialled.len()));
                self.input(|cluster, env| cluster.connected(link, env));
                self.links.push(link);
            }
            2 if !self.links.is_empty() => {
                let link = self.links.swap_remove(rng.usize(..self.links.len()));
                self.input(|cluster, env| cluster.closed(link, env));
            }
            3 => {
                self.time.mono_ms += rng.u64(..3000);
                self.time.wall_ms = rng.u64(1_000_000_000_000..2_000_000_000_000);
                self.input(|cluster, env| cluster.tick(env));
            }
            4 => self.command(rng),
            _ if !self.links.is_empty() => {
                let link = self.links[rng.usize(..self.links.len())];
                let bytes = self.packet(rng);
                self.input(|cluster, env| cluster.receive(link, &bytes, env));
            }
            _ => (),
        }
        self.cluster.check_invariants();
    }

    fn command(&mut self, rng: &mut Rng) {
        let (slot, id) = (rng.u16(..SLOTS), self.id(rng));
        let line = match rng.u8(..12) {
            0 => "MEET 10.0.0.1 7 8".to_owned(),
            1 => format!("ADDSLOTS {slot}"),
            2 => format!("FORGET {id}"),
            3 => format!("REPLICATE {id}"),
            4 => format!("SETSLOT {slot} NODE {id}"),
            5 => format!("SETSLOT {slot} IMPORTING {id}"),
            6 => format!("SETSLOT {slot} MIGRATING {id}"),
            7 => "BUMPEPOCH".to_owned(),
            8 => ["FAILOVER", "FAILOVER FORCE", "FAILOVER TAKEOVER"][rng.usize(..3)].to_owned(),
            9 if rng.u8(..10) == 0 => ["RESET", "RESET HARD"][rng.usize(..2)].to_owned(),
            10 => "ADDSLOTSRANGE 0 3000".to_owned(),
            _ => format!("DELSLOTS {slot}"),
        };
        let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let origin = if rng.bool() { Origin::Client } else { Origin::Primary };
        let _ = self.input(|cluster, env| cluster.command(&args, origin, env));
    }

    /// A name that may be somebody's: also one that a node has until its own is known, as CLUSTER NODES shows it.
    fn id(&self, rng: &mut Rng) -> NodeId {
        let table = self.cluster.table();
        match table.choose(rng).filter(|_| rng.u8(..4) == 0) {
            Some(key) => table[key].id,
            None => self.ids[rng.usize(..self.ids.len())],
        }
    }

    fn packet(&self, rng: &mut Rng) -> Vec<u8> {
        let (start, len) = (rng.u16(..SLOTS), rng.u16(..300));
        let slots: SlotSet = (start..SLOTS.min(start.saturating_add(len))).collect();
        let ips = ["", "10.0.0.1", "fe80::1", "host"];
        let header = Header {
            port: rng.u16(..),
            other_port: rng.u16(..),
            bus_port: rng.u16(..),
            current_epoch: epoch(rng),
            config_epoch: epoch(rng),
            offset: rng.u64(..),
            sender: self.id(rng),
            slots: Slots::Set(&slots),
            primary: rng.bool().then(|| self.id(rng)),
            ip: ips[rng.usize(..4)],
            flags: NodeFlags(rng.u16(..)),
            is_down: rng.bool(),
            message_flags: MessageFlags(rng.u8(..)),
        };
        let gossip: Vec<Gossip<'_>> = (0..rng.usize(..4))
            .map(|_| Gossip {
                id: self.id(rng),
                ping_sent: rng.u32(..),
                pong_received: rng.u32(..),
                ip: ips[rng.usize(..4)],
                port: rng.u16(..),
                bus_port: rng.u16(..),
                flags: NodeFlags(rng.u16(..)),
                other_port: rng.u16(..),
            })
            .collect();
        let forgotten = (0..rng.usize(..2)).map(|_| (self.id(rng), rng.u64(..))).collect();
        let extensions =
            Extensions { forgotten, shard: Some(self.id(rng)), hostname: "h", ..Default::default() };
        let greetings = [Greeting::Ping, Greeting::Pong, Greeting::Meet];
        let mut bytes = match rng.u8(..10) {
            0 => encode(&header, &Message::Fail(self.id(rng))),
            1 => encode(&header, &Message::AuthRequest),
            2 => encode(&header, &Message::AuthAck),
            3 => encode(&header, &Message::ManualFailoverStart),
            4 => {
                let (config_epoch, owner) = (epoch(rng), self.id(rng));
                encode(&header, &Message::Update { config_epoch, owner, slots: Slots::Set(&slots) })
            }
            5 => encode_light(b"channel", b"message", rng.bool()),
            _ => encode_greeting(&header, greetings[rng.usize(..3)], gossip.into_iter(), &extensions),
        };
        if rng.u8(..20) == 0 {
            damage(rng, &mut bytes, b"RCmb");
        }
        bytes
    }
}

fn epoch(rng: &mut Rng) -> u64 {
    match rng.u8(..40) {
        0 => u64::MAX,
        1 => u64::MAX - 1,
        _ => rng.u64(..20),
    }
}

#[test]
fn lies_do_no_harm() {
    let cases = if larder_testkit::full_run() { 20_000 } else { 250 };
    let mut known = 0;
    larder_testkit::fuzz::for_seeds(0, cases, |seed| {
        let mut rng = Rng::with_seed(seed);
        let mut victim = Victim::new(&mut rng);
        for _ in 0..300 {
            victim.step(&mut rng);
        }
        known = known.max(victim.cluster.table().len());
    });
    assert!(known > 4 || larder_testkit::given_seed().is_some(), "nobody was believed");
}
