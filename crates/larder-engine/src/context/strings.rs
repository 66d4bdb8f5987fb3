//! Strings as the bytes that several families work on: bitmaps and HyperLogLogs are strings.

use super::{Context, inline};
use crate::error::{CommandError, CommandResult};
use crate::keyspace::deadlines::is_due;
use crate::keyspace::key::Key;
use crate::keyspace::kind::string_bytes;
use crate::text::number::parse_i64;
use larder_collections::key_table::{ExpireChange, INLINE_MAX, InlineBytes, NewValue, ValueRef};
use larder_collections::value::Value;
use larder_packed::bytes::SharedBytes;

impl<'a> Context<'a> {
    /// Looks the bytes of a string up for reading; none when there is no such key.
    #[inline]
    pub(crate) fn read_string<R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(Option<&[u8]>, &mut larder_resp::Reply<'a>) -> CommandResult<R>,
    ) -> CommandResult<R> {
        self.read(key, |entry, reply| match entry {
            None => f(None, reply),
            Some(entry) => f(Some(string_bytes(&entry.value())?), reply),
        })
    }

    /// The string of a key as a value of its own: a long one is shared and not copied. Counts as reading it.
    pub(crate) fn string_clone(&mut self, key: &Key<'_>) -> CommandResult<Option<SharedBytes>> {
        self.read(key, |entry, _| {
            let Some(entry) = entry else { return Ok(None) };
            match entry.value() {
                ValueRef::Out(value) if matches!(*value, Value::String(_)) => match &*value {
                    Value::String(bytes) => Ok(Some(bytes.clone())),
                    _ => unreachable!("it was looked at just now"),
                },
                value => string_bytes(&value).map(|bytes| Some(SharedBytes::new(bytes))),
            }
        })
    }

    /// Works in place on the bytes of a string, which is created when there is none and lengthened with zeros to
    /// `len_min` bytes; `f` is told whether that changed it. The string is `raw` afterwards, as OBJECT ENCODING says.
    ///
    /// The caller checks that a string may be that long.
    #[inline]
    pub(crate) fn edit_string<R>(
        &mut self,
        key: &Key<'_>,
        len_min: usize,
        f: impl FnOnce(&mut [u8], bool) -> R,
    ) -> CommandResult<R> {
        let (db, due_ms, touch) = (self.db, self.due_ms(), self.touch());
        let shard = self.held.shard_of(key);
        let Some(mut entry) = shard.table_mut(db).entry_mut(key.hash, key.bytes) else {
            return Ok(self.make_string(key, &[], len_min, ExpireChange::Clear, |bytes| f(bytes, true)));
        };
        if is_due(&entry.record(), due_ms) {
            self.expire(key);
            return Ok(self.make_string(key, &[], len_min, ExpireChange::Clear, |bytes| f(bytes, true)));
        }
        entry.set_access(touch.after(entry.record().access()));
        let short = match entry.record().value() {
            ValueRef::Out(_) => None,
            ValueRef::Inline { kind, bytes } => Some((kind, InlineBytes::copy_of(bytes))),
        };
        if let Some((kind, old)) = short {
            let grows = old.len() < len_min;
            if kind == inline::RAW && !grows {
                return Ok(f(entry.into_inline().expect("it was looked at just now"), false));
            }
            return Ok(self.make_string(key, &old, len_min, ExpireChange::Keep, |bytes| f(bytes, grows)));
        }
        let mut value = entry.into_out().ok_or(CommandError::WRONG_TYPE)?;
        let Value::String(bytes) = &mut *value else { return Err(CommandError::WRONG_TYPE) };
        let grows = bytes.len() < len_min;
        bytes.pad(len_min);
        Ok(f(bytes.make_mut(), grows))
    }

    /// Adds to the number in a short string where it is, and marks it as used; the sum. `None`, and nothing is done, unless there is one, which is no `raw` one, and the sum
    /// is as long as it.
    #[inline]
    pub(crate) fn add_in_place(&mut self, key: &Key<'_>, amount: i64) -> Option<i64> {
        let (db, due_ms, touch) = (self.db, self.due_ms(), self.touch());
        let mut entry = self.held.shard_of(key).table_mut(db).entry_mut(key.hash, key.bytes)?;
        let record = entry.record();
        let ValueRef::Inline { kind: inline::STRING, bytes } = record.value() else { return None };
        let sum = parse_i64(bytes)?.checked_add(amount)?;
        let mut text = itoa::Buffer::new();
        let text = text.format(sum);
        if text.len() != bytes.len() || is_due(&record, due_ms) {
            return None;
        }
        entry.set_access(touch.after(record.access()));
        entry.into_inline()?.copy_from_slice(text.as_bytes());
        Some(sum)
    }

