//! WATCH: which transactions depend on which keys.

use larder_collections::keyed_hash::KeyedState;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when a watched key changes; the transaction then answers null.
#[derive(Debug, Default)]
pub struct Touched(AtomicBool);

impl Touched {
    /// A watched key has changed.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a watched key has changed. Read and written under the lock of the key's shard.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Watcher {
    db: usize,
    touched: Arc<Touched>,
    /// The key was overdue when it began to be watched: that it is deleted then is no change.
    overdue: bool,
}

/// The watched keys of one shard.
#[derive(Default)]
pub(crate) struct WatchMap {
    keys: HashMap<Box<[u8]>, Vec<Watcher>, KeyedState>,
}

impl WatchMap {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Number of watched keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// `overdue`: the key is there, and its time is over.
    pub(crate) fn add(&mut self, db: usize, key: &[u8], touched: &Arc<Touched>, overdue: bool) {
        let watcher = Watcher { db, touched: Arc::clone(touched), overdue };
        self.keys.entry(key.into()).or_default().push(watcher);
    }

    pub(crate) fn remove(&mut self, db: usize, key: &[u8], touched: &Arc<Touched>) {
        let Some(watchers) = self.keys.get_mut(key) else { return };
        watchers.retain(|w| w.db != db || !Arc::ptr_eq(&w.touched, touched));
        if watchers.is_empty() {
            self.keys.remove(key);
        }
    }

    /// The keys that are watched in a database.
    pub(crate) fn keys_of(&self, db: usize) -> Vec<Box<[u8]>> {
        let watched = self.keys.iter().filter(|(_, watchers)| watchers.iter().any(|w| w.db == db));
        watched.map(|(key, _)| key.clone()).collect()
    }

    /// The key has changed; `exists` says whether it is there now.
    pub(crate) fn touch(&mut self, db: usize, key: &[u8], exists: impl Fn() -> bool) {
        for watcher in self.keys.get_mut(key).into_iter().flatten().filter(|w| w.db == db) {
            if !std::mem::take(&mut watcher.overdue) || exists() {
                watcher.touched.set();
            }
        }
    }

    /// The whole database changes: marks the watchers of those keys that `changed` says of.
    pub(crate) fn touch_db(&self, db: usize, changed: impl Fn(&[u8]) -> bool) {
        for (key, watchers) in &self.keys {
            let of_db = || watchers.iter().filter(|w| w.db == db && !w.overdue);
            if of_db().next().is_some() && changed(key) {
                of_db().for_each(|watcher| watcher.touched.set());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_watchers_of_the_key_and_database_are_touched() {
        let (a, b) = (Arc::new(Touched::default()), Arc::new(Touched::default()));
        let mut map = WatchMap::default();
        map.add(0, b"k", &a, false);
        map.add(1, b"k", &b, false);
        map.touch(0, b"other", || true);
        assert!(!a.is_set());
        map.touch(0, b"k", || false);
        assert!(a.is_set() && !b.is_set());
        map.touch_db(1, |key| key == b"k");
        assert!(b.is_set());
        map.remove(0, b"k", &a);
        map.remove(1, b"k", &b);
        assert!(map.is_empty());
    }

    #[test]
    fn that_an_overdue_key_is_deleted_is_no_change() {
        let touched = Arc::new(Touched::default());
        let mut map = WatchMap::default();
        map.add(0, b"k", &touched, true);
        map.touch_db(0, |_| true);
        map.touch(0, b"k", || false);
        assert!(!touched.is_set());
        map.touch(0, b"k", || false);
        assert!(touched.is_set(), "it has come back meanwhile, and has gone again");
    }
}
