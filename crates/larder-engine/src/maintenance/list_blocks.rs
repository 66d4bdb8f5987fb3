//! Compresses the inner blocks of a list: fetches them as clones under the shard's lock, compresses
//! them without any lock, and puts the results in place under the lock again if the blocks are still
//! the same.

use crate::engine::Engine;
use crate::keyspace::key::Key;
use crate::keyspace::locks::{MayWait, ShardGuard, Shards};
use larder_collections::list::ListOptions;
use larder_collections::value::Value;
use std::time::Duration;

/// Blocks fetched from a list in one lock hold.
const BLOCKS_PER_HOLD: usize = 16;

/// How often a thread looks whether a shard is free before it sleeps: for 10 us or so, as long as a pipeline may hold it.
const LOCK_LOOKS: u32 = 200;
/// How long it sleeps then, and how many times.
const LOCK_WAIT: Duration = Duration::from_micros(50);
const LOCK_TRIES: u32 = 20;

/// Locks a shard that a worker may hold. If the worker has lost its processor to this very thread, it gets it back best
/// when this thread sleeps a little: one that yields, as those do who wait for a lock, gives away its turn of several
/// milliseconds, and one that is woken costs the worker.
pub(super) fn lock_patiently<'e>(shards: &'e Shards, shard: usize, may_wait: &MayWait) -> ShardGuard<'e> {
    for _ in 0..LOCK_TRIES {
        for _ in 0..LOCK_LOOKS {
            if let Some(guard) = shards.lock_now(shard) {
                return guard;
            }
            std::hint::spin_loop();
        }
        std::thread::sleep(LOCK_WAIT);
    }
    shards.lock_one(shard, may_wait)
}

/// One round over a list; false when nothing is left to do. A result that comes too late is no reason to stop: the list
/// tells of work only once.
pub(super) fn compress_some(
    engine: &Engine,
    (db, key): (usize, &Key<'_>),
    options: &ListOptions,
    may_wait: &MayWait,
) -> bool {
    let lock = || lock_patiently(&engine.shards, key.shard(), may_wait);
    let jobs = match lock().table_mut(db).get_mut_same(key.hash, key.bytes).as_deref_mut() {
        Some(Value::List(list)) => list.compression_work(options, BLOCKS_PER_HOLD),
        _ => return false,
    };
    if jobs.is_empty() {
        return false;
    }
    let done: Vec<_> = jobs.iter().map(larder_collections::list::Job::run).collect();
    let mut data = lock();
    let mut value = data.table_mut(db).get_mut_same(key.hash, key.bytes);
    let Some(Value::List(list)) = value.as_deref_mut() else { return false };
    for one in done {
        list.apply(one, options);
    }
    true
}
