//! What time brings, ten times a second.

use crate::cluster::Cluster;
use crate::facts::Env;
use crate::link::LinkId;
use crate::node_key::NodeKey;
use crate::packet::{Greeting, NodeFlags};

/// How often [`Cluster::tick`] is to be called, in ms.
pub const TICK_MS: u64 = 100;

/// Every this many ticks a node chosen at random is pinged,
const PING_TICKS: u64 = 10;
/// the one of this many that was silent for longest.
const PING_CANDIDATES: usize = 5;

impl Cluster {
    /// Some [`TICK_MS`] have passed.
    pub fn tick(&mut self, env: &Env<'_>) {
        self.ticks += 1;
        self.note_link(env);
        self.outbox.settle_noticed();
        self.unreachable = 0;
        for key in self.table.keys() {
            self.unreachable += usize::from(self.table[key].flags.has(NodeFlags::PFAIL));
            self.keep_link(key, env);
        }
        if self.ticks.is_multiple_of(PING_TICKS) {
            self.banned.retain(|_, &mut until| until > env.ms());
            self.ping_somebody(env);
        }
        for key in self.table.keys() {
            self.watch(key, env);
        }
        self.close_silent_links(env);
        self.tick_manual_failover(env);
        if self.me().is_replica() {
            self.seek_election(env);
            self.migrate_replica(env);
        }
        if self.health.is_down {
            self.outbox.must_judge = true;
        }
    }

    /// Gives up a handshake that lasts too long, and dials the nodes to which there is no link.
    fn keep_link(&mut self, key: NodeKey, env: &Env<'_>) {
        let node = &self.table[key];
        if node.flags.has(NodeFlags::MYSELF | NodeFlags::NOADDR) {
            return;
        }
        if node.is_handshake() && env.now.since(node.created) > self.settings.handshake_timeout_ms() {
            self.remove_node(key, env);
        } else if node.outbound.is_none() && !node.address.ip.is_empty() {
            self.dial(key, env);
        } else if !node.is_handshake() && node.inbound.is_none() {
            self.meet_again(key, env);
        }
    }

    /// A node that does not dial this one perhaps does not know it: it was asked to, and answered, but its handshake has failed.
    fn meet_again(&mut self, key: NodeKey, env: &Env<'_>) {
        let timeout = self.settings.handshake_timeout_ms();
        let node = &self.table[key];
        let is_late = env.now.since(node.inbound_lost) > timeout && env.now.since(node.meet_sent) > timeout;
        if is_late
            && node.flags.has(NodeFlags::LIGHT_MODULE)
            && let Some(link) = self.open_link_to(key)
        {
            self.send_greeting(link, Greeting::Meet, env);
        }
    }

    fn ping_somebody(&mut self, env: &Env<'_>) {
        let mut oldest: Option<(Option<u64>, LinkId)> = None;
        for _ in 0..PING_CANDIDATES {
            let Some(key) = self.table.choose(&mut self.rng) else { return };
            let node = &self.table[key];
            if node.flags.has(NodeFlags::MYSELF | NodeFlags::HANDSHAKE) || node.ping_sent.is_some() {
                continue;
            }
            let Some(link) = self.open_link_to(key) else { continue };
            let candidate = (node.pong_received, link);
            if oldest.is_none_or(|oldest| candidate < oldest) {
                oldest = Some(candidate);
            }
        }
        if let Some((_, link)) = oldest {
            self.send_greeting(link, Greeting::Ping, env);
        }
    }

    /// Pings a node in time, makes its link again if nothing comes on it, and notes when it does not answer.
    fn watch(&mut self, key: NodeKey, env: &Env<'_>) {
        let half = self.settings.node_timeout_ms / 2;
        let node = &self.table[key];
        let unwatched = NodeFlags::MYSELF | NodeFlags::NOADDR | NodeFlags::HANDSHAKE;
        if node.flags.has(unwatched) {
            return;
        }
        let waits =
            node.ping_sent.map_or(0, |sent| env.now.since(sent).min(env.now.since(node.data_received)));
        if let Some(link) = node.outbound.filter(|_| waits > half)
            && let Some(found) = self.links.get(link)
            && env.now.since(found.created) > self.settings.node_timeout_ms
        {
            self.close(link, env);
        }
        let node = &self.table[key];
        let is_old = node.pong_received.is_none_or(|time| env.now.since(time) > half);
        if let Some(link) = self.open_link_to(key).filter(|_| node.ping_sent.is_none() && is_old) {
            self.send_greeting(link, Greeting::Ping, env);
            return;
        }
        self.check_answer(key, env);
    }
}
