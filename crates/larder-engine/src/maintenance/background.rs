//! Work that need not hold up a worker: freeing large values, and compressing the inner blocks of lists.
//!
//! Two threads, or two for every four workers. One drops what it is sent. The other takes the names of lists that have blocks to compress, fetches
//! those blocks as clones under the shard's lock, compresses them without any lock, and puts the results in place under
//! the lock again if the blocks are still the same.
//!
//! Waking a thread costs a worker more than a push, so the second thread does not wait to be woken while lists
//! keep coming: it looks for them every [`POLL`], and sleeps for good only after [`IDLE_POLLS_MAX`] times in vain.

use crate::acl::Acl;
use crate::engine::{Engine, EngineOptions};
use crate::keyspace::deferred::Counts;
use crate::keyspace::deferred::{Garbage, ListName, Work};
use crate::keyspace::key::Key;
use crate::keyspace::locks::{MayWait, ShardGuard, Shards, spawn_background};
use crate::panic_on_demand::panic_if_armed;
use larder_collections::value::Value;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Blocks fetched from a list in one lock hold.
const BLOCKS_PER_HOLD: usize = 16;

/// How long the compressing thread waits before it looks again.
const POLL: Duration = Duration::from_micros(500);
/// How often it looks in vain before it waits to be woken.
const IDLE_POLLS_MAX: u32 = 40;

/// How often a thread looks whether a shard is free before it sleeps: for 10 us or so, as long as a pipeline may hold it.
const LOCK_LOOKS: u32 = 200;
/// How long it sleeps then, and how many times.
const LOCK_WAIT: Duration = Duration::from_micros(50);
const LOCK_TRIES: u32 = 20;

impl Engine {
    /// An engine with an empty keyspace, and its background threads.
    pub fn new(options: EngineOptions) -> Arc<Engine> {
        let acl = Arc::new(Acl::new(&options.config));
        let (engine, work) = Engine::build(options, acl, false);
        start(&Arc::downgrade(&engine), work);
        engine
    }

    /// An engine for a copy of the data, with the users of another one.
    pub(crate) fn copied(options: EngineOptions, acl: Arc<Acl>) -> Arc<Engine> {
        let (engine, work) = Engine::build(options, acl, true);
        start(&Arc::downgrade(&engine), work);
        engine
    }
}

/// Starts the threads; they end when the engine is gone.
fn start(engine: &Weak<Engine>, work: Work) {
    let Work { to_drop, to_compress, counts, queued } = work;
    for (at, names) in to_compress.into_iter().enumerate() {
        let (free_engine, pack_engine) = (Weak::clone(engine), Weak::clone(engine));
        let (to_drop, counts, queued) = (Arc::clone(&to_drop), Arc::clone(&counts), Arc::clone(&queued));
        spawn("larder-free", at, move |_| free_all(&free_engine, &to_drop, &counts));
        spawn("larder-pack", at, move |may_wait| compress_all(&pack_engine, &names, &queued, may_wait));
    }
}

/// Starts the `at`-th thread of a kind.
fn spawn(kind: &str, at: usize, run: impl FnOnce(&MayWait) + Send + 'static) {
    let name = if at == 0 { kind.to_owned() } else { format!("{kind}-{at}") };
    spawn_background(&name, run).expect("the system lets the process have some more threads");
}

fn free_all(engine: &Weak<Engine>, garbage: &Mutex<Receiver<Garbage>>, counts: &Counts) {
    loop {
        // Those who have nothing to do wait for their turn to wait.
        let Ok(item) = garbage.lock().recv() else { return };
        panic_if_armed();
        let objects = item.objects();
        let evicted = if let Garbage::Evicted(_, bytes) = item { bytes } else { 0 };
        drop(item);
        if let Some(engine) = engine.upgrade() {
            engine.share_growth();
            engine.eviction.landed(evicted);
        }
        counts.pending.fetch_sub(objects, Relaxed);
        counts.freed.fetch_add(objects, Relaxed);
    }
}

/// The next name; None when nobody is left to send one.
fn next_name(names: &Receiver<ListName>) -> Option<ListName> {
    for _ in 0..IDLE_POLLS_MAX {
        match names.try_recv() {
            Ok(name) => return Some(name),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::thread::sleep(POLL),
        }
    }
    larder_packed::codec::release_contexts();
    names.recv().ok()
}

fn compress_all(
    engine: &Weak<Engine>,
    lists: &Receiver<ListName>,
    queued: &Mutex<HashSet<ListName>>,
    may_wait: &MayWait,
) {
    while let Some(name) = next_name(lists) {
        panic_if_armed();
        queued.lock().remove(&name);
        let Some(engine) = engine.upgrade() else { return };
        let key = engine.key(&name.1);
        while compress_some(&engine, name.0, &key, may_wait) {}
    }
}

/// Locks a shard that a worker may hold. If the worker has lost its processor to this very thread, it gets it back best
/// when this thread sleeps a little: one that yields, as those do who wait for a lock, gives away its turn of several
/// milliseconds, and one that is woken costs the worker.
fn lock_patiently<'e>(shards: &'e Shards, shard: usize, may_wait: &MayWait) -> ShardGuard<'e> {
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
fn compress_some(engine: &Engine, db: usize, key: &Key<'_>, may_wait: &MayWait) -> bool {
    let options = crate::keyspace::encoding_limits::list_options(&engine.config.hot);
    let lock = || lock_patiently(&engine.shards, key.shard(), may_wait);
    let jobs = match lock().table_mut(db).get_mut_same(key.hash, key.bytes).as_deref_mut() {
        Some(Value::List(list)) => list.compression_work(&options, BLOCKS_PER_HOLD),
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
        list.apply(one, &options);
    }
    true
}
