//! Working on the hash of a key: as on any type, and the times of its fields are kept.

use super::Context;
use super::typed::Typed;
use crate::error::CommandResult;
use crate::field_expiry::NEVER;
use crate::notify::class;
use crate::shard::Key;
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
        let now = self.now_ms();
        let (mut before, mut after, mut cleaned, mut is_emptied) = (NEVER, NEVER, 0, false);
        let done = self.with_value(key, |hash: &mut Hash, reply| {
            before = hash.soonest();
            cleaned = hash.clean(now);
            is_emptied = cleaned > 0 && hash.is_empty();
            let done = f(hash, reply);
            after = hash.soonest();
            done
        });
        if before != after {
            self.note_field_expiry(key, before, after);
        }
        if cleaned > 0 {
            self.note_cleaned(key, is_emptied);
        }
        done
    }

    /// Fields whose time was over are gone, and with them perhaps the hash.
    #[cold]
    fn note_cleaned(&mut self, key: &Key<'_>, is_emptied: bool) {
        self.modified(key);
        self.notify(class::HASH, "hexpired", key);
        if is_emptied {
            self.notify_emptied(key);
        }
    }

    /// Works on the hash of a key, which is created when there is none, with room for so many fields of so many bytes;
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

/// When the first field of a value expires, if it is a hash.
pub(crate) fn soonest_field(value: &Value) -> u64 {
    if let Value::Hash(hash) = value { hash.soonest() } else { NEVER }
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
}
