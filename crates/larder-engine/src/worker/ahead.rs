//! What the next commands will read is on its way from memory while something else is done.

use super::{PREFETCH_MAX, Worker};
use crate::clients::session::Session;
use crate::keyspace::key::Key;
use crate::keyspace::shard::Table;
use larder_collections::key_table::ValueRef;
use larder_collections::member_hash;
use larder_collections::value::Value;
use larder_resp::{Ahead, Args};

/// A collection of this many elements does not fit the cache of a processor that does other things, too.
const LARGE: u64 = 10_000;

impl Worker {
    /// Has the processor load what lookups of these keys will read, while it is still busy with something else. Worth
    /// it for several keys of a keyspace that does not fit the cache; does nothing for a small one.
    pub fn prefetch<'k>(&self, session: &Session, keys: impl Iterator<Item = &'k [u8]>) {
        self.prefetch_hashes(keys.map(|key| (session.db, self.engine.key(key).hash)));
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
            self.prefetch_hashes(self.state.known_hashes.hashes().map(|hash| (session.db, hash)));
        }
        self.prefetch_members(session.db, commands);
    }

    /// Forgets the keys of [`Worker::prepare`].
    pub fn forget_keys(&mut self) {
        self.state.known_hashes.forget();
    }

    /// As [`Worker::prefetch`], for keys of which the databases and the hashes are known.
    pub(crate) fn prefetch_hashes(&self, keys: impl Iterator<Item = (usize, u64)>) {
        if !self.engine.is_beyond_cache() {
            return;
        }
        let mut known = [(0, 0); PREFETCH_MAX];
        let mut count = 0;
        for (slot, key) in known.iter_mut().zip(keys) {
            *slot = key;
            count += 1;
        }
        if count < 2 {
            return;
        }
        // First the segments, all at once; when they have arrived, the entries in them.
        for step in [Table::prefetch, Table::prefetch_entry] {
            for &(db, hash) in &known[..count] {
                let shard = Key { bytes: b"", hash }.shard();
                let data = self.engine.shards.lock_lent_now(shard);
                if let Some(table) = data.as_ref().and_then(|data| data.table(db)) {
                    step(table, hash);
                }
            }
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
        let Some(ValueRef::Out(value)) =
            table.and_then(|table| table.get(key.hash, key.bytes)).map(|record| record.value())
        else {
            return;
        };
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

/// The member that a command is about, most likely: what comes after the key, or after the score.
fn member_of<'a>(args: Args<'a>, is_sorted: bool) -> Option<&'a [u8]> {
    if is_sorted && args.len() > 3 { args.get(3) } else { args.get(2) }
}
