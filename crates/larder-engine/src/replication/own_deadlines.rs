//! Deadlines that clients of a writable replica have set.
//!
//! A replica deletes nothing by its clock: its primary does, and says so. But the primary knows nothing of what clients write to the replica
//! itself, so those keys would stay for good. The replica remembers them by their deadlines, and deletes them itself, as Valkey does. It looks at a key again
//! when the deadline that was noted is over; by then the key may be gone, or have another one.
//!
//! Setting: O(log n) for n keys, and two copies of a counted name. Nothing is noted elsewhere.

use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Keys and their deadlines.
#[derive(Debug, Default)]
pub(crate) struct OwnDeadlines(Mutex<Inner>);

/// A database and a name in it.
type Place = (usize, Arc<[u8]>);

#[derive(Debug, Default)]
struct Inner {
    by_key: HashMap<Place, u64>,
    by_time: BTreeSet<(u64, Place)>,
}

impl OwnDeadlines {
    /// Notes the deadline of a key, in place of one that was noted before.
    pub(crate) fn note(&self, db: usize, key: &[u8], at_ms: u64) {
        let mut inner = self.0.lock();
        let place = (db, Arc::from(key));
        if let Some(before) = inner.by_key.insert(Place::clone(&place), at_ms) {
            inner.by_time.remove(&(before, Place::clone(&place)));
        }
        inner.by_time.insert((at_ms, place));
    }

    /// Takes out up to `max` keys whose deadlines are over, the first ones first.
    pub(crate) fn take_due(&self, due_ms: u64, max: usize) -> Vec<Place> {
        let mut inner = self.0.lock();
        let mut due = Vec::new();
        while due.len() < max
            && let Some((at_ms, place)) = inner.by_time.pop_first()
        {
            if at_ms > due_ms {
                inner.by_time.insert((at_ms, place));
                break;
            }
            inner.by_key.remove(&place);
            due.push(place);
        }
        due
    }

    /// Forgets all: the data is replaced, or this is a primary now, which deletes by its clock.
    pub(crate) fn clear(&self) {
        *self.0.lock() = Inner::default();
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().by_key.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_deadline_of_a_key_counts() {
        let own = OwnDeadlines::default();
        own.note(0, b"a", 10);
        own.note(0, b"b", 5);
        own.note(1, b"a", 7);
        own.note(0, b"a", 3);
        own.note(0, b"b", 20);
        assert_eq!(own.len(), 3);
        let names =
            |places: Vec<Place>| places.into_iter().map(|(db, key)| (db, key.to_vec())).collect::<Vec<_>>();
        assert_eq!(names(own.take_due(2, 9)), []);
        assert_eq!(names(own.take_due(10, 1)), [(0, b"a".to_vec())]);
        assert_eq!(names(own.take_due(10, 9)), [(1, b"a".to_vec())]);
        assert_eq!(own.len(), 1);
        own.clear();
        assert_eq!((own.len(), own.take_due(100, 9).len()), (0, 0));
    }
}
