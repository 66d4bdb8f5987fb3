//! The shards of the keyspace: each holds a slice of every database behind one lock.
//!
//! A key belongs to the shard that bits 16..24 of its hash name; within the shard's tables those bits are
//! constant, so the tables use the others. With the data of a shard are kept the transactions that watch its
//! keys, the clients that wait for them, the clients that cache them, and when fields of its hashes expire:
//! the thread that changes a key holds the lock that all of these need. How shards are locked:
//! [`locks`](crate::keyspace::locks).

use crate::keyspace::deadlines::is_due;
use crate::keyspace::field_expiry::FieldExpiries;
use crate::keyspace::hash::hash;
use crate::keyspace::key::Key;
use crate::keyspace::readers::ReadKeys;
use crate::keyspace::reserved::Reserved;
use crate::keyspace::waiting::WaitMap;
use crate::keyspace::watch::{Presence, WatchMap};
use larder_collections::key_table::KeyTable;
use larder_collections::value::Value;

/// The slice of one database.
pub type Table = KeyTable<Value, crate::keyspace::hash::KeyspaceHash>;

/// What a shard's lock protects.
#[derive(Default)]
pub struct ShardData {
    tables: Vec<Table>,
    /// Tables that were flushed while a snapshot had not passed them.
    departed: Vec<Table>,
    pub(crate) watched: WatchMap,
    pub(crate) read_keys: ReadKeys,
    pub(crate) waiting: WaitMap,
    pub(crate) field_expiry: FieldExpiries,
    pub(crate) reserved: Reserved,
}

impl ShardData {
    /// Whether a command on keys of this shard is to be looked at once more before it is executed: keys are reserved, or somebody waits to move elements
    /// to other shards.
    #[inline]
    pub(crate) fn needs_care(&self) -> bool {
        !self.reserved.is_empty() || self.waiting.has_movers()
    }

    /// All keys of a database go, or those of another come into their place: before they do.
    pub(crate) fn touch_watched_db(&mut self, db: usize, replaced_by: Option<usize>, due_ms: u64) {
        if self.watched.is_empty() {
            return;
        }
        let (old, new) = (self.tables.get(db), replaced_by.and_then(|other| self.tables.get(other)));
        let was_there = |key: &[u8]| presence(old, key, due_ms) != Presence::Absent;
        self.watched.touch_db(db, was_there, |key| presence(new, key, due_ms));
    }

    /// All data goes, and that of another shard takes its place. Returns the tables to be dropped.
    pub(crate) fn replace_by(&mut self, other: &mut ShardData, due_ms: u64) -> Vec<Table> {
        for db in 0..self.tables.len().max(other.tables.len()) {
            let (old, new) = (self.tables.get(db), other.tables.get(db));
            let was_there = |key: &[u8]| presence(old, key, due_ms) != Presence::Absent;
            self.watched.touch_db(db, was_there, |key| presence(new, key, due_ms));
        }
        let old = (0..self.tables.len()).filter_map(|db| self.depart(db)).collect();
        for (db, table) in other.tables.iter_mut().enumerate() {
            *self.table_mut(db) = std::mem::take(table);
        }
        self.field_expiry = std::mem::take(&mut other.field_expiry);
        old
    }

    /// A watched key may have changed.
    pub(crate) fn touch_watched(&mut self, db: usize, key: &Key<'_>) {
        let table = self.tables.get(db);
        let exists = || table.is_some_and(|table| table.get(key.hash, key.bytes).is_some());
        self.watched.touch(db, key.bytes, exists);
    }

    /// The slice of database `db`, if it was ever written to.
    pub fn table(&self, db: usize) -> Option<&Table> {
        self.tables.get(db)
    }

    /// The slice of database `db`, to change.
    #[inline]
    pub fn table_mut(&mut self, db: usize) -> &mut Table {
        if db >= self.tables.len() {
            self.open_table(db);
        }
        &mut self.tables[db]
    }

    #[cold]
    fn open_table(&mut self, db: usize) {
        // There are 256 such vectors, and most have one table for good.
        self.tables.reserve_exact(db + 1 - self.tables.len());
        self.tables.resize_with(db + 1, Table::default);
    }

    /// The slices of all databases ever written to.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The slices of all databases ever written to, to change.
    pub(crate) fn tables_mut(&mut self) -> &mut [Table] {
        &mut self.tables
    }

    /// All of them, and those that only a snapshot still needs.
    pub(crate) fn all_tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.tables.iter_mut().chain(&mut self.departed)
    }

    /// Takes the slice of a database out, to be dropped; an empty one stands in its place. Keeps it if a snapshot has not
    /// passed it.
    pub(crate) fn depart(&mut self, db: usize) -> Option<Table> {
        let table = std::mem::take(self.table_mut(db));
        if table.capture_label().is_none() {
            return Some(table);
        }
        self.departed.push(table);
        None
    }

    /// Takes the tables that no snapshot needs any more.
    pub(crate) fn take_departed(&mut self) -> Vec<Table> {
        self.departed.extract_if(.., |table| table.capture_label().is_none()).collect()
    }

    /// Exchanges two databases.
    pub fn swap_tables(&mut self, a: usize, b: usize) {
        self.table_mut(a.max(b));
        self.tables.swap(a, b);
        self.field_expiry.swap(a, b);
    }
}

/// Whether a table has a key.
fn presence(table: Option<&Table>, key: &[u8], due_ms: u64) -> Presence {
    match table.and_then(|table| table.get(hash(key), key)) {
        None => Presence::Absent,
        Some(entry) if is_due(&entry, due_ms) => Presence::Overdue,
        Some(_) => Presence::There,
    }
}
