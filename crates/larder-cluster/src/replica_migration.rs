//! Replicas that move: a primary that has lost its last one gets one of a primary that can spare it.

use crate::cluster::Cluster;
use crate::facts::Env;
use crate::node_key::NodeKey;
use crate::packet::NodeFlags;

/// How long a primary has been without a good replica before one moves, in ms.
const ORPHANED_MS: u64 = 5000;

/// A primary must have this many good replicas for one of them to move, whatever the barrier.
const REPLICAS_MIN: usize = 2;

impl Cluster {
    /// Moves this replica, if it is the one that should.
    pub(crate) fn migrate_replica(&mut self, env: &Env<'_>) {
        self.note_orphans(env);
        let Some(primary) = self.me().primary.filter(|_| self.settings.allow_replica_migration) else {
            return;
        };
        let mine = self.good_replicas(primary);
        if self.health.is_down || mine < REPLICAS_MIN || mine <= self.settings.migration_barrier {
            return;
        }
        let orphan = self
            .table
            .iter()
            .find(|(_, node)| node.orphaned_since.is_some_and(|since| env.now.since(since) > ORPHANED_MS));
        let Some((orphan, _)) = orphan else { return };
        if self.is_chosen(mine) {
            self.become_replica_of(orphan, env);
        }
    }

    fn note_orphans(&mut self, env: &Env<'_>) {
        for key in self.table.keys() {
            let node = &self.table[key];
            let is_orphaned = node.votes()
                && node.flags.has(NodeFlags::MIGRATE_TO)
                && !node.is_failing()
                && self.good_replicas(key) == 0;
            let node = &mut self.table[key];
            node.orphaned_since = is_orphaned.then(|| node.orphaned_since.unwrap_or(env.ms()));
        }
    }

    fn good_replicas(&self, primary: NodeKey) -> usize {
        self.table[primary].replicas.iter().filter(|&&replica| !self.table[replica].is_failing()).count()
    }

    /// Whether this node has the smallest name of the good replicas of the primaries that have the most.
    fn is_chosen(&self, mine: usize) -> bool {
        let me = self.me();
        self.table.iter().filter(|(_, node)| node.is_replica() && !node.is_failing()).all(|(_, node)| {
            let its = node.primary.map_or(0, |primary| self.good_replicas(primary));
            its < mine || (its == mine && me.id <= node.id)
        })
    }
}
