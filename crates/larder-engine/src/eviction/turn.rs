//! The circumstances of an eviction, and what becomes of keys that go.

use crate::delivery::invalidations::Invalidations;
use crate::delivery::publish::Speaker;
use crate::engine::Engine;
use crate::engine::notify::class;
use crate::engine::removal::{Cause, Removal};
use crate::keyspace::access::AccessRules;
use crate::keyspace::key::Key;
use crate::keyspace::kind::value_bytes;
use crate::keyspace::shard::{ShardData, Table};
use larder_collections::key_table::Entry;
use larder_collections::value::Value;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The circumstances of an eviction.
pub(crate) struct Turn<'e> {
    pub engine: &'e Engine,
    pub rules: AccessRules,
    /// How long it may take; `None` is for as long as it takes.
    pub time: Option<Duration>,
    /// The wall clock.
    pub now_ms: u64,
    /// The engine's monotonic clock.
    pub mono_ms: u64,
    /// The worker that evicts, if one does.
    pub from: Option<usize>,
    /// `maxmemory`, as it was when the turn began.
    pub limit: u64,
}

impl Turn<'_> {
    /// Whether nothing may be evicted any longer: writes have been paused for a failover, or `maxmemory` is another. To be asked while
    /// a shard is held: the thread that pauses writes waits for it, and who has changed the limit finds no key of it gone that was
    /// there afterwards.
    pub(super) fn must_stop(&self) -> bool {
        self.engine.config.hot.maxmemory.load(Relaxed) != self.limit || self.engine.pause.is_for_failover()
    }
}

/// Whether somebody is to hear of evicted keys of a shard, or the log.
pub(super) fn is_noticed(engine: &Engine, data: &ShardData) -> bool {
    data.notes_changes(&engine.trackers)
        || !data.waiting.is_empty()
        || engine.wants_events(class::EVICTED)
        || engine.append_log.wants_effects()
}

/// Tells everybody concerned that a key was evicted.
pub(super) fn tell(
    turn: &Turn<'_>,
    data: &mut ShardData,
    db: usize,
    key: &Key<'_>,
    invalidations: &mut Invalidations,
) {
    let removal =
        Removal { cause: Cause::Evicted, db, key: *key, speaker: turn.from.map(Speaker::of_worker) };
    turn.engine.removed_by_itself(data, &removal, turn.now_ms, invalidations);
}

/// Bytes of a key and its value, from a few samples of a big one.
pub(super) fn cost(entry: &Entry<'_, Value>) -> u64 {
    Table::entry_bytes(*entry) as u64 + value_bytes(entry, 5)
}

/// Frees a value here, or in the background if that takes long and may be; its bytes then count as free already.
pub(super) fn free(engine: &Engine, value: Value) {
    if !engine.config.hot.lazyfree_lazy_eviction.load(Relaxed) || !engine.background.would_take(&value) {
        return;
    }
    let bytes = value.memory_bytes(5);
    engine.eviction.in_flight.fetch_add(bytes as i64, Relaxed);
    engine.background.discard_evicted(value, bytes);
}
