//! Background work on the field names that hashes share: applies the option, frees unused names, and converts hashes that
//! were stored before their names were shared.
//!
//! A list of names becomes a shape when enough hashes have it, so the first hashes of each list keep names of their own, and
//! all hashes do while `hash-shared-fields` is `no`. A walk over the keyspace converts them. It starts after a shape was
//! created, after the option was switched on, and after many hashes were stored by threads that find shapes too rarely to look
//! for one each time. It looks at [`KEYS_PER_HOLD`] keys while it holds a shard, and takes [`SHARE`] of each tick at most.
//!
//! Nobody has counted the names of the hashes that were stored while the option was off. So the walk that follows the switch
//! counts them, and the shapes that it creates bring about another walk.

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
    /// Whether the walk counts the names of hashes for which there is no shape.
    counts: bool,
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
    /// Whether the option was switched on, and no walk has begun since.
    is_new: bool,
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
        // The engine has applied the option when it was created; it may have changed before the first tick.
        let before = self.applied.replace(is_on).unwrap_or_else(shapes::is_enabled);
        if before != is_on {
            shapes::enable(is_on);
            self.is_new = is_on;
        }
        if !is_on || engine.gate.is_loading() {
            return;
        }
        let created = shapes::created();
        let skipped = shapes::skipped();
        let (skipped_then, tick_then) = self.walked_with;
        let skipped_many = skipped - skipped_then >= SKIPPED_MIN && self.ticks - tick_then >= TICKS_PER_WALK;
        if self.is_new || self.walk.is_none() && (created != self.walked_for || skipped_many) {
            self.walked_for = created;
            self.walked_with = (skipped, self.ticks);
            self.walk = Some(Place { counts: std::mem::take(&mut self.is_new), ..Place::default() });
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
    let Place { counts, shard, db, .. } = place;
    let mut data = engine.shards.lock_soon(shard)?;
    let next = if db < data.tables().len() { convert(engine, data.table_mut(db), place) } else { 0 };
    if next != 0 {
        return Some(Some(Place { cursor: next, ..place }));
    }
    if db + 1 < data.tables().len() {
        return Some(Some(Place { db: db + 1, cursor: 0, ..place }));
    }
    Some((shard + 1 < SHARDS).then_some(Place { counts, shard: shard + 1, ..Place::default() }))
}

fn convert(engine: &Engine, table: &mut Table, place: Place) -> u64 {
    let mut names: Vec<Box<[u8]>> = Vec::new();
    let next = table.scan(place.cursor, KEYS_PER_HOLD, |entry| {
        if may_change(&entry, place.counts) {
            names.push(entry.key().into());
        }
    });
    for name in names {
        table.settle_value(engine.key(&name).hash, &name);
    }
    next
}

/// Whether settling a value may convert it, or counts its names if the walk `counts`.
fn may_change(entry: &Entry<'_, Value>, counts: bool) -> bool {
    let ValueRef::Out(value) = entry.kept() else { return false };
    let Value::Hash(hash) = &*value else { return false };
    if counts { !hash.is_shaped() } else { hash.may_take_shape() }
}
