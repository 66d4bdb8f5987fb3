//! Client-side caching: who is told that a key has changed.
//!
//! Three parts:
//! - what a connection asked for ([`state::Tracking`]): only its worker looks at it;
//! - which keys were read by whom ([`table::ReadKeys`]): one table in each shard, under the lock that readers and writers
//!   of the key hold anyway;
//! - which prefixes are listened to ([`broadcast::Prefixes`]).
//!
//! Whoever changes a key takes its readers out of the table and notes them ([`Invalidations`]); when his command is done
//! and the shard unlocked, each worker that owns some of them gets one mail. The owner decides: the connection may have
//! turned tracking off, may not want to hear of its own changes, or has its messages redirected, in which case the mail
//! goes on to the worker of the other connection. An invalidation may therefore come late, but never too early: the
//! reply that made a client cache a value is in its output before its worker looks at its mail.
//!
//! Changes for prefixes are collected and sent at the end of each iteration of an event loop, each key once.
//!
//! Keys are told by name, whatever database they are in, as in Redis.

mod broadcast;
mod delivery;
mod invalidations;
mod state;
mod table;

pub(crate) use delivery::{finish_command, invalidate, invalidate_for_other};
pub use invalidations::Invalidation;
pub(crate) use invalidations::Invalidations;
pub(crate) use state::{Options, Tracking, end_caching, turn_off, turn_on};
pub(crate) use table::ReadKeys;

use crate::context::{Context, WorkerState};
use crate::engine::Engine;
use crate::keys;
use crate::pubsub::Address;
use crate::shard::{Key, SHARDS, ShardData};
use broadcast::Prefixes;
use larder_resp::Args;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Keys forgotten after one command, at most, when the tables hold too many.
const FORGOTTEN_AT_ONCE: usize = 100;

/// What all threads share.
#[derive(Default)]
pub(crate) struct Trackers {
    /// Connections that have tracking turned on.
    pub clients: AtomicUsize,
    /// Keys in the tables of all shards.
    pub keys: AtomicUsize,
    pub prefixes: Prefixes,
    /// The shard where keys are forgotten next.
    cursor: AtomicUsize,
}

impl Trackers {
    /// Whether anybody must be told of changes that no table knows of.
    #[inline]
    pub(crate) fn broadcasts(&self) -> bool {
        !self.prefixes.is_empty()
    }
}

impl ShardData {
    /// Whether anybody watches or has read a key of the shard, or is told of all changes: else [`changed`](Self::changed)
    /// does nothing.
    pub(crate) fn notes_changes(&self, engine: &Engine) -> bool {
        !self.watched.is_empty() || !self.read_keys.is_empty() || engine.trackers.broadcasts()
    }

    /// A key of the shard has changed: marks those who watch it, and notes those who are to be told. `writer` is the
    /// client who did it, 0 for none.
    #[inline]
    pub(crate) fn changed(
        &mut self,
        engine: &Engine,
        db: usize,
        key: &Key<'_>,
        writer: u64,
        told: &mut Invalidations,
    ) {
        if !self.watched.is_empty() {
            self.touch_watched(db, key);
        }
        if !self.read_keys.is_empty() {
            self.invalidate(engine, key, writer, told);
        }
        if engine.trackers.broadcasts() {
            told.broadcast(key.bytes, writer);
        }
    }

    #[cold]
    fn invalidate(&mut self, engine: &Engine, key: &Key<'_>, writer: u64, told: &mut Invalidations) {
        let readers = self.read_keys.take(key);
        if !readers.is_empty() {
            engine.trackers.keys.fetch_sub(1, Relaxed);
            told.push(key.bytes, readers, writer);
        }
    }
}

/// After a command of a connection with tracking: remembers which keys it has read. The shards are still locked.
#[cold]
pub(crate) fn remember(context: &mut Context<'_>, args: Args<'_>) {
    let reader = Address { worker: context.worker.index, client: context.session.id() };
    if !context.session.tracking.as_ref().is_some_and(|tracking| tracking.remembers()) {
        return;
    }
    for name in keys::collect(context.found.command, args) {
        let key = context.key(name);
        let Some(shard) = context.held.shard_mut(key.shard()) else { continue };
        if shard.read_keys.add(&key, reader) {
            context.engine.trackers.keys.fetch_add(1, Relaxed);
        }
    }
}

/// Forgets keys while the tables hold more than they may, a bounded number of them. No shard is locked.
pub(crate) fn limit_keys(engine: &Engine, rng: &mut fastrand::Rng, told: &mut Invalidations) {
    let max = engine.config.hot.tracking_table_max_keys.load(Relaxed);
    let is_over = || max > 0 && engine.trackers.keys.load(Relaxed) as u64 > max;
    let mut left = FORGOTTEN_AT_ONCE;
    for _ in 0..SHARDS {
        if !is_over() {
            return;
        }
        let at = engine.trackers.cursor.fetch_add(1, Relaxed) % SHARDS;
        let Some(mut shard) = engine.shards.lock_now(at) else { continue };
        while left > 0
            && is_over()
            && let Some((name, readers)) = shard.read_keys.take_random(rng)
        {
            engine.trackers.keys.fetch_sub(1, Relaxed);
            told.push(&name, readers, 0);
            left -= 1;
        }
    }
}

/// All databases, or one, were emptied, and all shards are locked: forgets all keys, and notes that everybody is told.
pub(crate) fn forget_all(context: &mut Context<'_>) {
    let engine = context.engine;
    if engine.trackers.clients.load(Relaxed) == 0 && engine.trackers.keys.load(Relaxed) == 0 {
        return;
    }
    for shard in 0..SHARDS {
        let data = context.shard_of_all(shard);
        engine.trackers.keys.fetch_sub(data.read_keys.len(), Relaxed);
        data.read_keys = ReadKeys::default();
    }
    context.worker.invalidations.push_all();
}

impl WorkerState {
    /// Sends what the changes of a loop's iteration have for the listeners of prefixes.
    pub(crate) fn finish_round(&mut self, engine: &Engine) {
        self.invalidations.send_broadcasts(engine, Some(self.index));
    }
}
