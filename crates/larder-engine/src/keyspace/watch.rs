//! WATCH: which transactions depend on which keys.
//!
//! A map of the shard, from a key to those who watch it, in any database. A change of a key costs O(those who
//! watch it), a change of a whole database O(what is watched in the shard). Marks are set and looked at while
//! the shard is held.

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

    /// The key has changed; `exists` says whether it is there now.
    pub(crate) fn touch(&mut self, db: usize, key: &[u8], exists: impl Fn() -> bool) {
        for watcher in self.keys.get_mut(key).into_iter().flatten().filter(|w| w.db == db) {
            if !std::mem::take(&mut watcher.overdue) || exists() {
                watcher.touched.set();
            }
        }
    }

    /// Whether changes of a key are marked there already.
    pub(crate) fn has(&self, db: usize, key: &[u8], touched: &Arc<Touched>) -> bool {
        self.watcher(db, key, touched).is_some()
    }

    /// Whether a key was overdue when it began to be watched, and has not changed since.
    pub(crate) fn is_overdue(&self, db: usize, key: &[u8], touched: &Arc<Touched>) -> bool {
        self.watcher(db, key, touched).is_some_and(|watcher| watcher.overdue)
    }

    fn watcher(&self, db: usize, key: &[u8], touched: &Arc<Touched>) -> Option<&Watcher> {
        self.keys.get(key)?.iter().find(|w| w.db == db && Arc::ptr_eq(&w.touched, touched))
    }

    /// All keys of a database are replaced: marks those who watch one that was there, or is there now. Between a key that is
    /// overdue and none there is no difference.
    pub(crate) fn touch_db(
        &mut self,
        db: usize,
        was_there: impl Fn(&[u8]) -> bool,
        is_there: impl Fn(&[u8]) -> Presence,
    ) {
        for (key, watchers) in &mut self.keys {
            let (was_there, now) = (was_there(key), is_there(key));
            for watcher in
                watchers.iter_mut().filter(|w| w.db == db && (was_there || now != Presence::Absent))
            {
                if now == Presence::There || was_there && !watcher.overdue {
                    watcher.touched.set();
                }
                watcher.overdue = now == Presence::Overdue;
            }
        }
    }
}

/// What there is of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Nothing.
    Absent,
    /// A value whose time is over, and which has not been deleted.
    Overdue,
    /// A value.
    There,
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
        map.touch_db(1, |key| key == b"k", |_| Presence::Absent);
        assert!(b.is_set());
        map.remove(0, b"k", &a);
        map.remove(1, b"k", &b);
        assert!(map.is_empty());
    }

    #[test]
    fn an_overdue_key_in_the_place_of_none_is_no_change() {
        let touched = Arc::new(Touched::default());
        let mut map = WatchMap::default();
        map.add(0, b"k", &touched, false);
        map.touch_db(0, |_| false, |_| Presence::Absent);
        map.touch_db(0, |_| false, |_| Presence::Overdue);
        assert!(map.is_overdue(0, b"k", &touched) && !touched.is_set());
        map.touch_db(0, |_| true, |_| Presence::There);
        assert!(touched.is_set());
    }

    #[test]
    fn that_an_overdue_key_is_deleted_is_no_change() {
        let touched = Arc::new(Touched::default());
        let mut map = WatchMap::default();
        map.add(0, b"k", &touched, true);
        map.touch_db(0, |_| true, |_| Presence::Overdue);
        assert!(map.is_overdue(0, b"k", &touched) && !touched.is_set(), "as overdue as before");
        map.touch(0, b"k", || false);
        assert!(!map.is_overdue(0, b"k", &touched) && !touched.is_set());
        map.touch(0, b"k", || false);
        assert!(touched.is_set(), "it has come back meanwhile, and has gone again");
    }
}
