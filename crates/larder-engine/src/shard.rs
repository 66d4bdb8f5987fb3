//! The shards of the keyspace: each holds a slice of every database behind one lock.
//!
//! A key belongs to the shard that bits 16..24 of its hash name; within the shard's tables those bits are constant,
//! so the tables use the others. With the data of a shard live the transactions that watch its keys and the clients
//! that wait for them: whoever changes a key holds the lock that both need.

use crate::blocking::WaitMap;
use crate::field_expiry::FieldExpiries;
use crate::tracking::ReadKeys;
use crate::watch::WatchMap;
use larder_collections::key_table::KeyTable;
use larder_collections::value::Value;
use parking_lot::{Mutex, MutexGuard};

/// Number of shards; a power of two.
pub const SHARDS: usize = 256;

const _: () = assert!(SHARDS.is_power_of_two());

/// A key with its hash, computed once a command.
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    /// The name.
    pub bytes: &'k [u8],
    /// The seeded hash of the name.
    pub hash: u64,
}

impl Key<'_> {
    /// The shard that the key belongs to.
    pub fn shard(&self) -> usize {
        (self.hash >> 16) as usize & (SHARDS - 1)
    }
}

/// The slice of one database.
pub type Table = KeyTable<Value, crate::hash::KeyspaceHash>;

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
}

impl ShardData {
    /// The slice of database `db`, if it was ever written to.
    pub fn table(&self, db: usize) -> Option<&Table> {
        self.tables.get(db)
    }

    /// The slice of database `db`, to change.
    pub fn table_mut(&mut self, db: usize) -> &mut Table {
        if db >= self.tables.len() {
            self.tables.resize_with(db + 1, Table::default);
        }
        &mut self.tables[db]
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

/// A shard, alone on its cache lines.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Shard(Mutex<ShardData>);

impl Shard {
    /// The data, if nobody holds the lock now.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, ShardData>> {
        self.0.try_lock()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ShardData> {
        self.0.lock()
    }
}

/// The shards that a command holds locked. They are locked in ascending order, so that no two commands wait for each
/// other.
pub(crate) enum Held<'e> {
    None,
    One(usize, MutexGuard<'e, ShardData>),
    Many(Vec<(usize, MutexGuard<'e, ShardData>)>),
    All(Vec<MutexGuard<'e, ShardData>>),
}

impl<'e> Held<'e> {
    /// Locks one shard.
    pub(crate) fn one(shards: &'e [Shard], at: usize) -> Self {
        Held::One(at, shards[at].lock())
    }

    /// Locks the shards in `wanted`, which need be neither sorted nor unique.
    pub(crate) fn many(shards: &'e [Shard], mut wanted: Vec<usize>) -> Self {
        wanted.sort_unstable();
        wanted.dedup();
        match wanted[..] {
            [] => Held::None,
            [at] => Held::one(shards, at),
            _ => Held::Many(wanted.into_iter().map(|at| (at, shards[at].lock())).collect()),
        }
    }

    /// Locks all shards.
    pub(crate) fn all(shards: &'e [Shard]) -> Self {
        Held::All(shards.iter().map(Shard::lock).collect())
    }

    /// The data of shard `at`, if it is held.
    #[inline]
    pub(crate) fn shard_mut(&mut self, at: usize) -> Option<&mut ShardData> {
        match self {
            Held::None => None,
            Held::One(held, data) => (*held == at).then_some(&mut **data),
            Held::Many(held) => {
                let found = held.binary_search_by_key(&at, |(held, _)| *held).ok()?;
                Some(&mut *held[found].1)
            }
            Held::All(held) => Some(&mut *held[at]),
        }
    }

    /// Whether nothing is held.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Held::None)
    }

    /// Whether all shards are held.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Held::All(_))
    }

    /// Whether any of the shards held satisfies `predicate`.
    pub(crate) fn any(&self, predicate: impl Fn(&ShardData) -> bool) -> bool {
        match self {
            Held::None => false,
            Held::One(_, data) => predicate(data),
            Held::Many(held) => held.iter().any(|(_, data)| predicate(data)),
            Held::All(held) => held.iter().any(|data| predicate(data)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_shards_are_found_and_others_are_not() {
        let shards: Vec<Shard> = (0..SHARDS).map(|_| Shard::default()).collect();
        let mut held = Held::many(&shards, vec![9, 3, 9, 200]);
        for at in 0..SHARDS {
            assert_eq!(held.shard_mut(at).is_some(), [3, 9, 200].contains(&at));
        }
        drop(held);
        assert!(matches!(Held::many(&shards, vec![5, 5]), Held::One(5, _)));
        assert!(Held::many(&shards, vec![]).is_none());
        let mut all = Held::all(&shards);
        assert!(all.is_all() && (0..SHARDS).all(|at| all.shard_mut(at).is_some()));
    }
}
