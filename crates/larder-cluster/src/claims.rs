//! Who has which slot: claims, epochs, changes of this node's role.

use crate::cluster::Cluster;
use crate::config_file::{self, Variables};
use crate::facts::Env;
use crate::moment::Moment;
use crate::node_key::NodeKey;
use crate::open_slots::entries;
use crate::slot_set::SlotSet;

impl Cluster {
    /// A primary says which slots it has. It gets those that nobody has, or claims, or whose owners have an older epoch.
    pub(crate) fn claim_slots(
        &mut self,
        claimant: NodeKey,
        config_epoch: u64,
        claimed: &SlotSet,
        env: &Env<'_>,
    ) {
        assert!(claimant != self.myself, "others claim");
        let head = self.me().primary.unwrap_or(self.myself);
        let had_slots = !self.table[head].slots.is_empty();
        self.follow_open_slots(claimant, config_epoch);
        let mut lost = 0;
        for slot in claimed.iter() {
            lost += u32::from(self.claim_slot(slot, claimant, config_epoch, head));
        }
        let given_up: Vec<u16> =
            self.table[claimant].slots.iter().filter(|&slot| !claimed.contains(slot)).collect();
        for slot in given_up {
            self.unclaimed.insert(slot);
        }
        self.finish_imports(claimant, claimed, env);
        if lost > 0 && had_slots && self.table[head].slots.is_empty() {
            self.follow_the_winner(claimant, head, env);
            self.broadcast_pong(false, env);
        }
        self.climb_the_chain(env);
    }

    /// A failover in another shard, from which or to which slots are on their way: they are on
    /// their way from or to the new primary.
    fn follow_open_slots(&mut self, claimant: NodeKey, config_epoch: u64) {
        let others: Vec<NodeKey> = self.open.others().collect();
        for other in others {
            let (old, new) = (&self.table[other], &self.table[claimant]);
            let is_replaced = old.is_replica() || old.config_epoch < config_epoch;
            if other != claimant && new.is_primary() && old.shard == new.shard && is_replaced {
                self.open.move_to(other, claimant);
                self.outbox.changed();
            }
        }
    }

    /// The source of an import has ceased to claim a slot, and nobody else has it: it was told by
    /// SETSLOT NODE that the slot is this node's, and this node was not. The slot is taken under a
    /// new epoch. A replica leaves that to its primary. A node that finds the cluster down waits:
    /// it may have been away, and replaced.
    fn finish_imports(&mut self, source: NodeKey, claimed: &SlotSet, env: &Env<'_>) {
        let is_done = |&slot: &u16| !claimed.contains(slot) && self.table.owner(slot) == Some(source);
        let done: Vec<u16> = self.open.imports_from(source).filter(is_done).collect();
        if done.is_empty() || !self.me().is_primary() || self.health.is_down {
            return;
        }
        for slot in done {
            self.open.close(slot);
            self.unclaimed.remove(slot);
            self.table.assign(slot, self.myself);
        }
        self.bump_epoch();
        self.outbox.changed();
        self.broadcast_pong(false, env);
    }

    /// Opens slots on a replica, as a snapshot of its primary says (`cluster-slot-states`). Nodes
    /// that are not known are left out.
    pub fn open_slots(&mut self, text: &[u8]) {
        if self.me().is_primary() {
            return;
        }
        for (slot, is_import, other) in entries(text) {
            let Some(other) = self.table.find(&other).filter(|&other| other != self.myself) else { continue };
            let open = if is_import { &mut self.open.importing } else { &mut self.open.migrating };
            if open.insert(slot, other) != Some(other) {
                self.outbox.moved();
            }
        }
    }

    /// One slot of a claim; whether it was this node's, or its primary's.
    fn claim_slot(&mut self, slot: u16, claimant: NodeKey, config_epoch: u64, head: NodeKey) -> bool {
        let owner = self.table.owner(slot);
        if owner == Some(claimant) {
            self.unclaimed.remove(slot);
            return false;
        }
        let is_free = owner.is_none_or(|owner| {
            self.unclaimed.contains(slot) || self.table[owner].config_epoch < config_epoch
        });
        if !is_free {
            return false;
        }
        if owner == Some(self.myself) {
            // Whether there are any keys is left to the one who deletes them: clients may wait for the map, and counting the keys of
            // thousands of slots takes tens of ms.
            self.outbox.dropped.insert(slot);
        }
        if !self.is_of_shard(claimant) {
            self.open.migrating.remove(&slot);
        }
        self.retarget_import(slot, claimant);
        self.unclaimed.remove(slot);
        self.table.assign(slot, claimant);
        self.outbox.changed();
        owner == Some(head)
    }

