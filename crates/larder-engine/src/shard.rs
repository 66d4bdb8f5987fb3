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
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

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

/// How long those who hold a shard and wait for another sleep between two looks at whether they must give way.
const LOOK: Duration = Duration::from_micros(200);
/// How long those who hold nothing and wait sleep between two looks at whether a script keeps them waiting.
const LOOK_FOR_BUSY: Duration = Duration::from_millis(20);

/// One that holds so many shards locks all of them when it needs more.
const WIDEN_ALL_FROM: usize = 32;

/// All shards, and the rules by which several are locked.
///
/// - R1: whoever locks several shards locks them in ascending order.
/// - R2: one command at a time, the holder of the scripts' turn, may *widen*: lock shards that it does not hold yet, in
///   any order. Whoever waits for a shard while holding others gives way to it: lets everything
///   go, waits until the widening is over, and starts again. Nothing has been done yet when that happens, because
///   handlers run only once all locks are there (or walk, holding one shard and waiting for none).
/// - R3: a script that runs for too long says so ([`Shards::set_busy`]); those who wait in [`Shards::acquire`] give up.
pub(crate) struct Shards {
    list: Box<[Shard]>,
    /// Somebody is widening.
    widening: AtomicBool,
    /// Held by whoever is widening.
    widener: Mutex<()>,
    busy: AtomicBool,
}

/// A script keeps the shards for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy;

impl Deref for Shards {
    type Target = [Shard];

    fn deref(&self) -> &[Shard] {
        &self.list
    }
}

impl Default for Shards {
    fn default() -> Self {
        Shards {
            list: (0..SHARDS).map(|_| Shard::default()).collect(),
            widening: AtomicBool::new(false),
            widener: Mutex::new(()),
            busy: AtomicBool::new(false),
        }
    }
}

impl Shards {
    /// Locks one shard; gives up when a script keeps it for long.
    #[inline]
    pub(crate) fn acquire(&self, at: usize) -> Result<Held<'_>, Busy> {
        match self.list[at].try_lock() {
            Some(data) => Ok(Held::One(at, data)),
            None => Ok(Held::One(at, self.first(at, true)?)),
        }
    }

    /// The same, for those who hold no other.
    pub(crate) fn lock_one(&self, at: usize) -> Result<MutexGuard<'_, ShardData>, Busy> {
        self.first(at, true)
    }

    /// Locks the shards in `wanted`, which need be neither sorted nor unique; gives up when a script keeps one for long.
    pub(crate) fn acquire_many(&self, wanted: Vec<usize>) -> Result<Held<'_>, Busy> {
        self.several(wanted, true)
    }

    /// The same, however long it takes.
    pub(crate) fn many(&self, wanted: Vec<usize>) -> Held<'_> {
        self.several(wanted, false).expect("only those give up who may")
    }

    fn several(&self, mut wanted: Vec<usize>, gives_up: bool) -> Result<Held<'_>, Busy> {
        wanted.sort_unstable();
        wanted.dedup();
        match wanted[..] {
            [] => Ok(Held::None),
            [at] => Ok(Held::One(at, self.first(at, gives_up)?)),
            _ => {
                let guards = self.in_order(&wanted, gives_up)?;
                Ok(Held::Many(wanted.into_iter().zip(guards).collect()))
            }
        }
    }

    /// Locks all shards; gives up when a script keeps one for long.
    pub(crate) fn acquire_all(&self) -> Result<Held<'_>, Busy> {
        Ok(Held::All(self.in_order(&ALL, true)?))
    }

    /// Locks all shards, however long that takes.
    pub(crate) fn all(&self) -> Held<'_> {
        Held::All(self.all_guards())
    }

    /// The same, as one lock each.
    pub(crate) fn all_guards(&self) -> Vec<MutexGuard<'_, ShardData>> {
        self.in_order(&ALL, false).expect("only those give up who may")
    }

    /// Locks all shards that `held` does not hold yet. Only for the holder of the scripts' turn.
    pub(crate) fn widen<'e>(&'e self, held: Held<'e>) -> Held<'e> {
        if held.is_all() {
            return held;
        }
        let turn = self.widener.lock();
        self.widening.store(true, SeqCst);
        let mut had = held.into_guards().into_iter().peekable();
        let guards = (0..SHARDS)
            .map(|at| match had.next_if(|(held, _)| *held == at) {
                Some((_, data)) => data,
                None => self.list[at].lock(),
            })
            .collect();
        self.widening.store(false, SeqCst);
        drop(turn);
        Held::All(guards)
    }

    /// Locks further shards. Only for the holder of the scripts' turn.
    pub(crate) fn widen_to<'e>(&'e self, held: Held<'e>, wanted: &[usize]) -> Held<'e> {
        if held.is_all() {
            return held;
        }
        let mut guards = held.into_guards();
        if guards.len() + wanted.len() > WIDEN_ALL_FROM {
            return self.widen(Held::Many(guards));
        }
        let turn = self.widener.lock();
        self.widening.store(true, SeqCst);
        for &at in wanted {
            if let Err(place) = guards.binary_search_by_key(&at, |(held, _)| *held) {
                guards.insert(place, (at, self.list[at].lock()));
            }
        }
        self.widening.store(false, SeqCst);
        drop(turn);
        Held::Many(guards)
    }

    /// A script runs for too long, or has ended.
    pub(crate) fn set_busy(&self, on: bool) {
        self.busy.store(on, SeqCst);
    }

    /// Whether a script runs for too long.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Waits for a turn that only scripts and those who wait for them take; gives up when one runs for too long.
    pub(crate) fn wait_for<'t>(&self, turn: &'t Mutex<()>) -> Result<MutexGuard<'t, ()>, Busy> {
        loop {
            if let Some(turn) = turn.try_lock_for(LOOK_FOR_BUSY) {
                return Ok(turn);
            }
            if self.is_busy() {
                return Err(Busy);
            }
        }
    }

    fn in_order(&self, wanted: &[usize], gives_up: bool) -> Result<Vec<MutexGuard<'_, ShardData>>, Busy> {
        'again: loop {
            let mut guards = Vec::with_capacity(wanted.len());
            guards.push(self.first(wanted[0], gives_up)?);
            for &at in &wanted[1..] {
                match self.next(at) {
                    Some(data) => guards.push(data),
                    None => {
                        drop(guards);
                        drop(self.widener.lock());
                        continue 'again;
                    }
                }
            }
            return Ok(guards);
        }
    }

    /// Locks a shard while holding none.
    fn first(&self, at: usize, gives_up: bool) -> Result<MutexGuard<'_, ShardData>, Busy> {
        if !gives_up {
            return Ok(self.list[at].lock());
        }
        loop {
            if let Some(data) = self.list[at].0.try_lock_for(LOOK_FOR_BUSY) {
                return Ok(data);
            }
            if self.is_busy() {
                return Err(Busy);
            }
        }
    }

    /// Locks a shard while holding others; `None`: they must be let go.
    fn next(&self, at: usize) -> Option<MutexGuard<'_, ShardData>> {
        if let Some(data) = self.list[at].try_lock() {
            return Some(data);
        }
        while !self.widening.load(SeqCst) {
            if let Some(data) = self.list[at].0.try_lock_for(LOOK) {
                return Some(data);
            }
        }
        None
    }
}

