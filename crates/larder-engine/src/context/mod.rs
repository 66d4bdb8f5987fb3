//! What a command works with: the keyspace through the locks that it holds, its connection, and its reply.
//!
//! Handlers see keys, values and the reply; expiry, statistics, waiting clients and watched keys are looked after here.

mod apart;
pub(crate) mod beside;
pub(crate) mod deadlines;
mod effects;
pub(crate) mod flow;
mod hash;
pub(crate) mod lending;
mod long;
mod notify;
pub(crate) mod postponed;
pub(crate) mod replies;
mod several;
mod shards;
pub(crate) mod stream_effects;
pub(crate) mod stream_reads;
pub(crate) mod stream_replies;
mod strings;
mod typed;

pub(crate) use long::{COLD_BYTES_MOMENT, MOMENT, bytes_as_elements, lookups_as_elements};
pub(crate) use typed::Typed;

use crate::aof::effects::Effects;
use crate::aof::log::Ends;
use crate::clients::session::Session;
use crate::clock::Clock;
use crate::command::lookup_cache::Recent;
use crate::command::spec::Found;
use crate::context::beside::Beside;
use crate::context::flow::Flow;
use crate::context::postponed::LongState;
use crate::delivery::invalidations::Invalidations;
use crate::delivery::mailbox::Mailbox;
use crate::delivery::publish::Speaker;
use crate::delivery::unblock::Answers;
use crate::engine::Engine;
use crate::engine::notify::class;
use crate::engine::removal::{Cause, Removal};
use crate::error::{CommandError, CommandResult};
use crate::eviction::Evictor;
use crate::keyspace::access::{AccessRules, Touch};
use crate::keyspace::deadlines::{NOTHING_IS_DUE, is_due};
use crate::keyspace::encoding_limits::{Thresholds, list_options};
use crate::keyspace::field_expiry::NEVER;
use crate::keyspace::field_expiry::earliest_field_expiry;
use crate::keyspace::key::Key;
use crate::keyspace::kind::{Kind, string_len};
use crate::keyspace::known_hashes::KnownHashes;
use crate::keyspace::locks::{Busy, Held, Lends, ScriptTurn};
use crate::keyspace::recent_keys::RecentKeys;
use crate::keyspace::shard::{ShardData, Table};
use crate::ledger::NoShards;
use crate::replication::unit::Unit;
use crate::stats::counters::ThreadStats;
use larder_cluster::SlotMap;
use larder_collections::hash::Hash;
use larder_collections::key_table::{Attempt, Entry, ExpireChange, NewValue, Old, OwnedValue, Removed};
use larder_collections::list::{List, ListOptions};
use larder_collections::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_resp::{Args, Reply};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Kind bytes of strings that the table keeps inline.
pub(crate) mod inline {
    /// A string.
    pub const STRING: u8 = 0;
    /// A string that was edited in place: OBJECT ENCODING calls it raw.
    pub const RAW: u8 = 1;
    /// A number with a fraction, which OBJECT ENCODING calls no integer even where it is one.
    pub const FLOAT: u8 = 2;
}

