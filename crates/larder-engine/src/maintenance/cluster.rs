//! What the thread of the cluster bus asks of the engine, and does to it.
//!
//! No method waits for a shard that a script keeps for long: it returns [`Busy`] then, and has done nothing that may not be done again. The
//! bus goes on meanwhile, since nodes that hear nothing of each other hold each other for dead.

use crate::aof::log::Ends;
use crate::clients::session::client_flags;
use crate::clock::mono_ms;
use crate::cluster::migration::{Migration, Migrations};
use crate::cluster::{Asker, ForBus, Request, WakeBus};
use crate::delivery::mailbox::Mail;
use crate::delivery::publish;
use crate::delivery::unblock::deliver;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::execution::redirection::{ends_wait, text_of};
use crate::keyspace::hash::{prefix_of_slot, shard_of_slot, slots_of_shard};
use crate::keyspace::key::SHARDS;
use crate::keyspace::locks::Busy;
use crate::keyspace::shard::Table;
use crate::ledger::NoShards;
use crate::replication::replica::Replica;
use larder_cluster::{NodeId, Place, PrimaryLink, SLOTS, SlotMap, SlotSet};
use larder_resp::Reply;
use larder_resp::encode_command;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Replicas from this version on are told of slots by their primary.
const KNOWS_SLOTS: u32 = 0x07_03_00;

/// A replica that is to take the place of this primary.
pub struct Heir {
    /// Its name in the cluster.
    pub node: NodeId,
    /// Where in the stream it is told.
    position: u64,
    replica: Arc<Replica>,
}

impl Heir {
    /// Whether it has said that it knows, or is gone: it follows nobody any more.
    pub fn knows(&self) -> bool {
        !self.replica.is_online() || self.replica.acked() >= self.position
    }
}

impl Engine {
    /// Whether the server is a node of a cluster.
    pub fn is_cluster_node(&self) -> bool {
        self.cluster.is_on()
    }

    /// Who is to be called when there is something for the bus. Once.
    pub fn set_cluster_wake(&self, wake: WakeBus) {
        self.cluster.set_wake(wake);
    }

    /// Has the bus look at its options and its mail.
    pub fn wake_cluster(&self) {
        self.cluster.wake();
    }

    /// Whether the bus is to be woken when a replica says how far it has come.
    pub fn watch_acks(&self, watches: bool) {
        self.cluster.watch_acks(watches);
    }

    /// Takes what there is for the bus.
    pub fn take_cluster_mail(&self) -> Vec<ForBus> {
        self.cluster.take_inbox()
    }

    /// Who has which slot, as clients are served now.
    pub fn slot_map(&self) -> Option<Arc<SlotMap>> {
        self.cluster.map()
    }

    /// Keeps what CLUSTER INFO says, for INFO.
    pub fn set_cluster_info(&self, text: String) {
        self.cluster.set_info(text);
    }

    /// Has clients be served by another map from now on. What is returned is to be given to [`Engine::settle_slot_map`].
    pub fn use_slot_map(&self, map: &Arc<SlotMap>) -> BTreeSet<usize> {
        let before = self.cluster.set_map(Arc::clone(map));
        let Some(before) = before else { return BTreeSet::new() };
        for slot in (0..SLOTS).filter(|&slot| is_of_shard(&before, slot) && !is_of_shard(map, slot)) {
            self.each_stats(|stats| stats.slots.reset_slot(slot));
        }
        shards_of_changes(&before, map)
    }

    /// Waits until nothing is under way that was decided by an older map: in these shards, which are taken out one by one. Then tells the
    /// clients that wait for keys of slots that are not served here any more, and the subscribers of their channels.
    ///
    /// # Errors
    /// A script keeps one of the shards: to be called again.
    pub fn settle_slot_map(&self, shards: &mut BTreeSet<usize>) -> Result<(), Busy> {
        while let Some(&shard) = shards.first() {
            drop(self.shards.try_lock_one(shard, NoShards::outside_commands())?);
            shards.remove(&shard);
        }
        if let Some(map) = self.cluster.map() {
            self.redirect_waiters(&map);
            self.end_shard_subscriptions(&map);
        }
        Ok(())
    }

    fn redirect_waiters(&self, map: &Arc<SlotMap>) {
        for client in self.clients.snapshot() {
            if !client.has(client_flags::BLOCKED) {
                continue;
            }
            let Some(waiter) = client.waiter.lock().clone() else { continue };
            let reads_replica = client.has(client_flags::READS_REPLICA) && waiter.op.only_reads();
            let refusal = waiter.keys.first().and_then(|key| ends_wait(map, key, reads_replica));
            if let Some(refusal) = refusal {
                let error = text_of(self, Some(map), client.viewer, refusal);
                if self.end_wait(&client, |_| true, &error) {
                    self.errors.count(&error);
                }
            }
        }
    }

