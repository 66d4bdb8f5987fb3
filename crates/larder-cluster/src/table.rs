//! The nodes that are known, and who has which slot.
//!
//! Nodes lie in a slab, found by name with a hash table and by place in one step; each slot has the place of its owner, two bytes.
//! A node has its slots as a set, too: packets carry and compare whole sets.
//!
//! Cost: about 600 bytes a node, 2 KiB more for one with slots, 32 KiB for the owners. Everything is O(1) but the removal of a node,
//! which is O(nodes + slots).
//!
//! Invariants (`check_invariants`):
//! - T1: a slot is in the set of its owner and in no other.
//! - T2: the name of a node finds its place.
//! - T3: a node is in the list of replicas of its primary and in no other; a primary has no
//!   primary. Replicas are listed by name, so that all nodes show them in one order.
//! - T4: `voters` is the number of primaries with slots.
//! - T5: owners, primaries, replicas and reporters are nodes of the table.
//! - T6: a replica is of its primary's shard. Nodes of Redis 7.0 do not say which that is, and the
//!   others choose each a name for it.
//!
//! Tested by the simulation (`tests/simulation`), which checks them after every step, and below.

use crate::id::NodeId;
use crate::node::Node;
use crate::node_key::NodeKey;
use crate::packet::NodeFlags;
use crate::slot_set::{SLOTS, SlotSet};
use std::collections::HashMap;

/// Nodes that are taken in, at most.
pub const NODES_MAX: usize = 60_000;

const NOBODY: u16 = u16::MAX;

/// Nodes and slots.
#[derive(Clone, Debug)]
pub struct Table {
    nodes: Vec<Option<Node>>,
    free: Vec<NodeKey>,
    by_id: HashMap<NodeId, NodeKey>,
    owners: Box<[u16]>,
    assigned: u16,
    voters: usize,
}

impl Default for Table {
    fn default() -> Self {
        let owners = vec![NOBODY; usize::from(SLOTS)].into_boxed_slice();
        Table { nodes: Vec::new(), free: Vec::new(), by_id: HashMap::new(), owners, assigned: 0, voters: 0 }
    }
}