/// What a worker has for its commands, beside the engine.
pub(crate) struct WorkerState {
    /// What runs the commands, by their ids.
    pub handlers: &'static [Handler],
    pub index: usize,
    pub stats: Arc<ThreadStats>,
    pub mailbox: Arc<Mailbox>,
    pub clock: Clock,
    pub rng: fastrand::Rng,
    pub list_options: ListOptions,
    pub thresholds: Thresholds,
    pub access: AccessRules,
    pub evictor: Evictor,
    /// Commands found before.
    pub recent: Recent,
    /// Keys of the commands that come next.
    pub known_hashes: KnownHashes,
    /// Keys that it has looked up shortly before.
    pub recent_keys: RecentKeys,
    /// Room for those of a command of several keys.
    pub command_hashes: KnownHashes,
    /// The last command that had not one key was one of several, and the next ones have not been looked at since.
    pub had_several: bool,
    /// The hash of that one of them that is being worked on, if it is known that there is no such key.
    pub absent: Option<u64>,
    /// The hash of the one key of the command that is being executed, if the check of its slot has computed it.
    pub checked_hash: Option<u64>,
    /// The slot of the keys that the last script has used, if it keeps to one.
    pub called_slot: Option<u16>,
    /// Who has which slot of the cluster, as this thread has last seen it.
    pub slot_map: Option<Arc<SlotMap>>,
    /// The command that [`crate::context::flow::Flow::Script`] was answered for, or the next one of a batch.
    pub admitted: Option<Found>,
    /// A command whose keys somebody keeps for long is put aside.
    pub puts_aside: bool,
    /// What it does with commands that take long.
    pub long: LongState,
    /// The hashes of the keys that a script has used before it lends its shards.
    pub script_keys: Vec<u64>,
    /// What the command has done, for the log.
    pub effects: Effects,
    /// FLUSHALL was among what ran: the host is told when no shard is held.
    pub flushed: bool,
    /// There are errors among what the script has returned: its call counts as one that failed.
    pub returned_errors: Cell<bool>,
    /// The command has sent a message that its own client gets.
    pub heard_itself: Cell<bool>,
    /// Replies to waiting clients that were served, until the effects of the unit are in the log.
    pub answers: Answers,
    /// Where the effects end that this thread's replies show.
    pub written: Ends,
    /// What the primary has sent and is being executed.
    pub unit: Option<Box<Unit>>,
    /// The waiting client that is being served: it changes the keys then, and not the client whose command made them ready.
    pub served: Option<u64>,
    /// A buffer for replies whose length is not known at first.
    pub scratch: Vec<u8>,
    /// HGETALL leaves the hash in `hash` and writes no fields.
    pub wants_hash: bool,
    /// The hash, and the moment up to which its fields are over.
    pub hash: Option<(Hash, u64)>,
    /// Changes that other clients are to be told of.
    pub invalidations: Invalidations,
}

impl WorkerState {
    /// Takes over the options as configured now.
    pub(crate) fn read_options(&mut self, engine: &Engine) {
        self.list_options = list_options(&engine.config.hot);
        self.thresholds = Thresholds::load(&engine.config.hot);
        self.access = AccessRules::load(&engine.config.hot);
    }
}

/// Runs one command: parses the arguments, calls the type, writes the reply. On `Err` whatever was written is taken
/// back and the error is the reply.
pub type Handler = fn(&mut Context<'_>, Args<'_>) -> CommandResult;

/// What looks after other clients while a script takes its time.
pub(crate) type Rounds<'a> = &'a mut (dyn Beside + 'a);

/// The surroundings of one command.
pub struct Context<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) worker: &'a mut WorkerState,
    pub(crate) session: &'a mut Session,
    /// The database worked on; the selected one, unless a command says otherwise for a moment.
    pub(crate) db: usize,
    pub(crate) held: Held<'a>,
    /// Whether the script that runs lends its shards.
    pub(crate) lends: Lends<'a>,
    /// The turn of a command that runs scripts. It is given up after the shards.
    pub(crate) turn: Option<ScriptTurn<'a>>,
    pub(crate) reply: Reply<'a>,
    pub(crate) found: Found,
    /// The command's only key, if it has one by the table: its hash is known.
    pub(crate) hashed: Option<Key<'a>>,
    /// Those of a command of several keys.
    pub(crate) several: KnownHashes,
    pub(crate) flow: Flow,
    /// Keys that waiting clients may be served from, once the command or the transaction is done.
    pub(crate) ready: Vec<(usize, Box<[u8]>)>,
    /// Whether a transaction or a script runs the command: it must not wait.
    pub(crate) in_exec: bool,
    /// Whether a script runs the command.
    pub(crate) in_script: bool,
    /// Looks after other clients for a moment, while a script takes its time.
    pub(crate) rounds: Option<Rounds<'a>>,
}

