//! Values that are kept in another form while nobody uses them.
//!
//! The form is made from a clone, while others use the table. [`Found`] keeps what the record held when the clone was
//! made; the form takes its place if the record still holds the same.

use super::hash::KeyHash;
use super::{Entry, IntoRaw, KeyTable, NewValue};
use larder_packed::segment::ValueRef;

/// A value as it was found in a table.
pub struct Found<V> {
    hash: u64,
    key: Box<[u8]>,
    marks: u8,
    held: Box<[u8]>,
    /// A clone.
    pub value: V,
}

impl<V: IntoRaw + Clone> Found<V> {
    /// The value of an entry, unless it is a short string in its record.
    pub fn of(hash: u64, entry: Entry<'_, V>) -> Option<Self> {
        let value = match entry.kept() {
            ValueRef::Out(value) => value.clone(),
            ValueRef::Inline { kind, bytes } => V::of_inline(kind, bytes)?,
        };
        let (marks, held) = entry.held();
        Some(Found { hash, key: entry.key().into(), marks, held: held.into(), value })
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }
}

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Puts another form of a value in the place where it was found, unless that has changed meanwhile; whether it did.
    pub fn change_form(&mut self, found: &Found<V>, form: V) -> bool {
        let Some(record) = self.find_mut(found.hash, &found.key) else { return false };
        let index = record.index();
        let is_same = record.record().held() == (found.marks, &*found.held);
        if is_same {
            self.write_back(found.hash, index, form);
        }
        is_same
    }

    /// Puts the value of a key into the form in which it is used.
    pub fn thaw(&mut self, hash: u64, key: &[u8]) {
        let Some(record) = self.find_mut(hash, key).filter(|record| record.record().is_cold()) else {
            return;
        };
        let index = record.index();
        let thawed = match record.record().kept() {
            ValueRef::Out(value) => value.thawed(),
            ValueRef::Inline { .. } => None,
        };
        let Some(value) = thawed else { return };
        if let Some((kind, bytes)) = value.as_inline() {
            return self.write_record(hash, index, NewValue::Inline { kind, bytes });
        }
        self.write_record(hash, index, NewValue::Out(value));
        self.settle_at(hash, index);
    }
}
