//! Prefixes whose keys are told to those who asked, read or not.
//!
//! A thread gathers the keys that it changes in one iteration, in order, and then each prefix takes its range
//! of them: O(prefixes) an iteration in which something has changed, and O(keys) for each prefix that they
//! have.

use crate::keyspace::address::Address;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// One who listens.
#[derive(Clone, Copy)]
pub(crate) struct Listener {
    pub address: Address,
    /// It is not told of its own changes.
    pub no_loop: bool,
}

/// All prefixes and who listens to them.
#[derive(Default)]
pub(crate) struct Prefixes {
    all: RwLock<BTreeMap<Box<[u8]>, Vec<Listener>>>,
    len: AtomicUsize,
}

impl Prefixes {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }

    /// Number of different prefixes.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// Has a client listen to a prefix, or replaces what it said of its own changes.
    pub(crate) fn join(&self, prefix: &[u8], address: Address, no_loop: bool) {
        let mut all = self.all.write();
        let listeners = all.entry(prefix.into()).or_default();
        listeners.retain(|listener| listener.address != address);
        listeners.push(Listener { address, no_loop });
        self.len.store(all.len(), Relaxed);
    }

    pub(crate) fn leave(&self, prefix: &[u8], address: Address) {
        let mut all = self.all.write();
        let Some(listeners) = all.get_mut(prefix) else { return };
        listeners.retain(|listener| listener.address != address);
        if listeners.is_empty() {
            all.remove(prefix);
        }
        self.len.store(all.len(), Relaxed);
    }

    /// Calls `f` with every prefix and its listeners.
    pub(crate) fn each(&self, mut f: impl FnMut(&[u8], &[Listener])) {
        self.all.read().iter().for_each(|(prefix, listeners)| f(prefix, listeners));
    }
}
