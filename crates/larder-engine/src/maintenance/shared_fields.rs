//! Field names that hashes share: switched on and off, names that no hash uses freed, and hashes that were stored before
//! their names were shared converted.
//!
//! A list of names becomes a shape when enough hashes have it, so the first hashes of each list have names of their own; and
//! all have, if `hash-shared-fields` was `no` when they were stored. After a shape was created, or the option changed, one
//! walk over the keyspace converts them. So it does when many hashes were stored by threads that find shapes too rarely to
//! look for one each time: [`KEYS_PER_HOLD`] keys while a shard is held, and [`SHARE`] of each tick at most.

use crate::engine::Engine;
use crate::keyspace::key::SHARDS;
use crate::keyspace::shard::Table;
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::shapes;
use larder_collections::value::Value;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Keys looked at while a shard is held.
const KEYS_PER_HOLD: usize = 256;
/// How long the walk may take in a tick of 100 ms.
const SHARE: Duration = Duration::from_millis(2);
/// This many hashes stored without looking for a shape are reason for a walk, some time after the last one.
const SKIPPED_MIN: u64 = 10_000;
const TICKS_PER_WALK: u64 = 600;
/// Ticks between two sweeps for names that nobody uses.
const TICKS_PER_SWEEP: u64 = 100;

/// Where a walk over the keyspace is.
#[derive(Clone, Copy, Default)]
struct Place {
    shard: usize,
    db: usize,
    cursor: u64,
}

/// See the module's comment.
#[derive(Default)]
pub(super) struct SharedFields {
    ticks: u64,
    /// The option as it was applied last.
    applied: Option<bool>,
    /// Shapes that had been created when the last walk began.
    walked_for: u64,
    walk: Option<Place>,
    /// Hashes for which no shape had been sought when the last walk began, and the tick of that.
    walked_with: (u64, u64),
}

impl SharedFields {
    pub(super) fn tick(&mut self, engine: &Engine) {
        self.ticks += 1;
        if self.ticks.is_multiple_of(TICKS_PER_SWEEP) {
            shapes::sweep();
        }
        let is_on = engine.config.hot.hash_shared_fields.load(Relaxed);
        let changed = self.applied.replace(is_on) != Some(is_on);
        if changed {
            shapes::enable(is_on);
        }
        if !is_on || engine.gate.is_loading() {
            return;
        }
        let created = shapes::created();
        let skipped = shapes::skipped();
        let (skipped_then, tick_then) = self.walked_with;
        let skipped_many = skipped - skipped_then >= SKIPPED_MIN && self.ticks - tick_then >= TICKS_PER_WALK;
        if self.walk.is_none() && (changed || created != self.walked_for || skipped_many) {
            self.walked_for = created;
            self.walked_with = (skipped, self.ticks);
            self.walk = Some(Place::default());
        }
        let start = crate::clock::instant();
        while let Some(place) = self.walk
            && start.elapsed() < SHARE
        {
            let Some(next) = convert_some(engine, place) else { return };
            self.walk = next;
        }
    }
}

/// Converts some hashes from a place on; returns the next place, `Some(None)` at the end, and `None` if the shard was not
/// free.
fn convert_some(engine: &Engine, place: Place) -> Option<Option<Place>> {
    let Place { shard, db, cursor } = place;
    let mut data = engine.shards.lock_soon(shard)?;
    let next = if db < data.tables().len() { convert(engine, data.table_mut(db), cursor) } else { 0 };
    if next != 0 {
        return Some(Some(Place { cursor: next, ..place }));
    }
    if db + 1 < data.tables().len() {
        return Some(Some(Place { db: db + 1, cursor: 0, ..place }));
    }
    Some((shard + 1 < SHARDS).then_some(Place { shard: shard + 1, ..Place::default() }))
}

fn convert(engine: &Engine, table: &mut Table, cursor: u64) -> u64 {
    let mut names: Vec<Box<[u8]>> = Vec::new();
    let next = table.scan(cursor, KEYS_PER_HOLD, |entry| {
        if may_take_shape(&entry) {
            names.push(entry.key().into());
        }
    });
    for name in names {
        table.settle_value(engine.key(&name).hash, &name);
    }
    next
}

fn may_take_shape(entry: &Entry<'_, Value>) -> bool {
    !entry.is_inline_string()
        && matches!(entry.value(), ValueRef::Out(value) if matches!(&*value, Value::Hash(hash) if hash.may_take_shape()))
}
