//! Keys on their way to another server: nobody changes them until it is known whether they have arrived.
//!
//! MIGRATE sends a key without holding its shard. While it is on its way, commands that would change it are put off, as CLIENT
//! PAUSE does; those that read it are answered. So what has arrived is what is deleted here, and nothing is sent twice: a second
//! copy could overwrite what clients of the target have written since. Scripts do not run meanwhile: MIGRATE has their turn.
//! What changes a key without a command of its own (a deadline that passes, a blocked command that is served) is found out
//! at the end by watching: such a key stays.
//!
//! The list changes while the shards of its keys are held, and is looked at while those of a command are.
//! Tested by `tests/persistence/migrate.rs`.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The keys, by database.
#[derive(Default)]
pub(crate) struct Departures {
    any: AtomicBool,
    keys: Mutex<HashSet<(usize, Box<[u8]>)>>,
}

impl Departures {
    /// A key leaves. Its shard is held.
    pub(crate) fn add(&self, db: usize, key: &[u8]) {
        let mut keys = self.keys.lock();
        keys.insert((db, key.into()));
        self.any.store(true, Relaxed);
    }

    /// It has arrived, or stays.
    pub(crate) fn remove(&self, db: usize, key: &[u8]) {
        let mut keys = self.keys.lock();
        keys.remove(&(db, Box::from(key)));
        self.any.store(!keys.is_empty(), Relaxed);
    }

    /// Whether there are any.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// Whether one of these keys is among them.
    pub(crate) fn concern(&self, db: usize, keys: &[&[u8]]) -> bool {
        let leaving = self.keys.lock();
        keys.iter().any(|&key| leaving.contains(&(db, Box::from(key))))
    }
}
