//! Which nodes have failed, and whether the cluster is down.

use crate::cluster::Cluster;
use crate::facts::Env;
use crate::id::NodeId;
use crate::node_key::NodeKey;
use crate::packet::{Message, MessageFlags, NodeFlags};

/// A report is believed for this many node timeouts.
const REPORT_TIMEOUTS: u64 = 2;
/// After this many node timeouts a primary that answers gets its slots back, if nobody took them.
const UNDO_TIMEOUTS: u64 = 2;
/// How long a primary is down after its start, in ms: others may have taken its slots meanwhile.
const START_DELAY_MS: u64 = 2000;
/// Bounds of how long a primary stays down that was among a minority, in ms.
const REJOIN_MS: (u64, u64) = (500, 5000);

impl Cluster {
    /// A known node says whether it can reach another one. Only voters are heard.
    pub(crate) fn hear_of_failure(&mut self, from: NodeKey, of: NodeKey, is_failing: bool, env: &Env<'_>) {
        if !self.table[from].votes() || from == of {
            return;
        }
        if is_failing {
            self.table[of].reports.add(from, env.ms());
            self.judge_node(of, env);
        } else {
            self.table[of].reports.remove(from);
        }
    }

    /// Number of voters that report a node.
    pub(crate) fn count_reports(&mut self, key: NodeKey, now: u64) -> usize {
        let oldest = now.saturating_sub(REPORT_TIMEOUTS * self.settings.node_timeout_ms);
        self.table[key].reports.count_since(oldest)
    }

    /// A node that this one and a majority cannot reach has failed, and all are told.
    pub(crate) fn judge_node(&mut self, key: NodeKey, env: &Env<'_>) {
        if !self.table[key].flags.has(NodeFlags::PFAIL) || self.table[key].has_failed() {
            return;
        }
        let reports = self.count_reports(key, env.ms()) + usize::from(self.me().votes());
        if reports < self.table.majority() {
            return;
        }
        self.set_failed(key, env);
        let id = self.table[key].id;
        self.broadcast(&Message::Fail(id), MessageFlags::default(), env);
    }

    fn set_failed(&mut self, key: NodeKey, env: &Env<'_>) {
        let node = &mut self.table[key];
        node.flags.set(NodeFlags::PFAIL, false);
        node.flags.set(NodeFlags::FAIL, true);
        node.failed_at = env.ms();
        self.outbox.changed();
    }

    /// A majority found a node failed.
    pub(crate) fn receive_fail(&mut self, id: &NodeId, env: &Env<'_>) {
        let found = self.table.find(id);
        if let Some(key) = found.filter(|&key| key != self.myself && !self.table[key].has_failed()) {
            self.set_failed(key, env);
        }
    }

    /// A node that has failed answers. One with slots has to wait: others may just be taking them.
    pub(crate) fn end_failure(&mut self, key: NodeKey, env: &Env<'_>) {
        let wait = UNDO_TIMEOUTS * self.settings.node_timeout_ms;
        let node = &mut self.table[key];
        if !node.votes() || env.now.since(node.failed_at) > wait {
            node.flags.set(NodeFlags::FAIL, false);
            self.outbox.changed();
        }
    }

    /// Marks a node that has not answered for the node timeout.
    pub(crate) fn check_answer(&mut self, key: NodeKey, env: &Env<'_>) {
        let node = &mut self.table[key];
        let Some(ping_sent) = node.ping_sent else { return };
        let silence = env.now.since(ping_sent).min(env.now.since(node.data_received));
        if silence <= self.settings.node_timeout_ms || node.is_failing() {
            return;
        }
        node.flags.set(NodeFlags::PFAIL, true);
        self.unreachable += 1;
        self.outbox.must_judge = true;
        if self.me().votes() {
            self.judge_node(key, env);
        }
    }

    /// Decides whether the cluster is down.
    pub(crate) fn judge(&mut self, env: &Env<'_>) {
        let now = env.ms();
        let begun = *self.health.begun.get_or_insert(now);
        if self.me().is_primary() && self.health.is_down && env.now.since(begun) < START_DELAY_MS {
            self.outbox.must_judge = true;
            return;
        }
        let reachable = self.table.iter().filter(|(_, node)| node.votes() && !node.is_failing()).count();
        let is_minority = reachable < self.table.majority();
        if is_minority {
            self.health.minority = Some(now);
        }
        let is_down = is_minority || (self.settings.require_full_coverage && !self.is_covered());
        if is_down == self.health.is_down {
            return;
        }
        let delay = self.settings.node_timeout_ms.clamp(REJOIN_MS.0, REJOIN_MS.1);
        let is_back_early = self.health.minority.is_some_and(|minority| env.now.since(minority) < delay);
        if !is_down && self.me().is_primary() && is_back_early {
            self.outbox.must_judge = true;
            return;
        }
        self.health.is_down = is_down;
        self.outbox.must_map = true;
    }

    /// Whether every slot has an owner that has not failed.
    fn is_covered(&self) -> bool {
        let failed: u32 = self
            .table
            .iter()
            .filter(|(_, node)| node.has_failed())
            .map(|(_, node)| u32::from(node.slots().len()))
            .sum();
        self.table.assigned() == crate::slot_set::SLOTS && failed == 0
    }
}
