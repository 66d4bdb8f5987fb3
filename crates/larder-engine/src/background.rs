//! Work that need not hold up a worker: freeing large values, and compressing the inner blocks of lists.
//!
//! Two threads. One drops what it is sent. The other takes the names of lists that have blocks to compress, fetches
//! those blocks as clones under the shard's lock, compresses them without any lock, and puts the results in place under
//! the lock again if the blocks are still the same.
//!
//! Waking a thread costs a worker more than a push, so the second thread does not wait to be woken while lists
//! keep coming: it looks for them every [`POLL`], and sleeps for good only after [`IDLE_POLLS_MAX`] times in vain.

use crate::crash::panic_if_armed;
use crate::engine::Engine;
use crate::locks::{MayWait, ShardGuard, Shards, spawn_background};
use crate::shard::{Key, Table};
use larder_collections::key_table::OwnedValue;
use larder_collections::value::Value;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A value whose drop frees more allocations than this is dropped in the background.
const FREE_EFFORT_MAX: usize = 64;
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

enum Garbage {
    /// An evicted value, and its bytes.
    Evicted(#[expect(dead_code, reason = "it is only there to be dropped")] Value, u64),
    Value(#[expect(dead_code, reason = "it is only there to be dropped")] Value),
    Tables(Vec<Table>),
}

impl Garbage {
    /// How many keys' values it is.
    fn objects(&self) -> u64 {
        match self {
            Garbage::Evicted(..) | Garbage::Value(_) => 1,
            Garbage::Tables(tables) => tables.iter().map(|table| table.len() as u64).sum(),
        }
    }
}

type ListName = (usize, Box<[u8]>);

/// The handles of the background threads.
pub(crate) struct Background {
    garbage: Sender<Garbage>,
    lists: Sender<ListName>,
    counts: Arc<Counts>,
    /// Lists already on the way to the compressor.
    queued: Arc<Mutex<HashSet<ListName>>>,
}

#[derive(Default)]
struct Counts {
    pending: AtomicU64,
    freed: AtomicU64,
}

impl Background {
    /// Starts the threads; they end when the engine is gone.
    pub(crate) fn start(engine: Weak<Engine>) -> Self {
        let counts = Arc::new(Counts::default());
        let queued = Arc::new(Mutex::new(HashSet::new()));
        let (garbage, to_drop) = channel();
        let (lists, to_compress) = channel();
        let (drop_counts, compress_queued) = (Arc::clone(&counts), Arc::clone(&queued));
        let free_engine = engine.clone();
        spawn("larder-free", move |_| free_all(&free_engine, &to_drop, &drop_counts));
        spawn("larder-pack", move |may_wait| {
            compress_all(&engine, &to_compress, &compress_queued, may_wait);
        });
        Background { garbage, lists, counts, queued }
    }

    /// Drops a value: here, or in the background when it is large and `lazily` allows it.
    pub(crate) fn discard(&self, value: Value, lazily: bool) {
        if lazily && self.would_take(&value) {
            self.send(Garbage::Value(value));
        }
    }

    /// Whether a value is better dropped in the background.
    pub(crate) fn would_take(&self, value: &Value) -> bool {
        value.free_effort() > FREE_EFFORT_MAX
    }

    /// Drops an evicted value of so many bytes in the background; the engine is told when they are free.
    pub(crate) fn discard_evicted(&self, value: Value, bytes: u64) {
        self.send(Garbage::Evicted(value, bytes));
    }

    /// The same for a value taken from a table.
    pub(crate) fn discard_owned(&self, value: OwnedValue<Value>, lazily: bool) {
        if let OwnedValue::Out(value) = value {
            self.discard(value, lazily);
        }
    }

    /// Drops whole tables in the background.
    pub(crate) fn discard_tables(&self, tables: Vec<Table>) {
        self.send(Garbage::Tables(tables));
    }

    fn send(&self, garbage: Garbage) {
        self.counts.pending.fetch_add(garbage.objects(), Relaxed);
        // The receiver lives as long as the channel: its thread ends only when all senders are gone.
        let _ = self.garbage.send(garbage);
    }

    /// Compresses the inner blocks of a list soon.
    pub(crate) fn compress(&self, db: usize, key: &[u8]) {
        let name = (db, key.into());
        if self.queued.lock().insert(name) {
            let _ = self.lists.send((db, key.into()));
        }
    }

    /// Values that wait to be freed, and those freed so far.
    pub(crate) fn freed(&self) -> (u64, u64) {
        (self.counts.pending.load(Relaxed), self.counts.freed.load(Relaxed))
    }

    /// Forgets what has been freed so far, for CONFIG RESETSTAT.
    pub(crate) fn reset(&self) {
        self.counts.freed.store(0, Relaxed);
    }

    /// Lists that wait to be compressed.
    pub(crate) fn compressing(&self) -> usize {
        self.queued.lock().len()
    }
}

fn spawn(name: &str, run: impl FnOnce(&MayWait) + Send + 'static) {
    spawn_background(name, run).expect("the system lets the process have two more threads");
}

fn free_all(engine: &Weak<Engine>, garbage: &Receiver<Garbage>, counts: &Counts) {
    for item in garbage {
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
    let options = crate::thresholds::list_options(engine);
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
