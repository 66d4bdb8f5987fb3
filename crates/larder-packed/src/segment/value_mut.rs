//! A value of a record, outside or embedded, while it changes.
//!
//! One type for both places, so that a command's code exists once and is inlined into its one caller.

use super::raw::{InRecord, IntoRaw};
use super::record;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A value of a record, to be changed: dereferences to `V`. A [cold](super::Record::is_cold) one is put into the form in which it is
/// used before.
///
/// One that was outside goes back into the record when this is dropped. One that was embedded is in the record only while it
/// [is in place](IntoRaw::is_in_place): [`finish`](Self::finish) says where it is, and a drop forgets what is elsewhere.
pub struct ValueMut<'a, V: IntoRaw> {
    value: ManuallyDrop<V>,
    origin: Origin<'a>,
    // Another `V` may be put here, so the type must not vary.
    values: PhantomData<&'a mut V>,
}

/// Where the value was.
enum Origin<'a> {
    /// Outside. While the value is taken out its record is a short string, so that a guard that is leaked leaks its value
    /// and nothing worse.
    Outside {
        entry: &'a mut [u8],
        /// Where the pointer goes in the record.
        at: usize,
    },
    /// In the record, whose bytes `value` borrows.
    Embedded { kind: u8 },
}

/// Where a value is after it was changed.
pub enum Whereabouts<V> {
    /// Outside its record, which has its pointer.
    Outside,
    /// In its record, where it was changed.
    Embedded,
    /// Here. The record has the bytes from before.
    Apart(V),
}

impl<'a, V: IntoRaw> ValueMut<'a, V> {
    /// Takes the value of a record; None when that is an inline string.
    ///
    /// # Safety
    /// `entry` is a live record of a segment of `V`.
    #[inline(always)]
    pub(super) unsafe fn take(entry: &'a mut [u8]) -> Option<Self> {
        if record::embedded(entry).is_none() {
            // SAFETY: the caller.
            return unsafe { ValueMut::take_outside(entry) };
        }
        let (kind, bytes) = record::embedded_mut(entry)?;
        // SAFETY: the caller, and the bytes are borrowed exclusively until the value is dropped or made its own. What it
        // counts is the record's, which stays as it is meanwhile.
        let value = unsafe { V::in_record(kind, InRecord::Edit(bytes)) };
        Some(ValueMut {
            value: ManuallyDrop::new(value),
            origin: Origin::Embedded { kind },
            values: PhantomData,
        })
    }

    /// Takes the value of a record; None when it is not outside.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline(always)]
    pub(super) unsafe fn take_outside(entry: &'a mut [u8]) -> Option<Self> {
        let (kind, ptr, at) = record::out_parts(entry)?;
        record::set_inline(entry);
        // SAFETY: the record owned the value, and has just become a string: this is the only copy.
        let value = ManuallyDrop::new(unsafe { V::from_raw(kind, ptr) });
        Some(ValueMut { value, origin: Origin::Outside { entry, at }, values: PhantomData })
    }

    /// Ends the change and says where the value is.
    #[inline(always)]
    pub fn finish(self) -> Whereabouts<V> {
        let mut guard = ManuallyDrop::new(self);
        // SAFETY: the guard is not dropped, nobody reads its value after this.
        let value = unsafe { ManuallyDrop::take(&mut guard.value) };
        match &mut guard.origin {
            Origin::Outside { entry, at } => {
                put_back(value, entry, *at);
                Whereabouts::Outside
            }
            Origin::Embedded { kind } if value.is_in_place(*kind) => Whereabouts::Embedded,
            Origin::Embedded { .. } => Whereabouts::Apart(value.into_own()),
        }
    }
}

#[inline(always)]
fn put_back<V: IntoRaw>(value: V, entry: &mut [u8], at: usize) {
    let (kind, ptr) = value.into_raw();
    record::set_out_at(entry, at, kind, ptr);
}

impl<V: IntoRaw> Deref for ValueMut<'_, V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        &self.value
    }
}

impl<V: IntoRaw> DerefMut for ValueMut<'_, V> {
    #[inline]
    fn deref_mut(&mut self) -> &mut V {
        &mut self.value
    }
}

impl<V: IntoRaw> Drop for ValueMut<'_, V> {
    fn drop(&mut self) {
        // SAFETY: the guard is being dropped, nobody reads `value` after this.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        if let Origin::Outside { entry, at } = &mut self.origin {
            put_back(value, entry, *at);
        }
    }
}
