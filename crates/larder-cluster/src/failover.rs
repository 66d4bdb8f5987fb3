//! Elections: a replica asks the voters for its primary's place.

use crate::cluster::Cluster;
use crate::election::{Election, Hindrance};
use crate::facts::Env;
use crate::id::NodeId;
use crate::manual::Manual;
use crate::node::Node;
use crate::node_key::NodeKey;
use crate::packet::{Header, Message, MessageFlags, NodeFlags};
use crate::settings::Settings;

/// Votes are waited for this many node timeouts, and this long in ms at least.
const VOTE_TIMEOUTS: u64 = 2;
const VOTE_MS_MIN: u64 = 2000;
/// What a replica waits that has nothing of the data, in ms.
const NO_DATA_MS: u64 = 500;
/// A replica waits this many times the delay for each sibling with more of the data.
const RANK_DELAYS: u64 = 2;

impl Cluster {
    /// Seeks this node's election, if its primary has failed or a manual failover is ready. Called with every tick and every vote.
    pub(crate) fn seek_election(&mut self, env: &Env<'_>) {
        let is_manual = matches!(self.manual, Some(Manual::Replica { is_ready: true, .. }));
        self.hindrance = None;
        let Some(primary) = self.electable(is_manual, env) else { return };
        let timeout = (VOTE_TIMEOUTS * self.settings.node_timeout_ms).max(VOTE_MS_MIN);
        let Some(time) = self.election.time.filter(|&time| env.now.since(time) <= 2 * timeout) else {
            self.plan_election(primary, is_manual, env);
            return;
        };
        if !self.election.is_requested && !is_manual {
            self.wait_for_better(primary, env);
            self.hindrance = self.better_sibling(primary, env).map(Hindrance::Sibling);
            if self.hindrance.is_some() {
                // Votes are asked for as soon as that one is no more in the way.
                self.election.time = Some(time.max(env.ms()));
                return;
            }
        }
        if self.election.time.is_some_and(|time| env.ms() < time) || env.now.since(time) > timeout {
            return;
        }
        if !self.election.is_requested {
            self.ask_for_votes(is_manual, env);
        } else if self.election.votes.len() >= self.table.majority() {
            self.win(env);
        }
    }

    /// The primary whose place this node may seek.
    fn electable(&mut self, is_manual: bool, env: &Env<'_>) -> Option<NodeKey> {
        let me = self.me();
        let primary = me.primary.filter(|_| me.is_replica())?;
        let may = is_manual || (self.table[primary].has_failed() && !self.settings.no_failover);
        if !may || self.table[primary].slots.is_empty() {
            return None;
        }
        if !is_manual && !self.is_data_young(primary, env) {
            self.hindrance = Some(Hindrance::OldData);
            return None;
        }
        Some(primary)
    }

    fn is_data_young(&self, primary: NodeKey, env: &Env<'_>) -> bool {
        let Settings { node_timeout_ms, replica_validity_factor, replica_ping_period_ms, .. } = self.settings;
        let age_max =
            replica_ping_period_ms.saturating_add(node_timeout_ms.saturating_mul(replica_validity_factor));
        let age = self.standing(primary, env).age_ms.map(|age| age.saturating_sub(node_timeout_ms));
        replica_validity_factor == 0 || age.is_some_and(|age| age <= age_max)
    }

    /// The sibling to which this replica leaves the election for now: since its start it has not
    /// been in step with the primary, and one that is well has more of the data, or has not said
    /// since the primary failed how much it has. A delay alone would be a race with that one, and
    /// one that may not be elected would have to give its data up.
    fn better_sibling(&self, primary: NodeKey, env: &Env<'_>) -> Option<NodeId> {
        let standing = self.standing(primary, env);
        let mine = (u64::MAX - standing.offset, self.me().id);
        let failed_at = self.table[primary].failed_at;
        let comes_first = |node: &Node| {
            let has_said = node.data_received > failed_at;
            !node.is_failing() && (!has_said || (u64::MAX - node.offset, node.id) < mine)
        };
        let is_certain = standing.has_synced && standing.age_ms.is_some();
        self.siblings(primary).filter(|_| !is_certain).find(|node| comes_first(node)).map(|node| node.id)
    }

    fn plan_election(&mut self, primary: NodeKey, is_manual: bool, env: &Env<'_>) {
        let delay = self.settings.election_delay_ms();
        let (siblings, failed) = (self.better_siblings(primary, env), self.failed_before(primary));
        let mut time = env.ms();
        let is_at_once = is_manual || (siblings + failed == 0 && self.all_siblings_agree(primary));
        if !is_at_once {
            time += delay + self.rng.u64(..=delay);
            time += (siblings * RANK_DELAYS + failed) * delay;
            time += if self.claimed_offset(env) == 0 { NO_DATA_MS } else { 0 };
        }
        let rank = siblings;
        self.election = Election { time: Some(time), is_requested: false, rank, epoch: 0, votes: Vec::new() };
        // The siblings learn how much of the data this node has.
        self.broadcast_pong(true, env);
        if is_manual {
            self.ask_for_votes(true, env);
        }
    }

