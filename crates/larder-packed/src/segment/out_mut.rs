//! A value that is taken out of its record while it changes.

use super::raw::IntoRaw;
use super::record;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A value of a record, taken out to be changed: dereferences to `V`, and goes back into the record on drop.
///
/// While it is out the record is a short string, so that a guard that is leaked leaks its value and nothing worse.
pub struct OutMut<'a, V: IntoRaw> {
    value: ManuallyDrop<V>,
    entry: &'a mut [u8],
    /// Where the pointer goes in the record.
    at: usize,
    // Another `V` may be put here, so the type must not vary.
    values: PhantomData<&'a mut V>,
}

impl<'a, V: IntoRaw> OutMut<'a, V> {
    /// Takes the value out of a record; None when its value is inline.
    ///
    /// # Safety
    /// `entry` is a live record of a segment of `V`.
    pub(super) unsafe fn take(entry: &'a mut [u8]) -> Option<Self> {
        let (kind, ptr, at) = record::out_parts(entry)?;
        record::set_inline(entry);
        // SAFETY: the record owned the value, and has just become a string: this is the only copy.
        let value = ManuallyDrop::new(unsafe { V::from_raw(kind, ptr) });
        Some(OutMut { value, entry, at, values: PhantomData })
    }
}

impl<V: IntoRaw> Deref for OutMut<'_, V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

impl<V: IntoRaw> DerefMut for OutMut<'_, V> {
    fn deref_mut(&mut self) -> &mut V {
        &mut self.value
    }
}

impl<V: IntoRaw> Drop for OutMut<'_, V> {
    fn drop(&mut self) {
        // SAFETY: the guard is being dropped, nobody reads `value` after this.
        let (kind, ptr) = unsafe { ManuallyDrop::take(&mut self.value) }.into_raw();
        record::set_out_at(self.entry, self.at, kind, ptr);
    }
}
