//! Does what has been checked.

use super::{Command, FailoverMode, Reply, SlotState};
use crate::cluster::Cluster;
use crate::election::Election;
use crate::facts::Env;
use crate::id::NodeId;
use crate::node::Address;
use crate::node_key::NodeKey;
use crate::slot_set::SlotSet;

impl Cluster {
    /// Does a command that has been checked, with the same state.
    pub fn apply(&mut self, command: &Command, env: &Env<'_>) -> Reply {
        match command {
            Command::AddSlots(slots) => self.add_slots(slots),
            Command::BumpEpoch => {
                let is_bumped = self.bump_epoch();
                let epoch = self.me().config_epoch;
                return if is_bumped { Reply::Bumped(epoch) } else { Reply::Still(epoch) };
            }
            Command::DelSlots(slots) => self.del_slots(slots),
            Command::Failover(mode) => self.fail_over(*mode, env),
            Command::FlushSlots => {
                let mine = self.me().slots.clone();
                self.del_slots(&mine);
            }
            Command::Forget(None) => {}
            Command::Forget(Some(key)) => {
                self.ban(*key, self.settings.blacklist_ttl_s, env);
                self.outbox.changed();
            }
            Command::Meet { ip, port, bus_port } => {
                let ports = if self.settings.tls_cluster { (0, *port) } else { (*port, 0) };
                let address =
                    Address { ip: ip.clone(), port: ports.0, tls_port: ports.1, bus_port: *bus_port };
                self.begin_handshake(address, true, env);
            }
            Command::Replicate(key) => {
                if self.me().primary != Some(*key) {
                    self.open.close_all();
                    self.become_replica_of(*key, env);
                }
                // Who is asked for something as a primary must know its replicas.
                self.broadcast_pong(false, env);
            }
            Command::ReplicateNoOne => {
                self.leave_shard();
                self.broadcast_pong(false, env);
            }
            Command::Reset { is_hard } => self.reset(*is_hard, env),
            Command::SaveConfig => self.outbox.must_save = true,
            Command::SetConfigEpoch(epoch) => {
                self.me_mut().config_epoch = *epoch;
                self.current_epoch = self.current_epoch.max(*epoch);
                self.outbox.changed();
            }
            Command::SetSlot { slot, state, .. } => self.set_slot(*slot, *state, env),
        }
        Reply::Ok
    }

    fn add_slots(&mut self, slots: &SlotSet) {
        for slot in slots.iter() {
            self.open.importing.remove(&slot);
            self.table.assign(slot, self.myself);
        }
        self.outbox.changed();
    }

    fn del_slots(&mut self, slots: &SlotSet) {
        for slot in slots.iter() {
            self.table.unassign(slot);
            self.unclaimed.remove(slot);
            self.open.migrating.remove(&slot);
        }
        self.outbox.changed();
    }

    fn fail_over(&mut self, mode: FailoverMode, env: &Env<'_>) {
        match mode {
            FailoverMode::Default => self.begin_manual_failover(false, env),
            FailoverMode::Force => {
                self.begin_manual_failover(true, env);
                self.seek_election(env);
            }
            FailoverMode::Takeover => {
                self.end_manual_failover();
                // What it had as a replica says nothing.
                self.me_mut().config_epoch = 0;
                self.bump_epoch();
                self.take_primarys_place(env);
            }
        }
    }

    /// A replica becomes a primary without data, in a shard of its own.
    fn leave_shard(&mut self) {
        if self.me().is_primary() {
            return;
        }
        self.end_manual_failover();
        self.become_primary();
        let shard = NodeId::random(&mut self.rng);
        self.table.set_shard(self.myself, shard);
        self.outbox.must_flush = true;
    }

    fn reset(&mut self, is_hard: bool, env: &Env<'_>) {
        self.leave_shard();
        self.end_manual_failover();
        self.election = Election::default();
        for key in self.table.keys() {
            self.table.unassign_all(key);
            if key != self.myself {
                self.remove_node(key, env);
            }
        }
        self.unclaimed = SlotSet::new();
        self.open = Default::default();
        let [id, shard] = [NodeId::random(&mut self.rng), NodeId::random(&mut self.rng)];
        self.me_mut().shard = shard;
        if is_hard {
            assert!(self.table.rename(self.myself, id), "it is alone");
            self.me_mut().config_epoch = 0;
            self.current_epoch = 0;
            self.last_vote_epoch = 0;
        }
        self.outbox.changed();
    }

    fn set_slot(&mut self, slot: u16, state: SlotState, env: &Env<'_>) {
        match state {
            SlotState::Importing(from) => {
                self.open.importing.insert(slot, from);
            }
            SlotState::Migrating(to) => {
                self.open.migrating.insert(slot, to);
            }
            SlotState::Node(owner) => self.set_owner(slot, owner, env),
            SlotState::Stable => self.open.close(slot),
        }
        self.outbox.moved();
    }

    fn set_owner(&mut self, slot: u16, owner: NodeKey, env: &Env<'_>) {
        let was_mine = self.table.owner(slot) == Some(self.myself);
        if env.facts.keys_in_slot(slot) == 0 {
            self.open.migrating.remove(&slot);
        }
        self.unclaimed.remove(slot);
        self.table.assign(slot, owner);
        let is_import_done = self.open.importing.contains_key(&slot)
            && (owner == self.myself || self.me().primary == Some(owner));
        if is_import_done {
            self.open.importing.remove(&slot);
        }
        if owner == self.myself {
            self.open.migrating.remove(&slot);
        }
        if is_import_done && owner == self.myself {
            self.bump_epoch();
            self.broadcast_pong(false, env);
        }
        let is_left_without = was_mine && owner != self.myself && self.me().slots.is_empty();
        if is_left_without && self.me().is_primary() && self.settings.allow_replica_migration {
            self.become_replica_of(owner, env);
        }
    }
}
