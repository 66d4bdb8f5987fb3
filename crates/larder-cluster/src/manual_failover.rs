//! Manual failover: a replica takes the place of a primary that is well, and nothing is lost.
//!
//! The replica asks its primary to pause writes; the primary says how far its stream is, with a flag in its packets; when the replica has
//! applied that much, it is elected with votes that do not ask whether the primary has failed.

use crate::action::Action;
use crate::cluster::Cluster;
use crate::election::Election;
use crate::facts::Env;
use crate::manual::Manual;
use crate::node_key::NodeKey;
use crate::packet::{Greeting, Header, Message, MessageFlags};

/// Writes are paused for this many times the timeout of the failover.
const PAUSE_TIMEOUTS: u64 = 2;

impl Cluster {
    /// Begins it on the replica's side. `is_ready`: without asking the primary.
    pub(crate) fn begin_manual_failover(&mut self, is_ready: bool, env: &Env<'_>) {
        self.end_manual_failover();
        let ends = env.ms() + self.settings.manual_failover_timeout_ms;
        self.manual = Some(Manual::Replica { ends, goal: None, is_ready });
        self.election = Election::default();
        if let Some(primary) = self.me().primary.filter(|_| !is_ready) {
            self.send_message(primary, &Message::ManualFailoverStart, MessageFlags::default(), env);
        }
    }

    /// A replica asks this primary to pause writes.
    pub(crate) fn receive_manual_start(&mut self, sender: NodeKey, env: &Env<'_>) {
        if !self.me().is_primary() || self.table[sender].primary != Some(self.myself) {
            return;
        }
        self.end_manual_failover();
        let ends = env.ms() + self.settings.manual_failover_timeout_ms * PAUSE_TIMEOUTS;
        self.manual = Some(Manual::Primary { replica: sender, ends, is_paused: false });
        self.outbox.push(Action::PauseWrites);
    }

    /// Writes are paused: the offset will not change. The replica is told.
    pub fn writes_paused(&mut self, env: &Env<'_>) {
        if let Some(Manual::Primary { replica, ends, is_paused: false }) = self.manual {
            self.manual = Some(Manual::Primary { replica, ends, is_paused: true });
            self.ping_for_manual_failover(env);
        }
    }

    fn ping_for_manual_failover(&mut self, env: &Env<'_>) {
        let Some(Manual::Primary { replica, is_paused: true, .. }) = self.manual else { return };
        if let Some(link) = self.open_link_to(replica) {
            self.send_greeting(link, Greeting::Ping, env);
        }
    }

    /// The primary says in a packet that it has paused, and where.
    pub(crate) fn note_pause(&mut self, sender: NodeKey, header: &Header<'_>, env: &Env<'_>) {
        let is_paused = header.message_flags.has(MessageFlags::PAUSED) && self.me().primary == Some(sender);
        if let Some(Manual::Replica { ends, goal: None, is_ready: false }) = self.manual.filter(|_| is_paused)
        {
            self.manual = Some(Manual::Replica { ends, goal: Some(header.offset), is_ready: false });
            self.outbox.push(Action::WaitForOffset(header.offset));
            self.offset_reached(env);
        }
    }

    /// More of the primary's stream has been applied: enough of it perhaps.
    pub fn offset_reached(&mut self, env: &Env<'_>) {
        if let Some(Manual::Replica { ends, goal: Some(goal), is_ready: false }) = self.manual
            && self.claimed_offset(env) >= goal
        {
            self.manual = Some(Manual::Replica { ends, goal: Some(goal), is_ready: true });
            self.seek_election(env);
        }
    }

    /// Goes on with it, and gives it up in time.
    pub(crate) fn tick_manual_failover(&mut self, env: &Env<'_>) {
        let (Some(Manual::Primary { ends, .. }) | Some(Manual::Replica { ends, .. })) = self.manual else {
            return;
        };
        if env.ms() > ends {
            self.end_manual_failover();
            return;
        }
        self.ping_for_manual_failover(env);
        self.offset_reached(env);
    }

    /// Ends it, whatever has come of it.
    pub(crate) fn end_manual_failover(&mut self) {
        if let Some(Manual::Primary { .. }) = self.manual.take() {
            self.outbox.push(Action::ResumeWrites);
        }
    }
}
