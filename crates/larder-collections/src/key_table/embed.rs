//! Values that move into the record of their key while they are small, and out of it when they grow.
//!
//! A value is embedded when it is put, if its type gives bytes for it. A change that keeps the length is made in place, any
//! other to a copy, whose bytes then take the place of the old ones: the records after it move, at most one segment of 4 KB.
//! A value that changes often moves out (see `hot`). A value outside comes back when a change leaves it no more than
//! three quarters of the limit, so one whose size swings around it does not move each time.

use super::hash::{KeyHash, position};
use super::limit::{return_max, within_limit};
use super::{EntryMut, KeyTable, NewValue};
use larder_packed::segment::{IntoRaw, RecordMut, Whereabouts};

/// Why a value was not changed.
#[derive(Debug, PartialEq, Eq)]
pub enum Unchanged<E> {
    /// There is no such key.
    Missing,
    /// The look at the entry has said so.
    Refused(E),
    /// The value is a string that lies in the record.
    IsInline,
}

/// How a changed value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBack {
    /// The record keeps its bytes: nothing was changed, or the caller removes the key.
    No,
    /// The value is too large for its record, and is stored outside.
    Large,
    /// The record gets the value, if that fits and does not change often.
    Small {
        /// Whether the value is settled before, as that may make it smaller.
        settles: bool,
    },
}

impl WriteBack {
    /// For a value that was changed, and had this many [parts](IntoRaw::parts) before.
    #[inline]
    pub fn after<T: IntoRaw>(value: &T, parts: usize) -> WriteBack {
        if value.may_embed() {
            WriteBack::Small { settles: value.parts() != parts }
        } else {
            WriteBack::Large
        }
    }
}

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Changes the value of a key, wherever it is. `look` gets the entry first, to mark it as used or to refuse; `change`
    /// gets the value.
    ///
    /// # Errors
    /// An error leaves the value unchanged; only `look` may have changed the entry.
    #[inline]
    pub fn modify<R, E>(
        &mut self,
        hash: u64,
        key: &[u8],
        look: impl FnOnce(&mut EntryMut<'_, V>) -> Result<(), E>,
        change: impl FnOnce(&mut V) -> (R, WriteBack),
    ) -> Result<R, Unchanged<E>> {
        let mut entry = self.entry_mut(hash, key).ok_or(Unchanged::Missing)?;
        look(&mut entry).map_err(Unchanged::Refused)?;
        let index = entry.0.index();
        let mut value = entry.0.into_value().ok_or(Unchanged::IsInline)?;
        let (result, write_back) = change(&mut value);
        debug_assert!(write_back != WriteBack::Large || value.with_embedded(|bytes| bytes.is_none()));
        match (value.finish(), write_back) {
            (Whereabouts::Outside, WriteBack::Small { settles }) => self.return_changed(hash, index, settles),
            (Whereabouts::Apart(_), WriteBack::No) | (Whereabouts::Outside | Whereabouts::Embedded, _) => {}
            (Whereabouts::Apart(value), write_back) => {
                self.store_changed(hash, index, value, write_back == WriteBack::Small { settles: true });
            }
        }
        Ok(result)
    }

    /// Stores a value that was embedded and does not fit its place any more: in its record, or outside if it changes often.
    #[inline(never)]
    fn store_changed(&mut self, hash: u64, index: usize, mut value: V, settles: bool) {
        if settles {
            value.settle();
        }
        if !self.is_getting_hot(hash) {
            return self.write_back(hash, index, value);
        }
        self.write_record(hash, index, NewValue::Out(value));
        self.note_hot(hash);
    }

    /// Moves a value that has changed outside into its record if it is small enough and does not change often.
    #[inline(never)]
    fn return_changed(&mut self, hash: u64, index: usize, settles: bool) {
        if self.stays_out(hash) {
            return;
        }
        if settles {
            return self.settle_at(hash, index);
        }
        self.return_small(hash, index);
    }

    /// Moves a value outside into its record if it is small enough.
    fn return_small(&mut self, hash: u64, index: usize) {
        let Some(value) = self.record_at(hash, index).into_out() else { return };
        if value.with_embedded(|bytes| bytes.is_some_and(|bytes| bytes.bytes().len() <= return_max())) {
            let copy = V::clone(&value);
            drop(value);
            self.write_back(hash, index, copy);
        }
    }

    /// Gives the value of a key its smallest form, which means the same: a snapshot may show the one or the other.
    pub fn settle_value(&mut self, hash: u64, key: &[u8]) {
        if let Some(found) = self.find_mut(hash, key) {
            let index = found.index();
            self.settle_at(hash, index);
        }
    }

    /// The same for the value of a record that was found.
    pub(super) fn settle_at(&mut self, hash: u64, index: usize) {
        let record = self.record_at(hash, index);
        if record.record().is_cold() {
            return;
        }
        let Some(mut value) = record.into_value() else { return };
        value.settle();
        match value.finish() {
            Whereabouts::Outside => self.return_small(hash, index),
            Whereabouts::Embedded => {}
            Whereabouts::Apart(value) => self.write_back(hash, index, value),
        }
    }

    /// Changes the value of a key, unless it is a string that lies in the record.
    pub fn modify_out<R>(&mut self, hash: u64, key: &[u8], change: impl FnOnce(&mut V) -> R) -> Option<R> {
        let change = |value: &mut V| {
            let parts = value.parts();
            (change(value), WriteBack::after(value, parts))
        };
        self.modify(hash, key, |_| Ok::<(), ()>(()), change).ok()
    }

    /// Makes a value that of a record, which keeps its key, expiry and access word.
    pub(super) fn write_back(&mut self, hash: u64, index: usize, value: V) {
        let is_embedded = value.with_embedded(|bytes| {
            let bytes = within_limit(bytes);
            bytes.map(|bytes| self.write_record(hash, index, NewValue::Embedded(bytes))).is_some()
        });
        if !is_embedded {
            self.write_record(hash, index, NewValue::Out(value));
        }
    }

    /// A record that was found, by its slot.
    #[inline]
    fn record_at(&mut self, hash: u64, index: usize) -> RecordMut<'_, V> {
        let records = self.directory.get_mut(position(hash));
        records.and_then(|records| records.record_mut(index)).expect("the record is there")
    }

    pub(super) fn write_record(&mut self, hash: u64, index: usize, value: NewValue<'_, V>) {
        let position = position(hash);
        let found = self.record_at(hash, index);
        let (expire_at_ms, access) = (found.record().expire_at_ms(), found.record().access());
        if found.fits(&value, expire_at_ms.is_some()) {
            found.overwrite(value, expire_at_ms, access);
        } else {
            self.change_length(position, |records| records.replace(index, value, expire_at_ms, access));
        }
    }
}
