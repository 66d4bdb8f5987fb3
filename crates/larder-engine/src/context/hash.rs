//! Working on the hash of a key: as on any type, and the times of its fields are kept.

use super::Context;
use super::typed::Typed;
use crate::engine::notify::class;
use crate::error::CommandResult;
use crate::keyspace::deadlines::NOTHING_IS_DUE;
use crate::keyspace::field_expiry::NEVER;
use crate::keyspace::key::Key;
use larder_collections::hash::{Hash, HashLimits};
use larder_collections::value::Value;
use larder_resp::Reply;

impl<'a> Context<'a> {
    /// The thresholds of hashes.
    pub(crate) fn hash_limits(&self) -> HashLimits {
        self.worker.thresholds.hash_limits()
    }

    /// Works on the hash of a key, after taking out a few fields whose time is over; `None` if there is no such key. A
    /// hash that is empty afterwards is removed.
    #[inline]
    pub(crate) fn with_hash<R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(&mut Hash, &mut Reply<'a>) -> CommandResult<R>,
    ) -> CommandResult<Option<R>> {
        let due_ms = if self.keeps_all() { NOTHING_IS_DUE } else { self.due_ms() };
        let (mut before, mut after, mut gone, mut is_emptied) = (NEVER, NEVER, Vec::new(), false);
        let done = self.with_value(key, |hash: &mut Hash, reply| {
            before = hash.soonest();
            hash.clean(due_ms, |field| gone.push(field.name().into()));
            is_emptied = !gone.is_empty() && hash.is_empty();
            let done = f(hash, reply);
            after = hash.soonest();
            done
        });
        if before != after {
            self.note_field_expiry(key, before, after);
        }
        if !gone.is_empty() {
            self.note_expired_fields(key, &gone);
            if is_emptied {
                self.keep_deadline_elsewhere(key);
                self.notify_emptied(key);
            }
        }
        done
    }

    /// Fields whose time was over have been taken out. Who reads the log does not judge that by a clock: it says so, before
    /// what the command does.
    #[cold]
    pub(crate) fn note_expired_fields(&mut self, key: &Key<'_>, names: &[Box<[u8]>]) {
        self.worker.stats.expired_fields.add(names.len() as u64);
        let words: Vec<&[u8]> =
            [b"HDEL", key.bytes].into_iter().chain(names.iter().map(|name| &**name)).collect();
        self.propagate_expiry(&words);
        self.note_changed(key, 0);
        self.notify(class::HASH, "hexpired", key);
    }

    /// All fields of a hash had expired, and the command may have set others. Those who read the log delete the key with the
    /// fields, and make another one: it gets the deadline of this one.
    #[cold]
    fn keep_deadline_elsewhere(&mut self, key: &Key<'_>) {
        let deadline = self.peek(key, |entry| entry.and_then(|entry| entry.expire_at_ms()));
        if let Some(at) = deadline {
            let at = itoa::Buffer::new().format(at).to_owned();
            let words = [b"PEXPIREAT", key.bytes, at.as_bytes()];
            self.worker.effects.push_trailing(self.db, words.into_iter());
        }
    }

    /// Works on the hash of a key, which is created when there is none, with room for this many fields of this many bytes;
    /// an empty one is not kept.
    #[inline]
    pub(crate) fn with_hash_or_new<R>(
        &mut self,
        key: &Key<'_>,
        (fields, bytes): (usize, usize),
        mut f: impl FnMut(&mut Hash, &mut Reply<'a>) -> CommandResult<R>,
    ) -> CommandResult<R> {
        if let Some(done) = self.with_hash(key, &mut f)? {
            return Ok(done);
        }
        let mut hash = Hash::with_room(fields, bytes);
        let done = f(&mut hash, &mut self.reply)?;
        if !hash.is_empty() {
            self.put_value(key, hash);
        }
        Ok(done)
    }

    /// Notes that the first field of a key to expire does so at another time.
    pub(crate) fn note_field_expiry(&mut self, key: &Key<'_>, before: u64, after: u64) {
        let db = self.db;
        self.shard(key).field_expiry.note(db, key.bytes, before, after);
    }
}

impl Typed for Hash {
    fn of(value: &Value) -> Option<&Hash> {
        if let Value::Hash(hash) = value { Some(hash) } else { None }
    }

    fn of_mut(value: &mut Value) -> Option<&mut Hash> {
        if let Value::Hash(hash) = value { Some(hash) } else { None }
    }

    fn into_value(self) -> Value {
        Value::Hash(self)
    }

    fn is_empty(&self) -> bool {
        Hash::is_empty(self)
    }

    fn soonest(&self) -> u64 {
        Hash::soonest(self)
    }
}