    /// Tells subscribers of channels whose slots are neither this node's nor its primary's.
    pub fn end_shard_subscriptions(&self, map: &SlotMap) {
        let is_gone = |channel: &[u8]| {
            let slot = larder_cluster::key_slot(channel);
            !map.is_mine(slot) && !map.is_my_primarys(slot)
        };
        self.pubsub.each_shard_channel(is_gone, |worker, clients, channel| {
            let (clients, channel) = (Arc::clone(clients), Arc::clone(channel));
            self.mailboxes.send(worker, Mail::LeaveShardChannel { clients, channel });
        });
    }

    /// Number of keys of a slot in all databases. O(segments that hold them).
    ///
    /// # Errors
    /// A script keeps the shard.
    pub fn keys_in_slot(&self, slot: u16) -> Result<u64, Busy> {
        let data = self.shards.try_lock_one(shard_of_slot(slot), NoShards::outside_commands())?;
        Ok(data.tables().iter().map(|table| table.count_prefix(prefix_of_slot(slot)) as u64).sum())
    }

    /// One of these slots that has a key in some database, if there is one. O(segments where such keys would be + slots).
    ///
    /// # Errors
    /// A script keeps a shard.
    pub fn slot_with_keys(&self, slots: &SlotSet) -> Result<Option<u16>, Busy> {
        for shard in 0..SHARDS {
            let asked: Vec<u16> = slots_of_shard(shard).filter(|&slot| slots.contains(slot)).collect();
            let prefixes: Vec<_> = asked.iter().map(|&slot| prefix_of_slot(slot)).collect();
            if asked.is_empty() {
                continue;
            }
            let data = self.shards.try_lock_one(shard, NoShards::outside_commands())?;
            let mut tables = data.tables().iter();
            if let Some(at) = tables.find_map(|table| table.find_prefix_in_use(&prefixes)) {
                return Ok(Some(asked[at]));
            }
        }
        Ok(None)
    }

