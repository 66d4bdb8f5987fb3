//! A count of the keyspace by type and encoding: keys, elements, and the bytes that they take.
//!
//! A counter that every write keeps up to date would cost each command that changes a length. Instead a thread of its own walks the
//! keyspace again and again, [`KEYS_PER_HOLD`] keys while it holds a shard, and sleeps [`REST`] times as long as it has worked; 5 million
//! strings take 15 to 30 seconds. What was counted last is shown, with the time of the count. Keys that are written meanwhile may or may not count,
//! all others do, once.
//!
//! Bytes of a collection are estimated from [`SAMPLES`] of its blocks, as `MEMORY USAGE` does it.

use crate::commands::generic::object::encoding_name;
use crate::engine::Engine;
use crate::keyspace::key::SHARDS;
use crate::keyspace::kind::{Kind, value_bytes};
use crate::keyspace::locks::{MayWait, spawn_background};
use crate::keyspace::shard::Table;
use crate::panic_on_demand::panic_if_armed;
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::value::Value;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// Keys looked at while a shard is held: some 50 microseconds.
const KEYS_PER_HOLD: usize = 256;
/// Blocks of a collection that are looked at.
const SAMPLES: u64 = 5;
/// The thread sleeps this many times as long as it has worked.
const REST: u32 = 30;
/// And between two counts.
const PAUSE: Duration = Duration::from_secs(5);
/// How long it sleeps at least, at most, at once.
const NAP: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(200));

/// What was counted of one type and encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub keys: u64,
    /// Elements of collections; strings have none.
    pub elements: u64,
    /// Of keys and values.
    pub bytes: u64,
}

/// A whole count.
#[derive(Clone, Debug, Default)]
pub(super) struct Count {
    /// By type and encoding.
    pub groups: BTreeMap<(&'static str, &'static str), Group>,
    /// Blocks of lists, those of them that are compressed, and what the bytes of lists would be if none were.
    pub list_blocks: u64,
    pub list_blocks_compressed: u64,
    pub list_plain_bytes: u64,
    /// When it was done, in seconds since 1970; 0: there was none yet.
    pub done_s: u64,
}

/// The count that was done last.
#[derive(Clone, Default)]
pub struct Census(Arc<Mutex<Count>>);

impl Census {
    /// Starts the thread that counts. It ends when the engine is gone.
    ///
    /// # Errors
    /// What the system says when it starts no further thread.
    pub fn start(engine: &Arc<Engine>) -> io::Result<Census> {
        let census = Census::default();
        let (weak, shared) = (Arc::downgrade(engine), census.clone());
        spawn_background(
            "larder-census",
            move |may_wait| while count(&weak, &shared, may_wait).is_some() {},
        )?;
        Ok(census)
    }

    pub(super) fn last(&self) -> Count {
        self.0.lock().clone()
    }
}

/// Counts once. `None`: the engine is gone.
fn count(engine: &Weak<Engine>, census: &Census, may_wait: &MayWait) -> Option<()> {
    let mut count = Count::default();
    for shard in 0..SHARDS {
        let mut place = Some((0, 0));
        while let Some((db, cursor)) = place {
            let engine = engine.upgrade()?;
            panic_if_armed();
            let begun = crate::clock::instant();
            place = count.count_some(&engine, shard, (db, cursor), may_wait);
            drop(engine);
            thread::sleep((begun.elapsed() * REST).clamp(NAP.0, NAP.1));
        }
    }
    count.done_s = crate::clock::wall_s();
    *census.0.lock() = count;
    thread::sleep(PAUSE);
    Some(())
}

impl Count {
    /// Counts some keys of a shard from a database and a cursor on; returns where to go on.
    fn count_some(
        &mut self,
        engine: &Engine,
        shard: usize,
        (mut db, mut cursor): (usize, u64),
        may_wait: &MayWait,
    ) -> Option<(usize, u64)> {
        let data = engine.shards.lock_one(shard, may_wait);
        let mut left = KEYS_PER_HOLD;
        while let Some(table) = data.tables().get(db) {
            cursor = table.scan(cursor, left, |entry| {
                self.add(&entry);
                left = left.saturating_sub(1);
            });
            if cursor == 0 {
                db += 1;
            }
            if left == 0 {
                return Some((db, cursor));
            }
        }
        None
    }

    fn add(&mut self, entry: &Entry<'_, Value>) {
        let value = entry.kept();
        let encoding = encoding_name(entry.key(), entry);
        let kind = Kind::of(&value);
        let group = self.groups.entry((kind.name(), encoding)).or_default();
        group.keys += 1;
        let bytes = Table::entry_bytes(*entry) as u64 + value_bytes(entry, SAMPLES);
        let mut saved = 0;
        if let ValueRef::Out(value) = value {
            group.elements += value.elements();
            if let Value::List(list) = &*value {
                self.list_blocks += list.node_count();
                self.list_blocks_compressed += list.compressed_blocks();
                saved = list.saved_bytes(SAMPLES);
            }
        }
        group.bytes += bytes;
        // Names and the table's own bytes count as they do above: the difference of the two is what is saved.
        if kind == Kind::List {
            self.list_plain_bytes += bytes + saved;
        }
    }
}
