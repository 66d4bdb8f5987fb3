//! Deleting keys because the cluster says so: those of slots that this node has lost, or all.
//!
//! It is done by commands, as if a client gave them: replicas, the append-only file, and those who watch, wait and cache are served as
//! ever; but there are no events, since the keys are elsewhere. Keys of a slot go in pieces, so that others have their turn.

use crate::clients::session::{ClientShared, ConnInfo, ConnKind, Session};
use crate::engine::Engine;
use crate::keyspace::hash::{prefix_of_slot, shard_of_slot};
use crate::keyspace::locks::Busy;
use crate::keyspace::shard::Table;
use crate::ledger::NoShards;
use crate::worker::{NO_WORKER, Worker};
use larder_resp::OwnedArgs;
use std::sync::Arc;

/// Keys deleted at a time: their shard is held for as long as that takes.
const PIECE: usize = 64;

type Names = Vec<Box<[u8]>>;

/// Deletes keys in the name of nobody.
pub struct SlotKeys {
    worker: Worker,
    session: Session,
}

impl SlotKeys {
    /// For one thread that serves no clients. After the workers are made.
    pub fn new(engine: &Arc<Engine>) -> SlotKeys {
        let worker = Worker::without_clients(engine, engine.stats.add());
        let nobody = String::new;
        let info = ConnInfo { id: 0, addr: nobody(), laddr: nobody(), fd: -1, kind: ConnKind::Tcp };
        let shared = Arc::new(ClientShared::new(info, NO_WORKER, crate::clock::wall_ms()));
        let session = Session { is_silent: true, ..Session::for_replay(shared, &engine.acl) };
        SlotKeys { worker, session }
    }

    /// Deletes some keys of a slot, in any database; whether there may be more.
    ///
    /// # Errors
    /// A script keeps the shard, or writes are paused: nothing is done.
    pub fn delete_some(&mut self, slot: u16) -> Result<bool, Busy> {
        self.delete_some_if(slot, |engine| !engine.cluster.migrations.hidden().contains(slot))
    }

    /// The same for a slot of an import that has failed.
    ///
    /// # Errors
    /// A script keeps the shard, or writes are paused: nothing is done.
    pub fn delete_some_hidden(&mut self, slot: u16) -> Result<bool, Busy> {
        self.delete_some_if(slot, |_| true)
    }

    /// `may` is asked while the shard is held: a slot that comes back has no key of the time before, and none of the new ones is deleted.
    fn delete_some_if(&mut self, slot: u16, may: impl Fn(&Engine) -> bool) -> Result<bool, Busy> {
        let Some((db, names, has_more)) = self.some_of(slot, may)? else { return Ok(false) };
        self.session.db = db;
        let words = std::iter::once(&b"UNLINK"[..]).chain(names.iter().map(|name| &**name));
        self.run(&words.collect())?;
        Ok(has_more)
    }

    /// Deletes all keys of all databases.
    ///
    /// # Errors
    /// A script keeps the shards, or writes are paused: nothing is done.
    pub fn delete_all(&mut self) -> Result<(), Busy> {
        self.session.db = 0;
        self.run(&std::iter::once(&b"FLUSHALL"[..]).collect())
    }

    /// Names of some keys of a slot, all of one database, whose number is returned with them, and whether there may be more keys of the slot.
    fn some_of(
        &self,
        slot: u16,
        may: impl Fn(&Engine) -> bool,
    ) -> Result<Option<(usize, Names, bool)>, Busy> {
        let data =
            self.worker.engine.shards.try_lock_one(shard_of_slot(slot), NoShards::outside_commands())?;
        if !may(&self.worker.engine) {
            return Ok(None);
        }
        for (db, table) in data.tables().iter().enumerate() {
            let mut names = Names::new();
            table.walk_prefix(prefix_of_slot(slot), |entry| {
                names.push(entry.key().into());
                names.len() < PIECE
            });
            if !names.is_empty() {
                let has_more = names.len() == PIECE || !data.tables()[db + 1..].iter().all(Table::is_empty);
                return Ok(Some((db, names, has_more)));
            }
        }
        Ok(None)
    }

    fn run(&mut self, args: &OwnedArgs) -> Result<(), Busy> {
        self.worker.tick();
        let mut reply = Vec::new();
        // The one that ends a pause may be waiting for this very thread.
        let is_done = self.worker.execute_patiently(&mut self.session, args.as_args(), &mut reply, |_| false);
        self.worker.finish_round();
        if is_done { Ok(()) } else { Err(Busy) }
    }
}
