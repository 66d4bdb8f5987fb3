//! Working on the value of a key as one type of collection: look at it, change it, create it, take a clone of it.
//!
//! Lists have their own forms of these in the parent module, since they also ask for compression.

use super::Context;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::deadlines::is_due;
use crate::keyspace::field_expiry::NEVER;
use crate::keyspace::key::Key;
use larder_collections::key_table::{
    EntryMut, ExpireChange, IntoRaw, NewValue, Unchanged, ValueRef, WriteBack,
};
use larder_collections::list::{List, ListOptions};
use larder_collections::set::Set;
use larder_collections::sorted_set::SortedSet;
use larder_collections::stream::Stream;
use larder_collections::value::Value;
use larder_resp::Reply;

/// A type of collection that a key can hold.
pub(crate) trait Typed: Clone + Default + IntoRaw {
    /// The value, if it is of this type.
    fn of(value: &Value) -> Option<&Self>;

    /// The value, if it is of this type, to be changed.
    fn of_mut(value: &mut Value) -> Option<&mut Self>;

    /// Makes it a value.
    fn into_value(self) -> Value;

    /// Whether nothing is left for which the key is kept: such a value is removed with its key.
    fn is_empty(&self) -> bool;

    /// Whether nothing has happened, to one of these of which the other is a clone, that those who watch its key are not told of.
    fn is_same(&self, other: &Self) -> bool {
        let _ = other;
        true
    }

    /// When the first of its fields expires, in ms.
    fn soonest(&self) -> u64 {
        NEVER
    }

    /// See [`List::news_of_compression`].
    fn news_of_compression(&self, options: &ListOptions) -> bool {
        let _ = options;
        false
    }
}

/// The key has expired.
struct Expired;

impl<'a> Context<'a> {
    /// Looks a collection up for reading, counts the hit or the miss, and marks the key as used.
    #[inline]
    pub(crate) fn read_value<T: Typed, R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(Option<&T>, &mut Reply<'a>) -> CommandResult<R>,
    ) -> CommandResult<R> {
        let mut is_rebuilt = false;
        let done = self.read(key, |entry, reply| {
            let Some(entry) = entry else { return f(None, reply) };
            is_rebuilt = entry.is_rebuilt();
            match entry.value() {
                ValueRef::Out(value) => f(Some(T::of(&value).ok_or(CommandError::WRONG_TYPE)?), reply),
                ValueRef::Inline { .. } => Err(CommandError::WRONG_TYPE),
            }
        });
        if is_rebuilt {
            self.table(key).note_rebuilt(key.hash, key.bytes);
        }
        done
    }

    /// A clone of a collection, in O(1); counts as reading it. For commands that read several keys.
    pub(crate) fn value_clone<T: Typed>(&mut self, key: &Key<'_>) -> CommandResult<Option<T>> {
        self.read_value(key, |value: Option<&T>, _| Ok(value.cloned()))
    }

    /// Works on the collection of a key; `None` if there is no such key. One that is empty afterwards is removed.
    #[inline]
    pub(crate) fn with_value<T: Typed, R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(&mut T, &mut Reply<'a>) -> CommandResult<R>,
    ) -> CommandResult<Option<R>> {
        let (db, due_ms, touch) = (self.db, self.due_ms(), self.touch());
        let table = self.held.shard_of(key).table_mut(db);
        let look = |entry: &mut EntryMut<'_, Value>| {
            if is_due(&entry.record(), due_ms) {
                return Err(Expired);
            }
            entry.set_access(touch.after(entry.record().access()));
            Ok(())
        };
        let mut is_empty = false;
        let done = table.modify(key.hash, key.bytes, look, |value| {
            let Some(typed) = T::of_mut(value) else { return (Err(CommandError::WRONG_TYPE), WriteBack::No) };
            let parts = typed.parts();
            let result = f(typed, &mut self.reply);
            is_empty = typed.is_empty();
            (result, if is_empty { WriteBack::No } else { WriteBack::after(typed, parts) })
        });
        if is_empty {
            // Nothing is left in it.
            self.remove_entry(key, false);
        }
        match done {
            Ok(result) => result.map(Some),
            Err(Unchanged::Missing) => Ok(None),
            Err(Unchanged::IsInline) => Err(CommandError::WRONG_TYPE),
            Err(Unchanged::Refused(Expired)) => {
                self.expire(key);
                Ok(None)
            }
        }
    }

    /// Works on the collection of a key, which is created when there is none; an empty one is not kept.
    #[inline]
    pub(crate) fn with_value_or_new<T: Typed, R>(
        &mut self,
        key: &Key<'_>,
        mut f: impl FnMut(&mut T, &mut Reply<'a>) -> CommandResult<R>,
    ) -> CommandResult<R> {
        if let Some(done) = self.with_value(key, &mut f)? {
            return Ok(done);
        }
        let mut value = T::default();
        let done = f(&mut value, &mut self.reply)?;
        if !value.is_empty() {
            self.put_value(key, value);
        }
        Ok(done)
    }

    /// Puts a collection, replacing whatever the key holds, without an expiry.
    pub(crate) fn put_value<T: Typed>(&mut self, key: &Key<'_>, value: T) {
        self.put(key, NewValue::Out(value.into_value()), ExpireChange::Clear);
    }
}

impl Typed for List {
    fn of(value: &Value) -> Option<&List> {
        match value {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    fn of_mut(value: &mut Value) -> Option<&mut List> {
        match value {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::List(self)
    }

    fn is_empty(&self) -> bool {
        List::is_empty(self)
    }

    fn news_of_compression(&self, options: &ListOptions) -> bool {
        List::news_of_compression(self, options)
    }
}

impl Typed for SortedSet {
    fn of(value: &Value) -> Option<&SortedSet> {
        match value {
            Value::SortedSet(set) => Some(set),
            _ => None,
        }
    }

    fn of_mut(value: &mut Value) -> Option<&mut SortedSet> {
        match value {
            Value::SortedSet(set) => Some(set),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::SortedSet(self)
    }

    fn is_empty(&self) -> bool {
        SortedSet::is_empty(self)
    }
}

impl Typed for Set {
    fn of(value: &Value) -> Option<&Set> {
        match value {
            Value::Set(set) => Some(set),
            _ => None,
        }
    }

    fn of_mut(value: &mut Value) -> Option<&mut Set> {
        match value {
            Value::Set(set) => Some(set),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::Set(self)
    }

    fn is_empty(&self) -> bool {
        Set::is_empty(self)
    }
}

impl Typed for Stream {
    fn of(value: &Value) -> Option<&Stream> {
        match value {
            Value::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    fn of_mut(value: &mut Value) -> Option<&mut Stream> {
        match value {
            Value::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::Stream(self)
    }

    /// A stream stays, whatever is left in it.
    fn is_empty(&self) -> bool {
        false
    }

    fn is_same(&self, other: &Stream) -> bool {
        Stream::is_same(self, other)
    }
}
