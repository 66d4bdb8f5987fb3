//! Slots that are on their way from one node to another: marked by CLUSTER SETSLOT, or on the way in by an atomic migration.
//!
//! A replica hears of SETSLOT by its primary's stream. Of what was open before, the snapshot says
//! it (`cluster-slot-states`): for each slot `<slot>><id>,` on the way out and `<slot><<id>,` on
//! the way in.

use crate::id::NodeId;
use crate::node_key::NodeKey;
use crate::slot_set::{SLOTS, SlotSet};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

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

    /// The nodes at the other ends.
    pub fn others(&self) -> impl Iterator<Item = NodeKey> {
        let all: BTreeSet<NodeKey> =
            self.migrating.values().chain(self.importing.values()).copied().collect();
        all.into_iter()
    }

    /// The slots that come from a node.
    pub fn imports_from(&self, node: NodeKey) -> impl Iterator<Item = u16> {
        self.importing.iter().filter(move |(_, from)| **from == node).map(|(&slot, _)| slot)
    }

    /// Puts another node, which took its place, at the other end of the slots that lead to a node or
    /// come from it.
    pub fn move_to(&mut self, node: NodeKey, other: NodeKey) {
        let ends = self.migrating.values_mut().chain(self.importing.values_mut());
        ends.filter(|end| **end == node).for_each(|end| *end = other);
    }

    /// Closes all slots that SETSLOT has opened.
    pub fn close_all(&mut self) {
        self.migrating.clear();
        self.importing.clear();
    }

    /// Closes a slot.
    pub fn close(&mut self, slot: u16) {
        self.migrating.remove(&slot);
        self.importing.remove(&slot);
    }
}

/// Appends an entry of `cluster-slot-states`.
pub(crate) fn write_entry(text: &mut String, slot: u16, is_import: bool, other: NodeId) {
    let way = if is_import { '<' } else { '>' };
    write!(text, "{slot}{way}{other},").expect("a string takes all");
}

/// Reads the entries of `cluster-slot-states`: the slot, whether it is on the way in, the other
/// node. What is no entry is left out.
pub(crate) fn entries(text: &[u8]) -> impl Iterator<Item = (u16, bool, NodeId)> {
    text.split(|&byte| byte == b',').filter_map(parse_entry)
}

fn parse_entry(entry: &[u8]) -> Option<(u16, bool, NodeId)> {
    let at = entry.iter().position(|byte| b"<>".contains(byte))?;
    let slot: u16 = std::str::from_utf8(&entry[..at]).ok()?.parse().ok()?;
    let other = NodeId::parse(&entry[at + 1..])?;
    (slot < SLOTS).then_some((slot, entry[at] == b'<', other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_slots_ways_and_nodes() {
        let id = "0123456789".repeat(4);
        let node = NodeId::parse(id.as_bytes()).expect("digits are a name");
        let parsed = |way: &str, slot: &str| parse_entry(format!("{slot}{way}{id}").as_bytes());
        assert_eq!(parsed("<", "9000"), Some((9000, true, node)));
        assert_eq!(parsed(">", "5"), Some((5, false, node)));
        for (way, slot) in [("=", "5"), (">", "16384"), (">", ""), (">", "x"), (">>", "5"), ("<", "70000")] {
            assert_eq!(parsed(way, slot), None, "{slot}{way}");
        }
    }
}