    /// Whether there is any key.
    ///
    /// # Errors
    /// A script keeps a shard.
    pub fn has_keys(&self) -> Result<bool, Busy> {
        for shard in 0..SHARDS {
            if !self
                .shards
                .try_lock_one(shard, NoShards::outside_commands())?
                .tables()
                .iter()
                .all(Table::is_empty)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sends the reply to a subcommand, if somebody still waits for it.
    pub fn answer_cluster_request(&self, request: &Request, write: impl FnOnce(&mut Reply<'_>)) {
        let mut reply = Vec::new();
        write(&mut Reply::new(&mut reply, request.protocol));
        match &request.asker {
            Asker::Client(waiter) if waiter.take() => {
                if let Some(line) = reply.strip_prefix(b"-") {
                    self.errors.count(&CommandError::Text(line.to_vec()));
                }
                deliver(&self.mailboxes, waiter, reply, Ends::NO_EFFECT);
            }
            Asker::Client(_) => {}
            // It may have waited for long enough.
            Asker::Thread(asker) => drop(asker.try_send(reply)),
        }
    }

    /// Follows a primary, for a node that is a replica of the cluster.
    ///
    /// # Errors
    /// A script keeps the shards.
    pub fn follow_in_cluster(&self, node: NodeId, host: &str, port: u16) -> Result<(), Busy> {
        let held = self.shards.try_lock_all(NoShards::outside_commands())?;
        self.follow_node(node, host.to_owned(), port, held.all_shards());
        drop(held);
        Ok(())
    }

    /// Follows nobody, for a node that is a primary of the cluster.
    ///
    /// # Errors
    /// A script keeps the shards.
    pub fn lead_in_cluster(&self) -> Result<(), Busy> {
        let held = self.shards.try_lock_all(NoShards::outside_commands())?;
        if self.replication.is_replica() {
            self.lead(held.all_shards());
        }
        drop(held);
        Ok(())
    }

    /// Puts the writes of clients off: none is under way when this returns.
    ///
    /// # Errors
    /// A script keeps the shards; new writes are put off all the same.
    pub fn pause_writes_in_cluster(&self) -> Result<(), Busy> {
        self.pause.set_failover(true);
        // Writes look again while they hold their shards.
        drop(self.shards.try_lock_all(NoShards::outside_commands())?);
        self.hurry_replicas();
        Ok(())
    }

    /// Ends that pause.
    pub fn resume_writes_in_cluster(&self) {
        self.pause.set_failover(false);
        self.retry_put_off();
    }

    /// Atomic migrations of slots.
    pub fn migrations(&self) -> &Migrations {
        &self.cluster.migrations
    }

    /// Puts the writes of clients to the slots of a migration off, and those of which it is not known what slot they are about: all that are not
    /// on one key. To be called once a migration; [`Engine::settle_writes`] follows.
    pub fn pause_writes_for_migration(&self, slots: &SlotSet) {
        self.pause.begin_migration(slots);
    }

    /// Waits until no write of a client is under way that is put off by now.
    ///
    /// # Errors
    /// A script keeps the shards: to be called again.
    pub fn settle_writes(&self) -> Result<(), Busy> {
        drop(self.shards.try_lock_all(NoShards::outside_commands())?);
        Ok(())
    }

    /// Ends the pause of a migration.
    pub fn resume_writes_after_migration(&self, slots: &SlotSet) {
        self.pause.end_migration(slots);
        self.retry_put_off();
    }

    /// Sends bytes to the source of an import.
    pub fn send_to_source(&self, import: &Migration, words: &[&[u8]]) {
        let Some((worker, client)) = import.client else { return };
        let mut bytes = Vec::new();
        encode_command(&mut bytes, words.iter().copied());
        self.mailboxes.send(worker, Mail::Output { client, bytes: bytes.into() });
    }

    /// Closes the connection to the source of an import, once what waits is sent.
    pub fn hang_up_on_source(&self, import: &Migration) {
        if let Some((worker, client)) = import.client {
            self.mailboxes.send(worker, Mail::Kill { client, after_flush: true });
        }
    }

    /// Gives a message of another node to the subscribers here.
    pub fn deliver_from_cluster(&self, channel: &[u8], payload: &[u8], is_sharded: bool) {
        let deliver = if is_sharded { publish::publish_to_shard } else { publish::publish };
        deliver(&self.pubsub, &self.mailboxes, None, channel, payload);
    }

    /// Where the data is in its history.
    pub fn place(&self) -> Place {
        self.replication.state().history.place(self.append_log.stream_end())
    }

    /// The link of a replica to its primary.
    pub fn primary_link(&self) -> PrimaryLink {
        let state = self.replication.state();
        let Some(upstream) = &state.upstream else { return PrimaryLink::default() };
        let times = &upstream.times;
        PrimaryLink { node: upstream.node, is_up: times.is_up(), silence_ms: times.silence_ms(mono_ms()) }
    }

    /// Hands a command to the replicas. Where in the stream it ends.
    pub fn tell_replicas(&self, words: &[&[u8]]) -> u64 {
        self.append_log.append_for_replicas(0, words);
        let end = self.append_log.stream_end();
        self.append_log.ask_for_acks(|| false);
        self.wake_senders(None);
        end
    }

    /// Whether the server is a primary of a cluster that has slots.
    pub fn has_slots(&self) -> bool {
        let map = self.cluster.map();
        map.is_some_and(|map| (0..SLOTS).any(|slot| map.is_mine(slot)))
    }

    /// Tells a replica that has everything to take the place of this primary: which one, if there is one. Writes are put off.
    pub fn appoint_heir(&self) -> Option<Heir> {
        let end = self.append_log.stream_end();
        let all = self.replication.replicas.list();
        let has_all = |replica: &&Arc<Replica>| replica.is_online() && replica.acked() >= end;
        let (replica, node) =
            all.iter().filter(has_all).find_map(|replica| Some((replica, replica.info.node?)))?;
        let words: [&[u8]; 5] = [b"CLUSTER", b"FAILOVER", b"FORCE", b"REPLICAID", node.as_bytes()];
        Some(Heir { node, position: self.tell_replicas(&words), replica: Arc::clone(replica) })
    }

    /// Whether the replicas that are online, and understand what the cluster tells them, have applied the stream up to a position;
    /// `None` if there is none.
    pub fn replicas_have(&self, position: u64) -> Option<bool> {
        let understands =
            |replica: &Replica| replica.info.version.is_some_and(|version| version >= KNOWS_SLOTS);
        let replicas = &self.replication.replicas;
        let all = replicas.count_online(understands);
        (all > 0).then(|| {
            replicas.count_online(|replica| understands(replica) && replica.acked() >= position) == all
        })
    }
}

/// The shards of slots that clients are served differently by two maps.
/// Whether this node or its primary has a slot.
fn is_of_shard(map: &SlotMap, slot: u16) -> bool {
    map.is_mine(slot) || map.is_my_primarys(slot)
}

fn shards_of_changes(before: &SlotMap, after: &SlotMap) -> BTreeSet<usize> {
    let serves = |map: &SlotMap, slot: u16| {
        let is_open = map.migrating.contains_key(&slot) || map.importing.contains_key(&slot);
        (map.is_mine(slot), map.is_my_primarys(slot), is_open)
    };
    let changed = (0..SLOTS).filter(|&slot| serves(before, slot) != serves(after, slot));
    changed.map(shard_of_slot).collect()
}
