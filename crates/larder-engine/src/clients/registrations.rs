//! What connections have left in the shards: keys that they watch, and keys that they wait for.
//!
//! When a connection watches or waits no more, its entries there have no effect any more: the mark of a watched key is read by
//! nobody, and a waiter is claimed. They are taken out at once if their shard is free, else a little later by the timer, so that
//! no worker waits for a shard in order to forget.

use crate::clients::queue::Watched;
use crate::keyspace::key::Key;
use crate::keyspace::locks::Shards;
use crate::keyspace::shard::ShardData;
use crate::keyspace::waiting::Waiter;
use parking_lot::Mutex;
use std::sync::Arc;

/// Something that a connection has left in a shard.
pub(crate) enum Registration {
    /// A key of a transaction.
    Watched(Watched),
    /// One of the keys of a blocked client, by its number.
    Waiting(Arc<Waiter>, usize),
}

impl Registration {
    fn key(&self) -> &[u8] {
        match self {
            Registration::Watched(watched) => &watched.key,
            Registration::Waiting(waiter, at) => &waiter.keys[*at],
        }
    }

    /// Takes it out of its shard.
    pub(crate) fn remove_from(&self, data: &mut ShardData) {
        match self {
            Registration::Watched(watched) => {
                data.watched.remove(watched.db, &watched.key, &watched.touched);
            }
            Registration::Waiting(waiter, at) => data.waiting.remove(&waiter.keys[*at], waiter),
        }
    }
}

/// Those whose shards were not free.
#[derive(Default)]
pub(crate) struct StaleRegistrations(Mutex<Vec<Registration>>);

impl StaleRegistrations {
    /// Takes a registration out of its shard, at once or soon. The caller holds no shard.
    pub(crate) fn forget(&self, shards: &Shards, registration: Registration) {
        if let Err(registration) = try_forget(shards, registration) {
            self.0.lock().push(registration);
        }
    }

    /// Tries again what [`forget`](Self::forget) could not do. Called by the timer.
    pub(crate) fn forget_stale(&self, shards: &Shards) {
        let stale = std::mem::take(&mut *self.0.lock());
        let left: Vec<_> = stale.into_iter().filter_map(|one| try_forget(shards, one).err()).collect();
        if !left.is_empty() {
            self.0.lock().extend(left);
        }
    }
}

fn try_forget(shards: &Shards, registration: Registration) -> Result<(), Registration> {
    let at = Key::of(registration.key()).shard();
    // What clients have registered is nothing that a script which lends the shard could have seen.
    match shards.lock_lent_now(at) {
        Some(mut data) => {
            registration.remove_from(&mut data);
            Ok(())
        }
        None => Err(registration),
    }
}
