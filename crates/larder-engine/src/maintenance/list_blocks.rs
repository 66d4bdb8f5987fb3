//! Compresses the inner blocks of a list: fetches them as clones under the shard's lock, compresses
//! them without any lock, and puts the results in place under the lock again if the blocks are still
//! the same.

use super::pace::lock_patiently;
use crate::engine::Engine;
use crate::keyspace::key::Key;
use crate::keyspace::locks::MayWait;
use larder_collections::list::ListOptions;
use larder_collections::value::Value;

/// Blocks fetched from a list in one lock hold.
const BLOCKS_PER_HOLD: usize = 16;

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