    /// A slot that is being imported has another owner: it comes from there if that took its primary's place, else it does not come.
    fn retarget_import(&mut self, slot: u16, owner: NodeKey) {
        let Some(&from) = self.open.importing.get(&slot) else { return };
        if self.table[from].shard == self.table[owner].shard {
            self.open.importing.insert(slot, owner);
        } else {
            self.open.importing.remove(&slot);
        }
    }

    /// A claim that says nothing new: what was thought to be given up is not.
    pub(crate) fn claims_again(&mut self, claimant: NodeKey) {
        if self.unclaimed.is_empty() {
            return;
        }
        let again: Vec<u16> =
            self.unclaimed.iter().filter(|&slot| self.table.owner(slot) == Some(claimant)).collect();
        for slot in again {
            self.unclaimed.remove(slot);
        }
    }

    /// Two primaries with one epoch: the one with the smaller name takes a new one.
    pub(crate) fn settle_collision(&mut self, other: NodeKey, config_epoch: u64) {
        if config_epoch != self.me().config_epoch || self.table[other].id <= self.me().id {
            return;
        }
        self.take_new_epoch();
    }

    /// Begins an epoch and takes it for this node's slots.
    pub(crate) fn take_new_epoch(&mut self) {
        // A node that lies may have brought us to the last epoch. There are no elections then.
        self.current_epoch = self.current_epoch.saturating_add(1);
        self.me_mut().config_epoch = self.current_epoch;
        self.outbox.changed();
    }

    /// Makes this node's epoch the greatest of all without asking anybody; whether it was not.
    pub(crate) fn bump_epoch(&mut self) -> bool {
        let greatest = self.greatest_epoch();
        if self.me().config_epoch != 0 && self.me().config_epoch == greatest {
            return false;
        }
        self.current_epoch = greatest;
        self.take_new_epoch();
        true
    }

    fn greatest_epoch(&self) -> u64 {
        let epochs = self.table.iter().map(|(_, node)| node.config_epoch).max().unwrap_or_default();
        epochs.max(self.current_epoch)
    }

    /// The slots of an import that is under way: keys of them may be here, and are not to be seen.
    pub fn hide_slots(&mut self, slots: &SlotSet) {
        for slot in slots.iter() {
            self.open.hidden.insert(slot);
        }
        self.outbox.must_map = true;
    }

    /// Ends an import without taking the slots: their keys are to be deleted.
    pub fn reveal_slots(&mut self, slots: &SlotSet) {
        for slot in slots.iter() {
            self.open.hidden.remove(slot);
        }
        self.outbox.must_map = true;
    }

    /// The text of `nodes.conf` as it would be after [`Cluster::take_slots`], if nothing else changes until then: writing it takes its time, and
    /// clients wait for the takeover. [`promises_as_much`](crate::promises_as_much) tells whether it is what is to be saved in the end.
    pub fn text_if_taken(&self, slots: &SlotSet, now: Moment) -> String {
        let mut taken = (self.table.clone(), self.open.clone(), self.current_epoch);
        let (table, open, current_epoch) = &mut taken;
        for slot in slots.iter() {
            open.close(slot);
            table.assign(slot, self.myself);
        }
        let greatest = self.greatest_epoch();
        if self.me().config_epoch == 0 || self.me().config_epoch < greatest {
            *current_epoch = greatest.saturating_add(1);
            table[self.myself].config_epoch = *current_epoch;
        }
        let variables =
            Variables { current_epoch: *current_epoch, last_vote_epoch: self.last_vote_epoch, lineage: None };
        config_file::print(table, open, &variables, self.settings.tls_cluster, now)
    }

    /// Takes slots from their owners, who have granted it, under a new epoch, and tells all nodes. For atomic migrations.
    pub fn take_slots(&mut self, slots: &SlotSet, env: &Env<'_>) {
        self.reveal_slots(slots);
        for slot in slots.iter() {
            self.open.close(slot);
            self.unclaimed.remove(slot);
            self.table.assign(slot, self.myself);
        }
        self.bump_epoch();
        self.outbox.changed();
        // What was prepared may have an older address of somebody.
        self.outbox.notice();
        self.broadcast_pong(false, env);
    }
}
