//! What the thread that compresses cold values is told, and what it has found.

use super::cold_classes::Dictionaries;
use larder_collections::cold::{Cold, ColdParts};
use parking_lot::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// See the module's comment.
#[derive(Default)]
pub(crate) struct ColdState {
    /// How often all dictionaries were to be given up.
    forgotten: AtomicU64,
    /// The dictionaries in use, by database.
    dictionaries: Mutex<Vec<Dictionaries>>,
    figures: Mutex<ColdFigures>,
}

/// Values that are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColdFigures {
    /// Number of them.
    pub values: u64,
    /// Bytes that they are made of.
    pub raw_bytes: u64,
    /// Bytes that they are kept in.
    pub packed_bytes: u64,
}

impl ColdFigures {
    /// Counts nodes of a stream or values of a hash, each as a value.
    pub(crate) fn add_parts(&mut self, cold: &ColdParts) {
        self.values += cold.count;
        self.raw_bytes += cold.plain_bytes;
        self.packed_bytes += cold.heap_bytes;
    }

    /// Counts a value.
    pub(crate) fn add(&mut self, cold: &Cold) {
        self.values += 1;
        self.raw_bytes += cold.raw_bytes() as u64;
        self.packed_bytes += cold.packed_bytes() as u64;
    }
}

impl ColdState {
    /// Data is gone, or is another database's now: no dictionary made of it serves any further value.
    pub(crate) fn forget_dictionaries(&self) {
        let mut dictionaries = self.dictionaries.lock();
        self.forgotten.fetch_add(1, Relaxed);
        dictionaries.clear();
    }

    /// The dictionaries of a database.
    pub(crate) fn dictionaries(&self, db: usize) -> Dictionaries {
        self.dictionaries.lock().get(db).cloned().unwrap_or_default()
    }

    /// Tells others of the dictionaries of a database, unless they were to be given up since
    /// [`forgotten`](Self::forgotten) had this value. `change` gets those that are known.
    pub(crate) fn change_dictionaries(
        &self,
        db: usize,
        forgotten: u64,
        change: impl FnOnce(&mut Dictionaries),
    ) {
        let mut dictionaries = self.dictionaries.lock();
        if self.forgotten() != forgotten {
            return;
        }
        if dictionaries.len() <= db {
            dictionaries.resize_with(db + 1, Dictionaries::default);
        }
        change(&mut dictionaries[db]);
    }

    /// How often that has happened.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten.load(Relaxed)
    }

    /// Stores what a walk over the keyspace has found.
    pub(crate) fn store(&self, figures: ColdFigures) {
        *self.figures.lock() = figures;
    }

    /// What the last walk has found.
    pub(crate) fn figures(&self) -> ColdFigures {
        *self.figures.lock()
    }
}
