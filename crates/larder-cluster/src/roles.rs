//! Changes of role: of this node, and of others.

use crate::cluster::Cluster;
use crate::facts::Env;
use crate::node::Node;
use crate::node_key::NodeKey;
use crate::packet::NodeFlags;
use crate::standing::{Lineage, Standing};

impl Cluster {
    /// Follows the node that took the last slot of this node, or of its primary.
    pub(crate) fn follow_the_winner(&mut self, winner: NodeKey, head: NodeKey, env: &Env<'_>) {
        if self.is_of_shard(winner) || self.settings.allow_replica_migration {
            self.become_replica_of(winner, env);
        } else if head == self.myself {
            self.outbox.changed();
        }
    }

    /// Makes a replica of a replica follow the primary at the top.
    pub(crate) fn climb_the_chain(&mut self, env: &Env<'_>) {
        let Some(primary) = self.me().primary else { return };
        if let Some(top) = self.table[primary].primary.filter(|&top| top != self.myself) {
            self.become_replica_of(top, env);
        }
    }

    /// Whether a node is of this node's shard.
    pub(crate) fn is_of_shard(&self, node: NodeKey) -> bool {
        self.table[node].shard == self.me().shard
    }

    /// Makes this node a replica, or that of another primary. Its slots, if it has some, have no
    /// owner then.
    ///
    /// Slots that it moves stay open if it was this shard's primary, or is told of the next one:
    /// another failover may make it one again.
    pub(crate) fn become_replica_of(&mut self, primary: NodeKey, env: &Env<'_>) {
        assert!(primary != self.myself);
        let me = self.myself;
        self.lineage = self.lineage_under(primary, env);
        if !self.is_of_shard(primary) {
            self.open.close_all();
        }
        self.table.unassign_all(me);
        self.table.set_role(me, false);
        self.table[me].flags.set(NodeFlags::MIGRATE_TO, false);
        self.table.set_primary(me, Some(primary));
        self.end_manual_failover();
        self.outbox.changed();
    }

    /// Returns the lineage of this node's data under another primary: it continues if that is of
    /// the same shard.
    fn lineage_under(&self, primary: NodeKey, env: &Env<'_>) -> Lineage {
        if self.me().primary == Some(primary) {
            return self.lineage;
        }
        if !self.is_of_shard(primary) {
            return Lineage::NOTHING;
        }
        Lineage::succeeded(self.claimed_offset(env), &env.facts.place(), self.table[primary].replica_offset)
    }

    /// Makes this node a primary without slots.
    pub(crate) fn become_primary(&mut self) {
        let me = self.myself;
        self.table.set_primary(me, None);
        self.table.set_role(me, true);
        self.outbox.changed();
    }

    /// Another node says that it is no primary any more. Its slots go to the primary that took its
    /// place, if that is of its shard, and so do those that are on their way to it or from it.
    pub(crate) fn demote(&mut self, node: NodeKey, primary: Option<NodeKey>, config_epoch: u64) {
        let slots = self.table.unassign_all(node);
        self.table.set_role(node, false);
        self.table[node].flags.set(NodeFlags::MIGRATE_TO, false);
        let heir = primary
            .filter(|&primary| primary != self.myself && self.table[primary].shard == self.table[node].shard);
        if let Some(heir) = heir {
            self.open.move_to(node, heir);
        }
        if let Some(heir) = heir.filter(|_| !slots.is_empty()) {
            self.table.set_primary(heir, None);
            self.table.set_role(heir, true);
            slots.iter().for_each(|slot| self.table.assign(slot, heir));
            let heir = &mut self.table[heir];
            heir.config_epoch = heir.config_epoch.max(config_epoch);
        }
        self.outbox.changed();
    }

    /// Notes whether this replica is in step with its primary. To be called when its link may have
    /// changed, and before a tick.
    pub fn note_link(&mut self, env: &Env<'_>) {
        let Some(primary) = self.me().primary else { return };
        let link = env.facts.primary_link();
        if !link.is_up || link.node != Some(self.table[primary].id) {
            return;
        }
        let lineage = Lineage::in_step(&env.facts.place(), self.table[primary].config_epoch);
        if lineage != self.lineage {
            self.lineage = lineage;
            self.outbox.notice();
        }
    }

    /// Returns what this replica may claim of the stream of its primary.
    pub(crate) fn standing(&self, primary: NodeKey, env: &Env<'_>) -> Standing {
        let Node { id, config_epoch, .. } = self.table[primary];
        Standing::of(&self.lineage, &env.facts.place(), &env.facts.primary_link(), (id, config_epoch))
    }

    /// Returns the offset that this node tells others: the end of a primary's stream, or what a
    /// replica may claim of its primary's.
    pub(crate) fn claimed_offset(&self, env: &Env<'_>) -> u64 {
        match self.me().primary {
            None => env.facts.place().offset,
            Some(primary) => self.standing(primary, env).offset,
        }
    }
}