impl Table {
    /// Adds a node without slots and primary; `None` if its name is there already, or if there are too many.
    pub fn insert(&mut self, node: Node) -> Option<NodeKey> {
        assert!(node.slots.is_empty() && node.primary.is_none() && node.replicas.is_empty());
        if self.by_id.contains_key(&node.id) || self.len() >= NODES_MAX {
            return None;
        }
        let id = node.id;
        let key = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            NodeKey(u16::try_from(self.nodes.len() - 1).expect("there are fewer than 65,536 nodes"))
        });
        self.nodes[usize::from(key.0)] = Some(node);
        self.by_id.insert(id, key);
        Some(key)
    }

    /// Removes a node: its slots have no owner, its replicas no primary, its reports are forgotten.
    pub fn remove(&mut self, key: NodeKey) -> Node {
        self.unassign_all(key);
        self.set_primary(key, None);
        for replica in std::mem::take(&mut self[key].replicas) {
            self[replica].primary = None;
        }
        for node in self.nodes.iter_mut().flatten() {
            node.reports.remove(key);
        }
        let node = self.nodes[usize::from(key.0)].take().expect("the node is there");
        self.by_id.remove(&node.id);
        self.free.push(key);
        node
    }

    /// The node of a name.
    pub fn find(&self, id: &NodeId) -> Option<NodeKey> {
        self.by_id.get(id).copied()
    }

    /// Gives a node another name; false if another node has it.
    pub fn rename(&mut self, key: NodeKey, id: NodeId) -> bool {
        if self.by_id.get(&id).is_some_and(|&other| other != key) {
            return false;
        }
        let old = std::mem::replace(&mut self[key].id, id);
        self.by_id.remove(&old);
        self.by_id.insert(id, key);
        if let Some(primary) = self[key].primary {
            self.list_replica(key, primary);
        }
        true
    }

    /// Number of nodes, this one and those whose names are not known among them.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The nodes.
    pub fn iter(&self) -> impl Iterator<Item = (NodeKey, &Node)> {
        self.nodes.iter().enumerate().filter_map(|(at, node)| Some((NodeKey(at as u16), node.as_ref()?)))
    }

    /// The places of the nodes.
    pub fn keys(&self) -> Vec<NodeKey> {
        self.iter().map(|(key, _)| key).collect()
    }

    /// A node chosen at random, each equally often. O(1) while few have been removed.
    pub fn choose(&self, rng: &mut fastrand::Rng) -> Option<NodeKey> {
        if self.is_empty() {
            return None;
        }
        loop {
            let at = rng.usize(..self.nodes.len());
            if self.nodes[at].is_some() {
                return Some(NodeKey(at as u16));
            }
        }
    }

    /// Number of primaries with slots.
    pub fn voters(&self) -> usize {
        self.voters
    }

    /// The number of votes that decide.
    pub fn majority(&self) -> usize {
        self.voters / 2 + 1
    }

    /// Who has a slot.
    pub fn owner(&self, slot: u16) -> Option<NodeKey> {
        let owner = self.owners[usize::from(slot)];
        (owner != NOBODY).then_some(NodeKey(owner))
    }

    /// Number of slots that have an owner.
    pub fn assigned(&self) -> u16 {
        self.assigned
    }

    /// Gives a slot to a node, and takes it from the one that has it.
    pub fn assign(&mut self, slot: u16, key: NodeKey) {
        self.unassign(slot);
        self.owners[usize::from(slot)] = key.0;
        self.assigned += 1;
        self.changing_votes(key, |node| {
            node.slots.insert(slot);
        });
    }

    /// Takes a slot from its owner, who is returned.
    pub fn unassign(&mut self, slot: u16) -> Option<NodeKey> {
        let key = self.owner(slot)?;
        self.owners[usize::from(slot)] = NOBODY;
        self.assigned -= 1;
        self.changing_votes(key, |node| {
            node.slots.remove(slot);
        });
        Some(key)
    }

    /// Takes all slots of a node.
    pub fn unassign_all(&mut self, key: NodeKey) -> SlotSet {
        let slots = self[key].slots.clone();
        for slot in slots.iter() {
            self.unassign(slot);
        }
        slots
    }

    /// Makes a node a primary, or a replica. The lists of replicas and its slots are left as they are.
    pub fn set_role(&mut self, key: NodeKey, is_primary: bool) {
        self.changing_votes(key, |node| {
            node.flags.set(NodeFlags::PRIMARY, is_primary);
            node.flags.set(NodeFlags::REPLICA, !is_primary);
        });
    }

    /// Changes whose replica a node is. A node that gets a replica is one that others may move to.
    pub fn set_primary(&mut self, key: NodeKey, primary: Option<NodeKey>) {
        assert!(primary != Some(key), "no node is its own replica");
        if let Some(old) = self[key].primary {
            self[old].replicas.retain(|&replica| replica != key);
            let is_left = self[old].replicas.is_empty();
            self[old].flags.set(NodeFlags::MIGRATE_TO, !is_left);
        }
        self[key].primary = primary;
        if let Some(primary) = primary {
            self.list_replica(key, primary);
            self[primary].flags.set(NodeFlags::MIGRATE_TO, true);
            self.set_shard(key, self[primary].shard);
        }
    }

    /// Puts a replica into the list of its primary, at its place.
    fn list_replica(&mut self, key: NodeKey, primary: NodeKey) {
        let mut replicas = std::mem::take(&mut self[primary].replicas);
        replicas.retain(|&replica| replica != key);
        let at = replicas.partition_point(|&replica| self[replica].id < self[key].id);
        replicas.insert(at, key);
        self[primary].replicas = replicas;
    }

    /// Changes the shard of a node, that of its replicas, and of theirs.
    pub fn set_shard(&mut self, key: NodeKey, shard: NodeId) {
        let mut others = vec![key];
        while let Some(key) = others.pop() {
            // A node that lies may make two nodes each other's replicas.
            if std::mem::replace(&mut self[key].shard, shard) != shard {
                others.extend_from_slice(&self[key].replicas);
            }
        }
    }

    /// Forgets what was reported of all.
    pub fn clear_reports(&mut self) {
        self.nodes.iter_mut().flatten().for_each(|node| node.reports.clear());
    }

    fn changing_votes(&mut self, key: NodeKey, change: impl FnOnce(&mut Node)) {
        let node = &mut self[key];
        let before = node.votes();
        change(node);
        match (before, node.votes()) {
            (false, true) => self.voters += 1,
            (true, false) => self.voters -= 1,
            _ => (),
        }
    }

    /// Panics if an invariant does not hold. O(nodes + slots).
    pub fn check_invariants(&self) {
        let mut assigned = 0;
        for slot in 0..SLOTS {
            if let Some(owner) = self.owner(slot) {
                assert!(self[owner].slots.contains(slot), "T1: slot {slot}");
                assigned += 1;
            }
        }
        let in_sets: u32 = self.iter().map(|(_, node)| u32::from(node.slots.len())).sum();
        assert_eq!((u32::from(assigned), assigned), (in_sets, self.assigned), "T1: the numbers");
        for (key, node) in self.iter() {
            assert_eq!(self.find(&node.id), Some(key), "T2");
            for &replica in &node.replicas {
                assert_eq!(self[replica].primary, Some(key), "T3: {replica:?} of {key:?}");
                assert_eq!(self[replica].shard, node.shard, "T6: {replica:?} of {key:?}");
            }
            assert!(node.replicas.is_sorted_by_key(|&replica| self[replica].id), "T3: the order");
            if let Some(primary) = node.primary {
                let times = self[primary].replicas.iter().filter(|&&replica| replica == key).count();
                assert!(times == 1 && !node.is_primary(), "T3: {key:?}");
            }
            assert!(node.reports.iter().all(|(by, _)| self.nodes[usize::from(by.0)].is_some()), "T5");
        }
        assert_eq!(self.by_id.len(), self.iter().count(), "T2");
        assert_eq!(self.voters, self.iter().filter(|(_, node)| node.votes()).count(), "T4");
    }
}

