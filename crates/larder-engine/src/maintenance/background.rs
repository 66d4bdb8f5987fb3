//! Work that need not hold up a worker: freeing large values, and compressing the inner blocks of lists.
//!
//! Two threads, or two for every four workers. One drops what it is sent. The other takes the names of lists that have blocks to compress, fetches
//! those blocks as clones under the shard's lock, compresses them without any lock, and puts the results in place under
//! the lock again if the blocks are still the same.
//!
//! Waking a thread costs a worker more than a push, so the second thread does not wait to be woken while lists
//! keep coming: it looks for them every [`POLL`], and sleeps for good only after [`IDLE_POLLS_MAX`] times in vain.

use super::list_blocks::compress_some;
use crate::acl::Acl;
use crate::engine::{Engine, EngineOptions};
use crate::keyspace::deferred::Counts;
use crate::keyspace::deferred::{Garbage, ListName, Work};
use crate::keyspace::encoding_limits::list_options;
use crate::keyspace::locks::{MayWait, spawn_background};
use crate::panic_on_demand::panic_if_armed;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long the compressing thread waits before it looks again.
const POLL: Duration = Duration::from_micros(500);
/// How often it looks in vain before it waits to be woken.
const IDLE_POLLS_MAX: u32 = 40;

/// After so many objects threads give back the free blocks that they keep at hand.
const OBJECTS_PER_RELEASE: u64 = 10_000;

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
    let (cold_engine, defrag_engine) = (Weak::clone(engine), Weak::clone(engine));
    spawn("larder-cold", 0, move |may_wait| super::cold::run(&cold_engine, may_wait));
    spawn("larder-defrag", 0, move |may_wait| super::defrag::run(&defrag_engine, may_wait));
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
    let mut freed = 0;
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
            freed += objects;
            if freed >= OBJECTS_PER_RELEASE && counts.pending.load(Relaxed) <= objects {
                freed = 0;
                engine.host.release_caches();
            }
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
        let options = list_options(&engine.config.hot);
        while compress_some(&engine, (name.0, &key), &options, may_wait) {}
    }
}
