//! Connections between simulated nodes: each keeps the order of what is sent, is delayed, can stall and can break.

use fastrand::Rng;
use larder_cluster::LinkId;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The greatest delay, in ms, with which a network is a good one.
const CALM_DELAY_MAX: u64 = 10;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub node: usize,
    /// Which life of the node: a node that has been restarted knows nothing of the links before.
    pub life: u32,
    pub link: LinkId,
}

/// A connection, from the one who dialled to the other.
pub struct Connection {
    pub ends: [End; 2],
    /// What is on the way to the end of this index, and when it is there at the earliest.
    pub on_the_way: [VecDeque<(u64, Arc<[u8]>)>; 2],
}

#[derive(Default)]
pub struct Network {
    pub connections: HashMap<u64, Connection>,
    by_end: HashMap<(usize, u32, LinkId), (u64, usize)>,
    made: u64,
    /// Which side of a partition a node is on; all on one: there is none.
    pub sides: Vec<u8>,
    /// Nodes that nobody reaches.
    pub isolated: Vec<bool>,
    /// Greatest delay of a packet, in ms.
    pub delay_max: u64,
    /// When it last kept nodes from each other.
    pub troubled_at: u64,
}

impl Network {
    pub fn new(nodes: usize) -> Self {
        let (sides, isolated) = (vec![0; nodes], vec![false; nodes]);
        Network { sides, isolated, delay_max: 3, ..Default::default() }
    }

    pub fn delay(&self, rng: &mut Rng) -> u64 {
        1 + rng.u64(..self.delay_max)
    }

    pub fn is_cut(&self, a: usize, b: usize) -> bool {
        a != b && (self.sides[a] != self.sides[b] || self.isolated[a] || self.isolated[b])
    }

    /// Notes the time if nodes are kept from each other now, or hear each other late.
    pub fn note_trouble(&mut self, now: u64) {
        let is_split = self.sides.iter().any(|&side| side != self.sides[0]);
        if is_split || self.isolated.contains(&true) || self.delay_max > CALM_DELAY_MAX {
            self.troubled_at = now;
        }
    }

    pub fn heal(&mut self) {
        self.sides.fill(0);
        self.isolated.fill(false);
        self.delay_max = 3;
    }

    pub fn connect(&mut self, ends: [End; 2]) -> u64 {
        self.made += 1;
        for (at, end) in ends.iter().enumerate() {
            self.by_end.insert((end.node, end.life, end.link), (self.made, at));
        }
        self.connections.insert(self.made, Connection { ends, on_the_way: Default::default() });
        self.made
    }

    /// The connection of a link and which end of it that is.
    pub fn find(&self, node: usize, life: u32, link: LinkId) -> Option<(u64, usize)> {
        self.by_end.get(&(node, life, link)).copied()
    }

    pub fn disconnect(&mut self, connection: u64) -> Option<Connection> {
        let gone = self.connections.remove(&connection)?;
        for end in gone.ends {
            self.by_end.remove(&(end.node, end.life, end.link));
        }
        Some(gone)
    }

    /// The connections of a node, or of all, in an order that does not depend on the hash.
    pub fn of(&self, node: Option<usize>) -> Vec<u64> {
        let is_its = |connection: &Connection| {
            node.is_none_or(|node| connection.ends.iter().any(|end| end.node == node))
        };
        let mut found: Vec<u64> =
            self.connections.iter().filter(|(_, connection)| is_its(connection)).map(|(&id, _)| id).collect();
        found.sort_unstable();
        found
    }
}
