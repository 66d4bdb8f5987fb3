//! The whole keyspace as it was at one instant, read while it goes on changing.
//!
//! At the start all shards are held for a moment and every table told to put aside what is changed before the walk comes
//! by (see `larder_collections::key_table`). The walk then takes one segment at a time under its shard's lock, as
//! clones that share their blocks with the originals, and hands them out without any lock.
//!
//! A database that is swapped takes its part of the snapshot along; the tables of one that is flushed are kept in the
//! shard until the walk has passed.
//!
//! Tested by `tests` here: threads write everything that can be written while snapshots are read, and each must be what
//! the keyspace was at its start.

pub(crate) mod as_commands;
pub(crate) mod dropped;
pub(crate) mod load;
mod replacing;
pub(crate) mod slot_export;
mod staged;

use crate::cluster::migration::{Migration, Operation};
use crate::engine::Engine;
use crate::keyspace::key::SHARDS;
use crate::keyspace::locks::{Held, MayWait, ScriptTurn};
use crate::keyspace::shard::{ShardData, Table};
use crate::scripts::library::Libraries;
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::value::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// A snapshot of the keyspace. There is one at a time; dropping it ends it.
pub struct Snapshot {
    engine: Arc<Engine>,
    databases: Vec<DatabaseSize>,
    has_field_expiry: bool,
    changes: u64,
    libraries: Arc<Libraries>,
    history: Option<History>,
    imports: Vec<Arc<Migration>>,
    may_wait: MayWait,
}

/// Where in the history of the data a snapshot is.
#[derive(Clone, Debug)]
pub struct History {
    /// The history.
    pub id: String,
    /// The position in its stream.
    pub position: u64,
    /// The database that is selected there.
    pub db: usize,
}

/// How large a database was when the snapshot began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseSize {
    /// Its number.
    pub index: usize,
    /// Keys.
    pub keys: u64,
    /// Keys that expire.
    pub expires: u64,
}

/// The value of a key.
pub enum Content<'a> {
    /// A string.
    String(&'a [u8]),
    /// A collection, or a long string.
    Value(&'a Value),
}

/// A key of a snapshot.
pub struct Record<'a> {
    /// Its name.
    pub key: &'a [u8],
    /// Its value.
    pub content: Content<'a>,
    /// When it expires, in ms since 1970.
    pub expire_at_ms: Option<u64>,
    /// Its access word: `keyspace/access.rs` has the two forms.
    pub access: u32,
}

impl Engine {
    /// Begins a snapshot; None while another one is read. `at_start` is called in the instant that it shows, with all
    /// shards held: it must not wait for anything. The snapshot is to be read and dropped by a thread that serves no clients, or
    /// before the turn is over.
    pub fn snapshot(self: &Arc<Self>, turn: &ScriptTurn<'_>, at_start: impl FnOnce()) -> Option<Snapshot> {
        self.snapshot_with(turn, |_| at_start())
    }

    fn snapshot_with(
        self: &Arc<Self>,
        turn: &ScriptTurn<'_>,
        at_start: impl FnOnce(&mut Held<'_>),
    ) -> Option<Snapshot> {
        self.snapshotting.compare_exchange(false, true, AcqRel, Acquire).ok()?;
        let mut held = self.shards.lock_all(turn);
        let mut databases = vec![DatabaseSize::default(); self.database_count()];
        let mut has_field_expiry = false;
        for (_, shard) in held.each_mut() {
            has_field_expiry |= !shard.field_expiry.is_empty();
            for (index, table) in shard.tables_mut().iter_mut().enumerate().filter(|(_, t)| !t.is_empty()) {
                databases[index].keys += table.len() as u64;
                databases[index].expires += table.expires_len() as u64;
                table.begin_capture(index);
            }
        }
        at_start(&mut held);
        let changes = self.sum(|stats| &stats.dirty);
        let libraries = self.scripts.libraries();
        let history = self.place_in_history();
        let mut imports = self.cluster.migrations.active();
        imports.retain(|job| job.operation == Operation::Import && job.state().is_under_way());
        drop(held);
        databases.iter_mut().enumerate().for_each(|(index, database)| database.index = index);
        databases.retain(|database| database.keys > 0);
        let may_wait = turn.may_wait_for_snapshot();
        Some(Snapshot {
            engine: Arc::clone(self),
            databases,
            has_field_expiry,
            changes,
            libraries,
            history,
            imports,
            may_wait,
        })
    }
}

impl Engine {
    fn place_in_history(&self) -> Option<History> {
        let id = self.history_of_data()?;
        let (db, position) = self.append_log.stream_place();
        Some(History { id, position, db: db.unwrap_or(0) })
    }
}

impl Snapshot {
    /// The databases that have keys.
    pub fn databases(&self) -> &[DatabaseSize] {
        &self.databases
    }

