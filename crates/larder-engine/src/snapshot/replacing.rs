//! All data goes, and other data takes its place: none, or what was loaded beside it.
//!
//! Clients that watch keys, and those that cache what they have read, are told. Those that wait for entries of streams go on waiting:
//! the next entry brings them all that they have missed.

use crate::clock::wall_ms;
use crate::delivery::invalidations::Invalidations;
use crate::engine::Engine;
use crate::keyspace::deadlines::due_at;
use crate::keyspace::key::SHARDS;
use crate::keyspace::locks::{MayWait, ScriptTurn};
use crate::keyspace::readers::ReadKeys;
use crate::keyspace::shard::{ShardData, Table};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How often it is looked whether lists are compressed.
const LOOK: Duration = Duration::from_millis(1);

impl Engine {
    /// Empties the keyspace and forgets all functions. The memory is freed in the background if `lazily` says so.
    pub fn clear(&self, may_wait: &MayWait, lazily: bool) {
        crate::commands::scripting::forget_all(self);
        self.replication.own_deadlines.clear();
        for shard in 0..SHARDS {
            let mut data = self.shards.lock_one(shard, may_wait);
            let old = self.replace_shard(&mut data, &mut ShardData::default());
            drop(data);
            if lazily {
                self.background.discard_tables(old);
            }
        }
        self.tell_trackers();
    }

    /// Takes the data and the functions of an engine [of its own](Engine::without_data), which nobody works
    /// with any more, in the place of what is there. The memory of that is freed in the background. All
    /// shards are held for a moment: O(databases ever used), and what was noted of the old keys (who reads
    /// them, which fields expire) is dropped meanwhile.
    pub fn take_data(&self, from: &Engine, turn: &ScriptTurn<'_>) {
        // Lists that wait for it are known by name to the other engine only.
        while from.background.compressing() > 0 {
            std::thread::sleep(LOOK);
        }
        let loaded = (0..SHARDS).map(|at| std::mem::take(&mut *from.shards.lock_one(at, turn.may_wait())));
        let loaded: Vec<ShardData> = loaded.collect();
        let mut old = Vec::new();
        let mut held = self.shards.lock_all(turn);
        for (at, mut loaded) in loaded.into_iter().enumerate() {
            let data = held.shard_mut(at).expect("all shards are held");
            old.extend(self.replace_shard(data, &mut loaded));
        }
        self.scripts.take_libraries(&from.scripts);
        self.replication.own_deadlines.clear();
        drop(held);
        self.background.discard_tables(old);
        self.tell_trackers();
    }

    /// Replaces the data of a shard, whose readers are forgotten. Returns the tables to be dropped.
    fn replace_shard(&self, data: &mut ShardData, by: &mut ShardData) -> Vec<Table> {
        self.trackers.keys.fetch_sub(data.read_keys.len(), Relaxed);
        data.read_keys = ReadKeys::default();
        data.replace_by(by, due_at(wall_ms()))
    }

    /// Everybody who caches what they have read is told that all of it has changed. No shard is held.
    fn tell_trackers(&self) {
        if self.trackers.clients.load(Relaxed) > 0 {
            let mut invalidations = Invalidations::default();
            invalidations.push_all();
            invalidations.send(self.receivers());
        }
    }
}
