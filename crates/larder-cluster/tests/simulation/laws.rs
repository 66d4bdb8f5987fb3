//! What must never happen, whatever the network does.
//!
//! - L1: a node does not vote twice in an epoch.
//! - L2: a vote, an epoch that is begun, and the epoch of own slots are in `nodes.conf`, on the disk, before they are said.
//! - L3: no two primaries have one slot in the same epoch (checked by the world when a slot map is new).
//! - L4: what is saved can be read, and never goes back: neither the epoch of the last vote nor the highest epoch.
//! - L5: what is sent is a packet.
//! - L6: no replica that was not in step with its primary takes that one's place while a sibling is
//!   well that was (checked by the world with every input). Operators may have it otherwise (FORCE,
//!   TAKEOVER).

use larder_cluster::packet::{Message, NodeFlags, decode};
use larder_cluster::{NodeId, parse_nodes_conf};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, Default)]
struct Saved {
    current_epoch: u64,
    last_vote_epoch: u64,
    own_epoch: u64,
}

#[derive(Default)]
pub struct Laws {
    saved: HashMap<usize, Saved>,
    votes: HashMap<(NodeId, u64), ()>,
    /// Whether epochs are only begun with votes, or were different from the start: then L3 holds.
    pub epochs_are_unique: bool,
    /// Large simulations are not checked packet by packet.
    pub is_off: bool,
    /// A reset with HARD begins epochs from 0.
    pub may_go_back: bool,
    pub votes_seen: u64,
}

impl Laws {
    pub fn saved(&mut self, node: usize, text: &str) {
        if self.is_off {
            return;
        }
        let config = parse_nodes_conf(text.as_bytes()).expect("L4: what is saved can be read");
        let me = config
            .nodes
            .iter()
            .find(|node| node.flags.has(NodeFlags::MYSELF))
            .expect("L4: a node is in its file");
        let saved = Saved {
            current_epoch: config.current_epoch,
            last_vote_epoch: config.last_vote_epoch,
            own_epoch: if me.primary.is_none() { me.config_epoch } else { 0 },
        };
        let before = self.saved.get(&node).copied().unwrap_or_default();
        // What was said as a primary before the list of actions made it a replica was saved before.
        let saved = Saved { own_epoch: saved.own_epoch.max(before.own_epoch), ..saved };
        self.saved.insert(node, saved);
        if !self.may_go_back {
            assert!(saved.current_epoch >= before.current_epoch, "L4: {before:?} {saved:?}");
            assert!(saved.last_vote_epoch >= before.last_vote_epoch, "L4: {before:?} {saved:?}");
        }
    }

    pub fn said(&mut self, node: usize, bytes: &[u8]) {
        if self.is_off {
            return;
        }
        let packet = decode(bytes).expect("L5");
        let Some(header) = packet.header else { return };
        let saved = self.saved.get(&node).copied().unwrap_or_default();
        if header.primary.is_none() && !header.slots.to_set().is_empty() {
            assert!(
                header.config_epoch <= saved.own_epoch,
                "L2: {} claims {} {saved:?}",
                header.sender,
                header.config_epoch
            );
        }
        match packet.message {
            Message::AuthRequest => assert!(header.current_epoch <= saved.current_epoch, "L2: {saved:?}"),
            Message::AuthAck => {
                assert!(header.current_epoch <= saved.last_vote_epoch, "L2: {saved:?}");
                self.votes_seen += 1;
                let before = self.votes.insert((header.sender, header.current_epoch), ());
                assert!(before.is_none(), "L1: {} in epoch {}", header.sender, header.current_epoch);
            }
            _ => (),
        }
    }
}