impl std::ops::Index<NodeKey> for Table {
    type Output = Node;

    fn index(&self, key: NodeKey) -> &Node {
        self.nodes[usize::from(key.0)].as_ref().expect("a key is that of a node")
    }
}

impl std::ops::IndexMut<NodeKey> for Table {
    fn index_mut(&mut self, key: NodeKey) -> &mut Node {
        self.nodes[usize::from(key.0)].as_mut().expect("a key is that of a node")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_its_invariants() {
        for seed in larder_testkit::seeds(20, 1000) {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut table = Table::default();
            for _ in 0..300 {
                step(&mut table, &mut rng);
                table.check_invariants();
            }
        }
    }

    fn step(table: &mut Table, rng: &mut fastrand::Rng) {
        let (Some(key), Some(other)) = (table.choose(rng), table.choose(rng)) else {
            let id = NodeId::random(rng);
            table.insert(Node::new(id, id, NodeFlags::PRIMARY, 0));
            return;
        };
        match rng.u8(..11) {
            0 | 1 => {
                let id = NodeId::random(rng);
                assert!(table.insert(Node::new(id, id, NodeFlags::PRIMARY, 0)).is_some());
                assert!(table.insert(Node::new(id, id, NodeFlags::PRIMARY, 0)).is_none());
            }
            2 => drop(table.remove(key)),
            3 | 4 => (0..20).for_each(|_| table.assign(rng.u16(..50), key)),
            5 => drop(table.unassign(rng.u16(..50))),
            6 if key != other => {
                table.unassign_all(key);
                table.set_role(key, false);
                table.set_primary(key, Some(other));
            }
            7 => {
                table.set_primary(key, None);
                table.set_role(key, true);
            }
            8 => assert!(table.rename(key, NodeId::random(rng))),
            9 if table[key].primary.is_none() => table.set_shard(key, NodeId::random(rng)),
            _ => drop(table[key].reports.add(other, rng.u64(..))),
        }
    }
}
