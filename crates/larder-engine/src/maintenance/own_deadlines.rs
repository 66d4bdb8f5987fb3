//! Keys that clients of a writable replica have given a deadline: the replica deletes them itself.

use crate::clock::{instant, wall_ms};
use crate::delivery::invalidations::Invalidations;
use crate::engine::Engine;
use crate::engine::removal::{Cause, Removal};
use crate::keyspace::deadlines::due_at;
use crate::keyspace::field_expiry::{NEVER, earliest_of_removed};
use crate::keyspace::shard::ShardData;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Keys that are taken at once.
const BATCH: usize = 64;
/// How long the timer may be about it.
const SHARE: Duration = Duration::from_millis(10);

impl Engine {
    /// Deletes keys whose deadlines are over, of those that clients of this replica have set. The append-only file is told, the replicas of this
    /// one are not: they know what the primary knows.
    pub(super) fn expire_own(&self) {
        let own = &self.replication.own_deadlines;
        let (start, due_ms) = (instant(), due_at(wall_ms()));
        let (mut expired, mut missed) = (0, Vec::new());
        while start.elapsed() < SHARE {
            let due = own.take_due(due_ms, BATCH);
            if due.is_empty() {
                break;
            }
            for (db, name) in due {
                match self.expire_own_key(db, &name, due_ms) {
                    Some(is_expired) => expired += u64::from(is_expired),
                    None => missed.push((db, name)),
                }
            }
        }
        // Next time.
        missed.iter().for_each(|(db, name)| own.note(*db, name, due_ms));
        self.expired_actively.fetch_add(expired, Relaxed);
    }

    /// Deletes a key if it is there and its deadline is over; says whether it did. `None` if its shard was not free.
    fn expire_own_key(&self, db: usize, name: &[u8], due_ms: u64) -> Option<bool> {
        let key = self.key(name);
        let mut data = self.shards.lock_soon(key.shard())?;
        let mut invalidations = Invalidations::default();
        let deadline = data.table(db).and_then(|table| table.get(key.hash, name)?.expire_at_ms());
        let is_over = deadline.is_some_and(|at_ms| at_ms <= due_ms);
        if is_over {
            self.remove_own(&mut data, db, name, &mut invalidations);
        } else if let Some(at_ms) = deadline {
            self.replication.own_deadlines.note(db, name, at_ms);
        }
        drop(data);
        invalidations.send(self.receivers());
        Some(is_over)
    }

    fn remove_own(&self, data: &mut ShardData, db: usize, name: &[u8], invalidations: &mut Invalidations) {
        let key = self.key(name);
        let Some(removed) = data.table_mut(db).remove(key.hash, name) else { return };
        let first_field = earliest_of_removed(&removed.value);
        self.background.discard_owned(removed.value, self.expires_lazily());
        data.field_expiry.note(db, name, first_field, NEVER);
        let removal = Removal { cause: Cause::Expired, db, key, speaker: None };
        self.removed_by_itself(data, &removal, wall_ms(), invalidations);
    }
}
