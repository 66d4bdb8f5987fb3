//! An entry that was found, to be looked at and changed without a second search.

use super::{Entry, IntoRaw, ValueMut};
use larder_packed::segment::RecordMut;

/// What may be changed in an entry without the table's knowledge: its access word and its value in place. Removing it,
/// or changing its expiry or its length, goes through the table, which counts and keeps minima.
pub struct EntryMut<'a, V>(pub(super) RecordMut<'a, V>);

impl<'a, V: IntoRaw> EntryMut<'a, V> {
    /// The entry, for a look.
    #[inline]
    pub fn record(&self) -> Entry<'_, V> {
        self.0.record()
    }

    /// The entry, borrowed for as long as this was.
    #[inline]
    pub fn into_record(self) -> Entry<'a, V> {
        self.0.into_record()
    }

    /// Stores the 24-bit access word.
    #[inline]
    pub fn set_access(&mut self, access: u32) {
        self.0.set_access(access);
    }

    /// The bytes of an inline value, to be changed in place.
    #[inline]
    pub fn into_inline(self) -> Option<&'a mut [u8]> {
        self.0.into_inline()
    }

    /// A value of its own, to be changed.
    #[inline]
    pub fn into_out(self) -> Option<ValueMut<'a, V>> {
        self.0.into_out()
    }
}