/// The numbers of all shards.
const ALL: [usize; SHARDS] = {
    let mut all = [0; SHARDS];
    let mut at = 0;
    while at < SHARDS {
        all[at] = at;
        at += 1;
    }
    all
};

/// The shards that a command holds locked.
pub(crate) enum Held<'e> {
    None,
    One(usize, MutexGuard<'e, ShardData>),
    Many(Vec<(usize, MutexGuard<'e, ShardData>)>),
    All(Vec<MutexGuard<'e, ShardData>>),
}

impl<'e> Held<'e> {
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

    /// Whether shard `at` is held.
    #[inline]
    pub(crate) fn holds(&self, at: usize) -> bool {
        match self {
            Held::None => false,
            Held::One(held, _) => *held == at,
            Held::Many(held) => held.binary_search_by_key(&at, |(held, _)| *held).is_ok(),
            Held::All(_) => true,
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

    /// The locks with the numbers of their shards, in ascending order.
    fn into_guards(self) -> Vec<(usize, MutexGuard<'e, ShardData>)> {
        match self {
            Held::None => Vec::new(),
            Held::One(at, data) => vec![(at, data)],
            Held::Many(held) => held,
            Held::All(held) => held.into_iter().enumerate().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn held_shards_are_found_and_others_are_not() {
        let shards = Shards::default();
        let mut held = shards.acquire_many(vec![9, 3, 9, 200]).unwrap();
        for at in 0..SHARDS {
            assert_eq!(held.shard_mut(at).is_some(), [3, 9, 200].contains(&at));
            assert_eq!(held.holds(at), [3, 9, 200].contains(&at));
        }
        drop(held);
        assert!(matches!(shards.acquire_many(vec![5, 5]), Ok(Held::One(5, _))));
        assert!(shards.acquire_many(vec![]).is_ok_and(|held| held.is_none()));
        let mut all = shards.all();
        assert!(all.is_all() && (0..SHARDS).all(|at| all.shard_mut(at).is_some() && all.holds(at)));
    }

    #[test]
    fn those_who_wait_give_up_when_a_script_takes_too_long() {
        let shards = Shards::default();
        let held = shards.all();
        shards.set_busy(true);
        assert!(shards.acquire(7).is_err_and(|busy| busy == Busy));
        assert!(shards.acquire_many(vec![1, 2]).is_err() && shards.acquire_all().is_err());
        drop(held);
        assert!(shards.acquire_many(vec![1, 2]).is_ok(), "what is free is given in any case");
    }

    /// One thread widens again and again, from a few shards; others lock pairs and everything. All of them get through,
    /// and nobody is where somebody else is.
    #[test]
    fn widening_goes_through_among_others() {
        let (shards, inside) =
            (Arc::new(Shards::default()), Arc::new([const { AtomicUsize::new(0) }; SHARDS]));
        let enter = |inside: &[AtomicUsize; SHARDS], held: &Held<'_>| {
            let mine: Vec<usize> = (0..SHARDS).filter(|&at| held.holds(at)).collect();
            for &at in &mine {
                assert_eq!(inside[at].fetch_add(1, SeqCst), 0, "shard {at} has two holders");
            }
            for &at in &mine {
                inside[at].fetch_sub(1, SeqCst);
            }
        };
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let (shards, inside) = (Arc::clone(&shards), Arc::clone(&inside));
                std::thread::spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(thread);
                    for round in 0..500 {
                        let wanted = vec![rng.usize(..SHARDS), rng.usize(..SHARDS), rng.usize(..SHARDS)];
                        let held = match (thread, round % 50) {
                            (0, 0) => shards.widen(shards.acquire_many(wanted).unwrap()),
                            (0, _) => shards.widen_to(shards.acquire(wanted[0]).unwrap(), &wanted[1..]),
                            (_, 0) => shards.all(),
                            _ => shards.acquire_many(wanted).unwrap(),
                        };
                        enter(&inside, &held);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