    /// Works on the string of a key as a value of its own; `None` if there is no such key. `f` tells beside its result
    /// whether it changed the string, which is `raw` afterwards.
    pub(crate) fn with_string<R>(
        &mut self,
        key: &Key<'_>,
        f: impl FnOnce(&mut SharedBytes) -> CommandResult<(R, bool)>,
    ) -> CommandResult<Option<R>> {
        let (db, due_ms, touch) = (self.db, self.due_ms(), self.touch());
        let shard = self.held.shard_of(key);
        let Some(mut entry) = shard.table_mut(db).entry_mut(key.hash, key.bytes) else { return Ok(None) };
        if is_due(&entry.record(), due_ms) {
            self.expire(key);
            return Ok(None);
        }
        entry.set_access(touch.after(entry.record().access()));
        let short = match entry.record().value() {
            ValueRef::Out(_) => None,
            ValueRef::Inline { kind, bytes } => Some((kind, SharedBytes::new(bytes))),
        };
        let Some((kind, mut bytes)) = short else {
            let mut value = entry.into_out().ok_or(CommandError::WRONG_TYPE)?;
            let Value::String(bytes) = &mut *value else { return Err(CommandError::WRONG_TYPE) };
            return f(bytes).map(|(result, _)| Some(result));
        };
        let (result, changed) = f(&mut bytes)?;
        if changed || kind != inline::RAW {
            self.put_shared(key, bytes, ExpireChange::Keep);
        }
        Ok(Some(result))
    }

    /// Puts a string of these bytes, zeros up to `len_min`, and what `f` makes of them.
    fn make_string<R>(
        &mut self,
        key: &Key<'_>,
        old: &[u8],
        len_min: usize,
        expire: ExpireChange,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> R {
        let len = len_min.max(old.len());
        if len <= INLINE_MAX {
            let mut bytes = [0; INLINE_MAX];
            bytes[..old.len()].copy_from_slice(old);
            let result = f(&mut bytes[..len]);
            self.put_string_as(key, &bytes[..len], inline::RAW, expire);
            return result;
        }
        let mut bytes = SharedBytes::padded(old, len);
        let result = f(bytes.make_mut());
        self.put(key, NewValue::Out(Value::String(bytes)), expire);
        result
    }

    /// Puts a string of `len` bytes without an expiry, in place of whatever the key holds. `fill` writes the bytes;
    /// it gets the memory of the old string, emptied, if nobody else has that and the size is right.
    pub(crate) fn rebuild_string(&mut self, key: &Key<'_>, len: usize, fill: impl FnOnce(&mut SharedBytes)) {
        if len > INLINE_MAX && self.has_room_for(key, len) {
            self.table(key).modify_out(key.hash, key.bytes, |value| {
                let Value::String(bytes) = value else { unreachable!("it was looked at just now") };
                if bytes.references() == 1 {
                    bytes.truncate(0);
                } else {
                    // A snapshot has just taken it.
                    *bytes = SharedBytes::with_capacity(len);
                }
                fill(bytes);
            });
            self.table(key).set_expire(key.hash, key.bytes, None);
            return;
        }
        let mut bytes = SharedBytes::with_capacity(len);
        fill(&mut bytes);
        self.put_shared(key, bytes, ExpireChange::Clear);
    }

    /// Whether a key holds a long string whose memory is of the right size for `len` bytes and not shared.
    fn has_room_for(&mut self, key: &Key<'_>, len: usize) -> bool {
        let room = SharedBytes::heap_bytes_for(len);
        self.peek(key, |entry| match entry.map(|entry| entry.value()) {
            Some(ValueRef::Out(value)) => match &*value {
                Value::String(bytes) => {
                    bytes.references() == 1 && (room..=room + room / 4).contains(&bytes.heap_bytes())
                }
                _ => false,
            },
            _ => false,
        })
    }

    /// Puts a string that was built elsewhere; it is `raw`.
    pub(crate) fn put_shared(&mut self, key: &Key<'_>, bytes: SharedBytes, expire: ExpireChange) {
        if bytes.len() <= INLINE_MAX {
            self.put_string_as(key, &bytes, inline::RAW, expire);
        } else {
            self.put(key, NewValue::Out(Value::String(bytes)), expire);
        }
    }
}
