//! Which hashes of a shard have fields that expire, and when the first of each does.
//!
//! One ordered set for the shard: what is due stands in front, so a cycle that finds nothing costs one look.
//! An entry has a copy of the name. A change is O(log n), with n hashes that have such fields.
//!
//! An entry may outlive its hash (one that is replaced while a file is loaded): it is dropped when its time comes.

use larder_collections::key_table::OwnedValue;
use larder_collections::value::Value;
use std::collections::BTreeSet;

/// Hashes by the time of their first field to expire.
#[derive(Default)]
pub(crate) struct FieldExpiries {
    by_time: BTreeSet<(u64, usize, Box<[u8]>)>,
    /// Entries of each database, as far as there have been any.
    counts: Vec<usize>,
}

/// The time of what never expires.
pub(crate) const NEVER: u64 = u64::MAX;

impl FieldExpiries {
    /// Notes that the first expiry of a hash has changed; [`NEVER`] for none.
    pub(crate) fn note(&mut self, db: usize, key: &[u8], before: u64, after: u64) {
        if before == after {
            return;
        }
        if before != NEVER && self.by_time.remove(&(before, db, key.into())) {
            self.counts[db] -= 1;
        }
        if after != NEVER && self.by_time.insert((after, db, key.into())) {
            self.reach(db);
            self.counts[db] += 1;
        }
    }

    /// Entries of a database. Those that outlived their hash count as well.
    pub(crate) fn len(&self, db: usize) -> usize {
        self.counts.get(db).copied().unwrap_or(0)
    }

    fn reach(&mut self, db: usize) {
        if self.counts.len() <= db {
            self.counts.resize(db + 1, 0);
        }
    }

    /// Takes out a hash in which a field is due at `now_ms`.
    pub(crate) fn pop_due(&mut self, now_ms: u64) -> Option<(usize, Box<[u8]>)> {
        let due = self.by_time.first().is_some_and(|(at, ..)| *at <= now_ms);
        let (_, db, key) = due.then(|| self.by_time.pop_first()).flatten()?;
        self.counts[db] -= 1;
        Some((db, key))
    }

    /// Whether no field expires.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_time.is_empty()
    }

    /// Drops all of a database.
    pub(crate) fn forget(&mut self, db: usize) {
        self.by_time.retain(|(_, of, _)| *of != db);
        self.counts.get_mut(db).into_iter().for_each(|count| *count = 0);
    }

    /// Exchanges two databases.
    pub(crate) fn swap(&mut self, a: usize, b: usize) {
        let renumber = |db| match db {
            _ if db == a => b,
            _ if db == b => a,
            _ => db,
        };
        self.reach(a.max(b));
        self.counts.swap(a, b);
        let all = std::mem::take(&mut self.by_time).into_iter();
        self.by_time = all.map(|(at, db, key)| (at, renumber(db), key)).collect();
    }
}

/// When the first field of a value expires, if it is a hash.
pub(crate) fn earliest_field_expiry(value: &Value) -> u64 {
    if let Value::Hash(hash) = value { hash.soonest() } else { NEVER }
}

/// The same for what was taken out of a table.
pub(crate) fn earliest_of_removed(value: &OwnedValue<Value>) -> u64 {
    if let OwnedValue::Out(value) = value { earliest_field_expiry(value) } else { NEVER }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_out_in_order() {
        let mut expiries = FieldExpiries::default();
        expiries.note(0, b"a", NEVER, 500);
        expiries.note(1, b"b", NEVER, 300);
        expiries.note(0, b"c", NEVER, 400);
        expiries.note(0, b"a", 500, 200);
        expiries.note(0, b"c", 400, NEVER);
        assert_eq!(expiries.pop_due(199), None);
        expiries.swap(0, 1);
        assert_eq!(expiries.pop_due(200), Some((1, b"a"[..].into())));
        assert_eq!(expiries.pop_due(299), None);
        expiries.forget(0);
        assert_eq!(expiries.pop_due(u64::MAX), None);
    }
}