impl<'a> Context<'a> {
    /// Selects a database for the connection.
    pub(crate) fn select(&mut self, db: usize) {
        self.db = db;
        self.session.select(db);
    }

    /// A key with its hash. The hash that was computed to lock the shard is used again for the same argument.
    #[inline]
    pub(crate) fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        match &self.hashed {
            Some(key) if std::ptr::eq(key.bytes, bytes) => Key { bytes, hash: key.hash },
            _ => self.several.key(bytes),
        }
    }

    /// Milliseconds of the wall clock.
    pub(crate) fn now_ms(&self) -> u64 {
        self.worker.clock.wall_ms()
    }

    /// The name of the command, as error texts write it.
    pub(crate) fn command_name(&self) -> String {
        self.found.full_name()
    }

    /// Seconds of the wall clock.
    pub(crate) fn now_s(&self) -> u64 {
        self.worker.clock.wall_us() / 1_000_000
    }

    /// How keys are marked that this command uses.
    #[inline]
    pub(crate) fn touch(&mut self) -> Touch {
        let keeps = self.session.no_touch && self.found.command.name != "touch";
        self.worker.access.touch(self.worker.clock.wall_us() / 1_000_000, keeps, &mut self.worker.rng)
    }

    /// The access word of a key that is put: a counter goes on from what the key was before.
    fn access_of_put(&mut self, key: &Key<'_>) -> u32 {
        let now_s = self.now_s();
        // A client that does not touch keys leaves them as old as they were.
        if self.worker.access.counts || self.session.no_touch {
            let touch = self.touch();
            if let Some(before) = self.peek(key, |entry| entry.map(|entry| entry.access())) {
                return touch.after(before);
            }
        }
        self.worker.access.fresh(now_s)
    }

    /// The shard of a key. The dispatcher holds the shards of every key that the table declares.
    #[inline]
    pub(crate) fn shard(&mut self, key: &Key<'_>) -> &mut ShardData {
        self.held.shard_of(key)
    }

    /// Whether the shard of a key is held, and the key not reserved.
    pub(crate) fn holds(&mut self, key: &Key<'_>) -> bool {
        self.held.shard_mut(key.shard()).is_some_and(|data| !data.reserved.has(key.hash))
    }

    /// The table of a key in the selected database.
    #[inline]
    pub(crate) fn table(&mut self, key: &Key<'_>) -> &mut Table {
        let db = self.db;
        self.shard(key).table_mut(db)
    }

    /// Looks a key up for reading, counts the hit or the miss, and marks it as used.
    #[inline]
    pub(crate) fn read<R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(Option<Entry<'_, Value>>, &mut Reply<'a>) -> R,
    ) -> R {
        let touch = self.touch();
        self.read_and_mark(key, touch, f)
    }

    /// The same where another lookup of the command counts as the use of the key.
    pub(crate) fn read_first<R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(Option<Entry<'_, Value>>) -> R,
    ) -> R {
        let touch = if self.worker.access.counts { self.worker.access.keep() } else { self.touch() };
        self.read_and_mark(key, touch, |entry, _| f(entry))
    }

    /// The same for commands that only ask about a key: it is not marked as used.
    pub(crate) fn read_unmarked<R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(Option<Entry<'_, Value>>, &mut Reply<'a>) -> R,
    ) -> R {
        let touch = self.worker.access.keep();
        self.read_and_mark(key, touch, f)
    }

    #[inline]
    fn read_and_mark<R>(
        &mut self,
        key: &Key<'_>,
        touch: Touch,
        f: impl FnOnce(Option<Entry<'_, Value>>, &mut Reply<'a>) -> R,
    ) -> R {
        let due_ms = self.due_ms();
        let db = self.db;
        let shard = self.held.shard_of(key);
        let table = shard.table_mut(db);
        let mut before = 0;
        let note = |word| {
            before = word;
            touch.after(word)
        };
        match table.get_touch_with(key.hash, key.bytes, note) {
            Some(entry) if !is_due(&entry, due_ms) => {
                self.worker.stats.hits.add(1);
                let mut is_used_again = false;
                if entry.is_cold() {
                    self.worker.long.cold_bytes += string_len(&entry).unwrap_or(0);
                    is_used_again =
                        !self.worker.long.leaves_cold && self.engine.is_used_again(before, touch.now_s());
                }
                let entry = if is_used_again {
                    table.thaw(key.hash, key.bytes);
                    table.get(key.hash, key.bytes)
                } else {
                    Some(entry)
                };
                return f(entry, &mut self.reply);
            }
            Some(_) => self.found_overdue(key),
            None => {}
        }
        self.missed(key);
        f(None, &mut self.reply)
    }

    /// Counts a key that was to be read and is not there.
    pub(super) fn missed(&mut self, key: &Key<'_>) {
        self.worker.stats.misses.add(1);
        self.notify_miss(key);
    }

    /// Looks a key up for a change: marks it as used, and counts nothing.
    pub(crate) fn look_up<R>(&mut self, key: &Key<'_>, f: impl FnOnce(Option<Entry<'_, Value>>) -> R) -> R {
        let touch = self.touch();
        self.look_up_and_mark(key, touch, f)
    }

    /// The same where another lookup of the command counts as the use of the key: what is counted is not counted twice.
    pub(crate) fn look_up_first<R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(Option<Entry<'_, Value>>) -> R,
    ) -> R {
        let touch = if self.worker.access.counts { self.worker.access.keep() } else { self.touch() };
        self.look_up_and_mark(key, touch, f)
    }

    fn look_up_and_mark<R>(
        &mut self,
        key: &Key<'_>,
        touch: Touch,
        f: impl FnOnce(Option<Entry<'_, Value>>) -> R,
    ) -> R {
        let due_ms = self.due_ms();
        match self.table(key).get_touch_with(key.hash, key.bytes, |word| touch.after(word)) {
            Some(entry) if !is_due(&entry, due_ms) => return f(Some(entry)),
            Some(_) => self.found_overdue(key),
            None => {}
        }
        f(None)
    }

    /// Looks a key up without counting or marking it.
    pub(crate) fn peek<R>(&mut self, key: &Key<'_>, f: impl FnOnce(Option<Entry<'_, Value>>) -> R) -> R {
        let due_ms = self.due_ms();
        match self.table(key).get(key.hash, key.bytes) {
            Some(entry) if !is_due(&entry, due_ms) => return f(Some(entry)),
            Some(_) => self.found_overdue(key),
            None => {}
        }
        f(None)
    }

    /// The type of the value of a key that clients wait for, if it exists: an overdue key stays where it is.
    pub(crate) fn kind_for_waiters(&mut self, key: &Key<'_>) -> Option<Kind> {
        let due_ms = self.due_ms();
        let entry = self.table(key).get(key.hash, key.bytes).filter(|entry| !is_due(entry, due_ms));
        entry.map(|entry| Kind::of(&entry.kept()))
    }

    /// The type of the value of a key, if it exists, before it is used.
    pub(crate) fn kind(&mut self, key: &Key<'_>) -> Option<Kind> {
        self.look_up_first(key, |entry| entry.map(|e| Kind::of(&e.kept())))
    }

    /// The same for what is no use of the key.
    pub(crate) fn peek_kind(&mut self, key: &Key<'_>) -> Option<Kind> {
        self.peek(key, |entry| entry.map(|e| Kind::of(&e.kept())))
    }

    // Three ways to ask whether a key exists differ in what counts as a use of it: `exists` comes before the lookup that
    // counts, `exists_to_write` is that lookup, and `peek_exists` leaves no trace.

    /// Whether a key exists, before it is used.
    pub(crate) fn exists(&mut self, key: &Key<'_>) -> bool {
        self.look_up_first(key, |entry| entry.is_some())
    }

    /// Whether a key that is to be written exists: a use of it.
    pub(crate) fn exists_to_write(&mut self, key: &Key<'_>) -> bool {
        self.look_up(key, |entry| entry.is_some())
    }

    /// Whether a key exists, without a use of it.
    pub(crate) fn peek_exists(&mut self, key: &Key<'_>) -> bool {
        self.peek(key, |entry| entry.is_some())
    }

    /// Puts a string, replacing whatever the key holds.
    pub(crate) fn put_string(&mut self, key: &Key<'_>, bytes: &[u8], expire: ExpireChange) {
        self.put_string_as(key, bytes, inline::STRING, expire);
    }

    /// Puts a string with its inline kind.
    pub(crate) fn put_string_as(&mut self, key: &Key<'_>, bytes: &[u8], kind: u8, expire: ExpireChange) {
        if bytes.len() <= larder_collections::key_table::INLINE_MAX {
            self.put(key, NewValue::Inline { kind, bytes }, expire);
        } else {
            self.put(key, NewValue::Out(Value::String(SharedBytes::new(bytes))), expire);
        }
    }

    /// Puts a value, replacing whatever the key holds.
    pub(crate) fn put(&mut self, key: &Key<'_>, value: NewValue<'_, Value>, expire: ExpireChange) {
        let access = self.access_of_put(key);
        let options = self.worker.list_options;
        let compress = matches!(&value, NewValue::Out(Value::List(list)) if list.wants_compression(&options));
        let after = if let NewValue::Out(value) = &value { earliest_field_expiry(value) } else { NEVER };
        let is_new = self.engine.wants_events(class::NEW | class::EXPIRED) && !self.peek_exists(key);
        let old = self.table(key).put(key.hash, key.bytes, value, expire, access);
        if let ExpireChange::At(at_ms) = expire {
            self.note_deadline(key, at_ms);
        }
        let mut before = NEVER;
        if let Some(Old::Out(value)) = old {
            before = earliest_field_expiry(&value);
            if matches!(value, Value::Stream(_)) {
                self.signal_ready(key);
            }
            self.engine.background.discard(value, self.replaces_lazily());
        }
        if is_new {
            self.notify(class::NEW, "new", key);
        }
        if compress {
            self.engine.background.compress(self.db, key);
        }
        if before != after {
            self.note_field_expiry(key, before, after);
        }
    }

    /// Whether large values that others replace are freed in the background.
    fn replaces_lazily(&self) -> bool {
        self.engine.config.hot.lazyfree_lazy_server_del.load(Relaxed)
    }

    /// Removes a key; true if it existed.
    pub(crate) fn delete(&mut self, key: &Key<'_>) -> bool {
        self.delete_as(key, self.replaces_lazily())
    }

    /// Removes a key; true if it existed. A large value is freed in the background if `lazily` says so.
    pub(crate) fn delete_as(&mut self, key: &Key<'_>, lazily: bool) -> bool {
        let existed = self.remove(key, lazily);
        self.worker.stats.dirty.add(u64::from(existed));
        if existed {
            self.notify(class::GENERIC, "del", key);
        }
        existed
    }

    /// Removes a key that an empty result would have replaced: whether its time is over does not matter.
    pub(crate) fn delete_target(&mut self, key: &Key<'_>) {
        if self.remove_entry(key, self.replaces_lazily()) {
            self.modified_by(key, 1);
            self.notify(class::GENERIC, "del", key);
        }
    }

    /// Removes a key for another to take its place, which is no event and no change of its own; true if it existed.
    pub(crate) fn make_room(&mut self, key: &Key<'_>) -> bool {
        self.remove(key, self.replaces_lazily())
    }

    fn remove(&mut self, key: &Key<'_>, lazily: bool) -> bool {
        // On a replica, and in `import-mode`, what is overdue is there until another server has it deleted.
        let due_ms = if self.keeps_all() { NOTHING_IS_DUE } else { self.due_ms() };
        match self.table(key).remove_if(key.hash, key.bytes, |entry| !is_due(entry, due_ms)) {
            Attempt::Removed(old) => self.see_off(key, old, lazily),
            Attempt::Refused => {
                self.found_overdue(key);
                return false;
            }
            Attempt::Missing => return false,
        }
        self.modified_by(key, 0);
        true
    }

    /// Removes a key, overdue or not, and nothing else; true if it existed.
    fn remove_entry(&mut self, key: &Key<'_>, lazily: bool) -> bool {
        let Attempt::Removed(old) = self.table(key).remove_if(key.hash, key.bytes, |_| true) else {
            return false;
        };
        self.see_off(key, old, lazily);
        true
    }

    /// Sees to a value whose key has been taken out of its table.
    fn see_off(&mut self, key: &Key<'_>, old: Old<Value>, lazily: bool) {
        if let Old::Out(value) = old {
            self.note_taken(key, &value);
            self.engine.background.discard(value, lazily);
        }
    }

    /// Takes the entry of a key out of its table, and nothing else.
    pub(crate) fn take_entry(&mut self, key: &Key<'_>) -> Option<Removed<Value>> {
        let removed = self.table(key).remove(key.hash, key.bytes)?;
        if let OwnedValue::Out(value) = &removed.value {
            self.note_taken(key, value);
        }
        Some(removed)
    }

    fn note_taken(&mut self, key: &Key<'_>, value: &Value) {
        if matches!(value, Value::Stream(_)) {
            // Those who wait for it as consumers of a group are told that it is gone.
            self.signal_ready(key);
        }
        let before = earliest_field_expiry(value);
        if before != NEVER {
            self.note_field_expiry(key, before, NEVER);
        }
    }

    /// Removes a key, if it exists, because the command gives it a time that is over. Only that is logged of the command.
    pub(crate) fn expire_at_once(&mut self, key: &Key<'_>) {
        if !self.remove(key, self.engine.expires_lazily()) {
            self.propagate_nothing();
            return;
        }
        self.worker.stats.dirty.add(1);
        self.worker.stats.expired.add(1);
        self.notify(class::EXPIRED, "expired", key);
        self.propagate_instead(&[self.engine.removal_command(Cause::Expired), key.bytes]);
    }

    /// Removes a key whose time is over.
    pub(crate) fn expire(&mut self, key: &Key<'_>) {
        self.remove_entry(key, self.engine.expires_lazily());
        self.worker.stats.expired.add(1);
        self.propagate_expiry(&[self.engine.removal_command(Cause::Expired), key.bytes]);
        let WorkerState { index, heard_itself, invalidations, .. } = &mut *self.worker;
        let speaker = Some(Speaker::of_client(*index, self.session.id(), heard_itself));
        let removal = Removal { cause: Cause::Expired, db: self.db, key: *key, speaker };
        let shard = self.held.shard_of(key);
        self.engine.removed(shard, &removal, invalidations);
    }

    /// Tells everybody concerned that the value of a key has changed.
    #[inline]
    pub(crate) fn modified(&mut self, key: &Key<'_>) {
        self.modified_by(key, 1);
    }

    /// The same when it counts as this many changes.
    #[inline]
    pub(crate) fn modified_by(&mut self, key: &Key<'_>, changes: usize) {
        self.worker.stats.dirty.add(changes as u64);
        let writer = self.worker.served.unwrap_or(self.session.id());
        self.note_changed(key, writer);
    }

    /// Marks the transactions that depend on a key, and notes who caches it. `writer` is the client who changed it.
    #[inline]
    pub(super) fn note_changed(&mut self, key: &Key<'_>, writer: u64) {
        let shard = self.held.shard_of(key);
        shard.changed(&self.engine.trackers, self.db, key, writer, &mut self.worker.invalidations);
    }

    /// Tells those who wait for a key that it has something for them; they are served when the command is done.
    #[inline]
    pub(crate) fn signal_ready(&mut self, key: &Key<'_>) {
        let db = self.db;
        self.signal_ready_in(db, key);
    }

    /// The same for a database other than the selected one.
    pub(crate) fn signal_ready_in(&mut self, db: usize, key: &Key<'_>) {
        let is_of_file = self.session.is_of_file();
        let shard = self.shard(key);
        // What a file tells of is over: clients that wait now are not served from it.
        if !shard.waiting.is_empty() && !is_of_file && shard.waiting.waits(db, key.bytes) {
            self.ready.push((db, key.bytes.into()));
        }
    }

    /// Works on the list of a key; `None` if there is no such key. A list that is empty afterwards is removed.
    #[inline]
    pub(crate) fn with_list<R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(&mut List, &ListOptions, &mut Reply<'a>) -> CommandResult<R>,
    ) -> CommandResult<Option<R>> {
        let options = self.worker.list_options;
        let mut compress = false;
        let done = self.with_value(key, |list: &mut List, reply| {
            let done = f(list, &options, reply);
            compress = !list.is_empty() && list.news_of_compression(&options);
            done
        });
        if compress {
            self.engine.background.compress(self.db, key);
        }
        done
    }

    /// Works on the list of a key, which is created when there is none.
    #[inline]
    pub(crate) fn with_list_or_new<R>(
        &mut self,
        key: &Key<'_>,
        mut f: impl FnMut(&mut List, &ListOptions, &mut Reply<'a>) -> CommandResult<R>,
    ) -> CommandResult<R> {
        if let Some(done) = self.with_list(key, &mut f)? {
            return Ok(done);
        }
        let mut list = List::new();
        let done = f(&mut list, &self.worker.list_options, &mut self.reply)?;
        self.put(key, NewValue::Out(Value::List(list)), ExpireChange::Clear);
        Ok(done)
    }

    /// The proof that the thread holds no shard, for a command that waits for some.
    ///
    /// # Errors
    /// A transaction or a script runs the command: they hold shards.
    pub(crate) fn no_shards(&self) -> CommandResult<NoShards<'_>> {
        if self.in_exec || !self.held.is_none() {
            return Err(CommandError::IN_TRANSACTION);
        }
        Ok(NoShards::of_command())
    }

    /// Keeps scripts from running until the turn is dropped, for a command that waits for shards later.
    ///
    /// # Errors
    /// A script runs for too long, or a transaction or a script runs this command.
    pub(crate) fn take_turn(&self) -> CommandResult<ScriptTurn<'a>> {
        self.engine.try_take_turn(self.no_shards()?).map_err(|Busy| self.busy_error())
    }

    /// Lets go of the shards, for a command that has read what it needs and only writes a long reply from it. They stay held
    /// inside of something that needs them afterwards, and for a client that is to be told of changes: the key must not
    /// change before that is noted.
    pub(crate) fn let_go(&mut self) {
        let is_done = self.worker.effects.is_empty() && self.ready.is_empty();
        if is_done && !self.in_exec && self.session.tracking.is_none() {
            self.release_shards();
            self.engine.retry_put_aside();
        }
    }

    fn busy_error(&self) -> CommandError {
        self.engine.busy_error()
    }

    /// Writes an array whose length is known only afterwards: `fill` writes the items and returns their number.
    pub(crate) fn deferred_array(
        &mut self,
        fill: impl FnOnce(&mut Self, &mut Reply<'_>) -> CommandResult<usize>,
    ) -> CommandResult {
        let mut scratch = std::mem::take(&mut self.worker.scratch);
        scratch.clear();
        let count = fill(self, &mut Reply::new(&mut scratch, self.reply.protocol()));
        if let Ok(count) = count {
            self.reply.array(count);
            self.reply.raw(&scratch);
        }
        scratch.clear();
        scratch.shrink_to(1 << 20);
        self.worker.scratch = scratch;
        count.map(|_| ())
    }
}
