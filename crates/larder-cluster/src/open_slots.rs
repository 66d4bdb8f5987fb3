//! Slots that are on their way from one node to another: marked by CLUSTER SETSLOT, or on the way in by an atomic migration.

use crate::node_key::NodeKey;
use crate::slot_set::SlotSet;
use std::collections::BTreeMap;

/// The open slots of this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenSlots {
    /// Slots of this node, and where they go.
    pub migrating: BTreeMap<u16, NodeKey>,
    /// Slots of others, and where they come from.
    pub importing: BTreeMap<u16, NodeKey>,
    /// Slots of which the keys come by an atomic migration: nobody sees the keys before the slots are this node's.
    pub hidden: SlotSet,
}

impl OpenSlots {
    /// Closes the slots that lead to a node or come from it; whether there were some.
    pub fn forget(&mut self, node: NodeKey) -> bool {
        let before = self.migrating.len() + self.importing.len();
        self.migrating.retain(|_, other| *other != node);
        self.importing.retain(|_, other| *other != node);
        before > self.migrating.len() + self.importing.len()
    }

    /// Closes a slot.
    pub fn close(&mut self, slot: u16) {
        self.migrating.remove(&slot);
        self.importing.remove(&slot);
    }
}
