//! What the next commands will read is on its way from memory while something else is done.

use super::{PREFETCH_MAX, Worker};
use crate::clients::session::Session;
use crate::engine::Engine;
use crate::keyspace::hash::shard_of;
use crate::keyspace::key::Key;
use crate::keyspace::locks::ShardGuard;
use crate::keyspace::recent_keys::RecentKeys;
use crate::keyspace::shard::{ShardData, Table};
use larder_collections::key_table::ValueRef;
use larder_collections::member_hash;
use larder_collections::value::Value;
use larder_resp::{Ahead, Args};

/// A collection of this many elements does not fit the cache of a processor that does other things, too.
const LARGE: u64 = 10_000;

impl Worker {
    /// Has the processor load what lookups of these keys will read, while it is still busy with something else. Worth
    /// it for several keys of a keyspace that does not fit the cache; does nothing for a small one, and for keys that are in the cache.
    pub fn prefetch<'k>(&mut self, session: &Session, keys: impl Iterator<Item = &'k [u8]>) {
        self.prefetch_hashes(keys.map(|key| (session.db, Key::of(key).hash)));
    }

    /// The same for the keys of commands that are executed next, which most have as first argument; the hashes are kept for them. The buffer of the
    /// commands must not change before [`Worker::forget_keys`].
    pub fn prepare(&mut self, session: &Session, commands: Ahead<'_>) {
        let known = &mut self.state.known_hashes;
        known.forget();
        if std::mem::take(&mut self.state.had_several) {
            // The next ones load theirs by themselves, too, most likely.
            return;
        }
        if self.engine.is_beyond_cache() {
            known.fill(commands.clone().filter_map(|args| args.get(1)));
            let keys = known.hashes().map(|hash| (session.db, hash));
            prefetch_hashes(&self.engine, &mut self.state.recent_keys, keys);
        }
        self.prefetch_members(session.db, commands);
    }

    /// Forgets the keys of [`Worker::prepare`].
    pub fn forget_keys(&mut self) {
        self.state.known_hashes.forget();
    }

    /// As [`Worker::prefetch`], for keys of which the databases and the hashes are known.
    pub(crate) fn prefetch_hashes(&mut self, keys: impl Iterator<Item = (usize, u64)>) {
        if self.engine.is_beyond_cache() {
            prefetch_hashes(&self.engine, &mut self.state.recent_keys, keys);
        }
    }

    /// Has the processor load what lookups of members in a large collection will read, if the next commands are all on one: members lie as far
    /// from each other as keys do.
    fn prefetch_members(&self, db: usize, commands: Ahead<'_>) {
        let mut commands = commands.filter(|args| args.len() > 1);
        let (Some(first), Some(second)) = (commands.next(), commands.next()) else { return };
        if first.at(1) != second.at(1) {
            return;
        }
        let key = self.engine.key(first.at(1));
        let data = self.engine.shards.lock_lent_now(key.shard());
        let table = data.as_ref().and_then(|data| data.table(db));
        let record = table.and_then(|table| table.get(key.hash, key.bytes));
        let Some(record) = record.filter(|record| !record.is_inline()) else { return };
        let ValueRef::Out(value) = record.kept() else { return };
        let has_members = matches!(&*value, Value::Hash(_) | Value::Set(_) | Value::SortedSet(_));
        if !has_members || value.elements() < LARGE {
            return;
        }
        let is_sorted = matches!(&*value, Value::SortedSet(_));
        let (mut hashes, mut count) = ([0; PREFETCH_MAX], 0);
        let next = commands.take_while(|args| args.at(1) == key.bytes);
        let members = [first, second].into_iter().chain(next).filter_map(|args| member_of(args, is_sorted));
        for (slot, member) in hashes.iter_mut().zip(members) {
            *slot = member_hash(member);
            count += 1;
        }
        value.prefetch_members(&hashes[..count]);
    }
}

fn prefetch_hashes(engine: &Engine, recent: &mut RecentKeys, keys: impl Iterator<Item = (usize, u64)>) {
    let mut wanted = [(0, 0); PREFETCH_MAX];
    let (mut all, mut count) = (0, 0);
    for (db, hash) in keys.take(PREFETCH_MAX) {
        all += 1;
        if !recent.note(db, hash) {
            wanted[count] = (db, hash);
            count += 1;
        }
    }
    // One alone is looked up at once.
    if all < 2 {
        return;
    }
    let wanted = &wanted[..count];
    let mut kept: [Option<ShardGuard<'_>>; PREFETCH_MAX] = [const { None }; PREFETCH_MAX];
    // A thread that serves all clients takes no shard from anybody: it keeps them between the steps. Of several, none keeps what it does not work on.
    let keeps = engine.threads == 1;
    // First the segments, all at once; when they have arrived, the entries in them.
    for (at, &(db, hash)) in wanted.iter().enumerate() {
        let shard = shard_of(hash);
        let guard = engine.shards.lock_lent_now(shard);
        match &guard {
            Some(data) => prefetch(data, db, |table| table.prefetch(hash)),
            // An earlier key is in the same one.
            None => {
                let same = wanted[..at].iter().position(|&(_, earlier)| shard_of(earlier) == shard);
                if let Some(data) = same.and_then(|same| kept[same].as_ref()) {
                    prefetch(data, db, |table| table.prefetch(hash));
                }
            }
        }
        kept[at] = guard.filter(|_| keeps);
    }
    for (at, &(db, hash)) in wanted.iter().enumerate() {
        if let Some(data) = kept[at].take().or_else(|| engine.shards.lock_lent_now(shard_of(hash))) {
            prefetch(&data, db, |table| table.prefetch_entry(hash));
        }
    }
}

#[inline]
fn prefetch(data: &ShardData, db: usize, step: impl FnOnce(&Table) -> bool) {
    if let Some(table) = data.table(db) {
        step(table);
    }
}

/// The member that a command is about, most likely: what comes after the key, or after the score.
fn member_of<'a>(args: Args<'a>, is_sorted: bool) -> Option<&'a [u8]> {
    if is_sorted && args.len() > 3 { args.get(3) } else { args.get(2) }
}