    /// The texts of the libraries of functions.
    pub fn functions(&self) -> impl Iterator<Item = &[u8]> {
        self.libraries.iter().map(|library| &*library.text)
    }

    /// Whether fields of hashes may expire.
    pub fn has_field_expiry(&self) -> bool {
        self.has_field_expiry
    }

    /// The count of changes when the snapshot began, see [`Engine::changes`].
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Where in the history of the data it is; `None` if that is not followed.
    pub fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// The migrations of slots to this node, or to its primary, that were under way: their keys are not to be seen yet.
    pub fn imports(&self) -> &[Arc<Migration>] {
        &self.imports
    }

    /// Every database is in this many parts, which threads may read at the same time.
    pub const PARTS: usize = SHARDS;

    /// Hands out every key of a database, once, until `each` fails. No lock is held meanwhile.
    pub fn for_each<E>(&self, db: usize, mut each: impl FnMut(Record<'_>) -> Result<(), E>) -> Result<(), E> {
        (0..Self::PARTS).try_for_each(|part| self.for_each_in(db, part, &mut each))
    }

    /// The same for one part of a database.
    pub fn for_each_in<E>(
        &self,
        db: usize,
        part: usize,
        mut each: impl FnMut(Record<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut batch = Batch::default();
        while self.fill(part, db, &mut batch) {
            batch.hand_out(&mut each)?;
        }
        batch.hand_out(&mut each)
    }

    /// Takes the next part of a database from a shard; false when it was the last one.
    fn fill(&self, shard: usize, db: usize, batch: &mut Batch) -> bool {
        let mut data = self.engine.shards.lock_one(shard, &self.may_wait);
        let Some(table) = find(&mut data, db) else { return false };
        if table.capture_next(|entry| batch.add(&entry)) {
            return true;
        }
        let held = table.end_capture();
        let left = data.take_departed();
        drop(data);
        held.iter().for_each(|entry| batch.add(&entry));
        if !left.is_empty() {
            self.engine.background.discard_tables(left);
        }
        false
    }
}

/// The table of a shard that was database `db` when the snapshot began, if the walk has not passed it.
fn find(data: &mut ShardData, db: usize) -> Option<&mut Table> {
    data.all_tables_mut().find(|table| table.capture_label() == Some(db))
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        for shard in 0..SHARDS {
            let mut data = self.engine.shards.lock_one(shard, &self.may_wait);
            let held: Vec<_> = data.all_tables_mut().map(Table::end_capture).collect();
            let left = data.take_departed();
            drop(data);
            drop(held);
            if !left.is_empty() {
                self.engine.background.discard_tables(left);
            }
        }
        self.engine.forget_kept_aside();
        self.engine.snapshotting.store(false, Release);
    }
}

/// Keys taken in one lock hold.
#[derive(Default)]
struct Batch {
    /// Names, each with the string after it that the record holds, if it holds one.
    bytes: Vec<u8>,
    keys: Vec<Taken>,
}

/// A key in a batch.
struct Taken {
    /// Where the name ends among the bytes; it begins where the key before ends.
    name_end: usize,
    end: usize,
    /// A clone of what is not in the record.
    value: Option<Value>,
    expire_at_ms: Option<u64>,
    access: u32,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn add(&mut self, entry: &Entry<'_, Value>) {
        self.bytes.extend_from_slice(entry.key());
        let name_end = self.bytes.len();
        let value = match entry.kept() {
            ValueRef::Inline { bytes, .. } => {
                self.bytes.extend_from_slice(bytes);
                None
            }
            ValueRef::Out(value) => Some((*value).clone()),
        };
        let (expire_at_ms, access) = (entry.expire_at_ms(), entry.access());
        self.keys.push(Taken { name_end, end: self.bytes.len(), value, expire_at_ms, access });
    }

    fn hand_out<E>(&mut self, each: &mut impl FnMut(Record<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut start = 0;
        for Taken { name_end, end, value, expire_at_ms, access } in self.keys.drain(..) {
            let value = value.map(Value::into_used);
            let content = match &value {
                None => Content::String(&self.bytes[name_end..end]),
                Some(Value::String(bytes)) => Content::String(bytes),
                Some(value) => Content::Value(value),
            };
            each(Record { key: &self.bytes[start..name_end], content, expire_at_ms, access })?;
            start = end;
        }
        self.bytes.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
