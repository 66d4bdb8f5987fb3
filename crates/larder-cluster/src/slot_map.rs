//! What those who serve clients know of the cluster: an immutable picture, shared by all threads.
//!
//! One of 34 KiB and some 200 bytes a node is made when something that clients see has changed. Two are compared by their versions.
//! Finding the owner of a slot is two loads.

use crate::id::NodeId;
use crate::node::{Address, Names};
use crate::open_slots::write_entry;
use crate::slot_set::{SLOTS, SlotSet};
use std::collections::BTreeMap;

/// A node, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapNode {
    /// Its name.
    pub id: NodeId,
    /// The name of its shard.
    pub shard: NodeId,
    /// Where it is reached.
    pub address: Address,
    /// What it announces, addresses and ports for clients among it.
    pub names: Names,
    /// The place of its primary in [`SlotMap::nodes`], if it is a replica.
    pub primary: Option<u16>,
    /// Whether a majority found it failed.
    pub has_failed: bool,
}

/// Who has which slot, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotMap {
    /// Grows with each map.
    pub version: u64,
    /// Whether the cluster is down: clients get errors.
    pub is_down: bool,
    /// The place of this node in `nodes`.
    pub myself: u16,
    /// The nodes whose names are known.
    pub nodes: Vec<MapNode>,
    /// Slots of this node on the way out, and the places of the nodes where they go.
    pub migrating: BTreeMap<u16, u16>,
    /// Slots on the way in, and the places of the nodes that they come from.
    pub importing: BTreeMap<u16, u16>,
    /// Slots whose keys are here and not to be seen yet.
    pub hidden: SlotSet,
    owners: Box<[u16]>,
}

/// Stands for no owner.
pub(crate) const NO_OWNER: u16 = u16::MAX;

impl SlotMap {
    /// A map without open slots. An owner for each slot, by its place in `nodes`, or [`NO_OWNER`].
    pub(crate) fn new(version: u64, nodes: Vec<MapNode>, myself: u16, owners: Box<[u16]>) -> Self {
        assert_eq!(owners.len(), usize::from(SLOTS));
        SlotMap {
            version,
            is_down: true,
            myself,
            nodes,
            migrating: BTreeMap::new(),
            importing: BTreeMap::new(),
            hidden: SlotSet::new(),
            owners,
        }
    }

    /// The place of the node that has a slot. O(1).
    pub fn owner_at(&self, slot: u16) -> Option<u16> {
        self.owners.get(usize::from(slot)).copied().filter(|&owner| owner != NO_OWNER)
    }

    /// The node that has a slot. O(1).
    pub fn owner(&self, slot: u16) -> Option<&MapNode> {
        self.owner_at(slot).map(|at| &self.nodes[usize::from(at)])
    }

    /// This node.
    pub fn me(&self) -> &MapNode {
        &self.nodes[usize::from(self.myself)]
    }

    /// Whether a slot is this node's.
    pub fn is_mine(&self, slot: u16) -> bool {
        self.owner_at(slot) == Some(self.myself)
    }

    /// Whether all commands on keys of a slot are executed here: it is this node's, no slot is open, and the cluster is well. O(1).
    #[inline]
    pub fn serves_plainly(&self, slot: u16) -> bool {
        !self.is_down && self.is_mine(slot) && self.migrating.is_empty() && self.importing.is_empty()
    }

    /// Returns what a snapshot for a replica says of open slots (`cluster-slot-states`); `None` if
    /// there are none.
    pub fn open_slots_text(&self) -> Option<String> {
        let mut text = String::new();
        for (open, is_import) in [(&self.importing, true), (&self.migrating, false)] {
            for (&slot, &other) in open {
                write_entry(&mut text, slot, is_import, self.nodes[usize::from(other)].id);
            }
        }
        Some(text).filter(|text| !text.is_empty())
    }

    /// Whether a slot is that of this node's primary.
    pub fn is_my_primarys(&self, slot: u16) -> bool {
        self.owner_at(slot).is_some() && self.owner_at(slot) == self.me().primary
    }
}