    /// Waits longer, if there are more siblings by now that have more of the data.
    fn wait_for_better(&mut self, primary: NodeKey, env: &Env<'_>) {
        let rank = self.better_siblings(primary, env);
        let delay = self.settings.election_delay_ms() * RANK_DELAYS;
        if let Some(time) = self.election.time.as_mut().filter(|_| rank > self.election.rank) {
            *time += (rank - self.election.rank) * delay;
            self.election.rank = rank;
        }
    }

    fn siblings(&self, primary: NodeKey) -> impl Iterator<Item = &Node> {
        self.table[primary].replicas.iter().map(|&key| &self.table[key]).filter(|node| !node.is_myself())
    }

    /// Number of siblings that have more of the data, or as much and a smaller name.
    fn better_siblings(&self, primary: NodeKey, env: &Env<'_>) -> u64 {
        let mine = (u64::MAX - self.claimed_offset(env), self.me().id);
        let is_better = |node: &&Node| {
            !node.flags.has(NodeFlags::NOFAILOVER | NodeFlags::FAIL)
                && (u64::MAX - node.offset, node.id) < mine
        };
        self.siblings(primary).filter(is_better).count() as u64
    }

    /// Number of failed primaries that come first, so that not all elections are at once.
    fn failed_before(&self, primary: NodeKey) -> u64 {
        let shard = self.table[primary].shard;
        self.table.iter().filter(|(_, node)| node.votes() && node.has_failed() && node.shard < shard).count()
            as u64
    }

    /// Whether all siblings say that the primary has failed.
    fn all_siblings_agree(&self, primary: NodeKey) -> bool {
        self.siblings(primary).all(|node| node.flags.has(NodeFlags::PRIMARY_FAIL))
    }

    fn ask_for_votes(&mut self, is_manual: bool, env: &Env<'_>) {
        self.current_epoch = self.current_epoch.saturating_add(1);
        self.election.epoch = self.current_epoch;
        self.election.is_requested = true;
        self.election.votes.clear();
        self.outbox.must_save = true;
        let extra = if is_manual { MessageFlags::FORCE_ACK } else { MessageFlags::default() };
        self.broadcast(&Message::AuthRequest, extra, env);
    }

    /// A replica asks for this node's vote.
    pub(crate) fn receive_auth_request(&mut self, sender: NodeKey, header: &Header<'_>, env: &Env<'_>) {
        if !self.me().votes()
            || header.current_epoch < self.current_epoch
            || self.last_vote_epoch == self.current_epoch
            || self.table[sender].is_primary()
        {
            return;
        }
        let Some(primary) = self.table[sender].primary else { return };
        if !self.table[primary].has_failed() && !header.message_flags.has(MessageFlags::FORCE_ACK) {
            return;
        }
        if let Some(owner) = self.later_owner(header) {
            self.send_update(sender, owner, env);
            return;
        }
        self.last_vote_epoch = self.current_epoch;
        self.outbox.must_save = true;
        self.send_message(sender, &Message::AuthAck, MessageFlags::default(), env);
    }

    /// Who has one of the slots that a request is for under a later epoch.
    fn later_owner(&self, header: &Header<'_>) -> Option<NodeKey> {
        header.slots.to_set().iter().filter(|&slot| !self.unclaimed.contains(slot)).find_map(|slot| {
            self.table.owner(slot).filter(|&owner| self.table[owner].config_epoch > header.config_epoch)
        })
    }

    /// A vote.
    pub(crate) fn receive_auth_ack(&mut self, sender: NodeKey, header: &Header<'_>, env: &Env<'_>) {
        let is_wanted = self.election.is_requested && header.current_epoch >= self.election.epoch;
        if is_wanted && self.table[sender].votes() && !self.election.votes.contains(&sender) {
            self.election.votes.push(sender);
            self.seek_election(env);
        }
    }

    fn win(&mut self, env: &Env<'_>) {
        let epoch = self.election.epoch;
        let me = self.me_mut();
        me.config_epoch = me.config_epoch.max(epoch);
        self.take_primarys_place(env);
    }

    /// Becomes the primary of the shard: takes the slots, and tells all.
    pub(crate) fn take_primarys_place(&mut self, env: &Env<'_>) {
        let Some(primary) = self.me().primary else { return };
        let slots = self.table.unassign_all(primary);
        self.become_primary();
        for slot in slots.iter() {
            self.unclaimed.remove(slot);
            self.table.assign(slot, self.myself);
        }
        self.election = Election::default();
        self.end_manual_failover();
        self.outbox.changed();
        self.broadcast_pong(false, env);
    }

    /// A node is no more: nothing waits for it.
    pub(crate) fn forget_in_failover(&mut self, key: NodeKey) {
        self.election.votes.retain(|&voter| voter != key);
        if matches!(self.manual, Some(Manual::Primary { replica, .. }) if replica == key) {
            self.end_manual_failover();
        }
    }
}
