//! Work that need not hold up a worker, on its way to the threads that do it: large values to be freed, lists with blocks to be
//! compressed.

use super::key::Key;
use super::shard::Table;
use larder_collections::key_table::OwnedValue;
use larder_collections::value::Value;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};

pub(crate) enum Garbage {
    /// An evicted value, and its bytes.
    Evicted(#[expect(dead_code, reason = "it is only there to be dropped")] Value, u64),
    Value(#[expect(dead_code, reason = "it is only there to be dropped")] Value),
    Tables(Vec<Table>),
}

impl Garbage {
    /// How many keys' values it is.
    pub(crate) fn objects(&self) -> u64 {
        match self {
            Garbage::Evicted(..) | Garbage::Value(_) => 1,
            Garbage::Tables(tables) => tables.iter().map(|table| table.len() as u64).sum(),
        }
    }
}

pub(crate) type ListName = (usize, Box<[u8]>);

/// A value whose drop frees more allocations than this is dropped in the background.
pub(crate) const FREE_EFFORT_MAX: usize = 64;

/// Workers that one thread of each kind works for.
const WORKERS_PER_THREAD: usize = 4;
const THREADS_MAX: usize = 4;

/// The handles of the background threads.
pub(crate) struct Background {
    garbage: Sender<Garbage>,
    /// One for each thread that compresses: a list has its own.
    lists: Box<[Sender<ListName>]>,
    counts: Arc<Counts>,
    /// Lists already on the way to the compressor.
    queued: Arc<Mutex<HashSet<ListName>>>,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) pending: AtomicU64,
    pub(crate) freed: AtomicU64,
}

/// The other ends of the queues.
pub(crate) struct Work {
    /// Shared by the threads that free.
    pub to_drop: Arc<Mutex<Receiver<Garbage>>>,
    /// One for each thread that compresses.
    pub to_compress: Vec<Receiver<ListName>>,
    pub counts: Arc<Counts>,
    /// Lists whose names are in the queue.
    pub queued: Arc<Mutex<HashSet<ListName>>>,
}

impl Background {
    /// The queues, and what the threads that work on them take: one of each kind for every [`WORKERS_PER_THREAD`] of this many workers.
    pub(crate) fn new(workers: usize) -> (Self, Work) {
        let threads = workers.div_ceil(WORKERS_PER_THREAD).clamp(1, THREADS_MAX);
        let counts = Arc::new(Counts::default());
        let queued = Arc::new(Mutex::new(HashSet::new()));
        let (garbage, to_drop) = channel();
        let (lists, to_compress): (Vec<_>, Vec<_>) = (0..threads).map(|_| channel()).unzip();
        let work = Work {
            to_drop: Arc::new(Mutex::new(to_drop)),
            to_compress,
            counts: Arc::clone(&counts),
            queued: Arc::clone(&queued),
        };
        (Background { garbage, lists: lists.into(), counts, queued }, work)
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

    /// Drops an evicted value of this many bytes in the background; the engine is told when they are free.
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
    pub(crate) fn compress(&self, db: usize, key: &Key<'_>) {
        let name = (db, key.bytes.into());
        if self.queued.lock().insert(name) {
            let _ = self.lists[key.shard() % self.lists.len()].send((db, key.bytes.into()));
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
