//! Values that are a kind and a thin pointer, and the borrows that rebuild them from a record.

use super::record;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Kinds are below this: five bits of a record's first byte.
pub const KINDS: u8 = 32;

/// A value that is one small kind and one thin pointer, so that a record can hold it in nine bytes.
///
/// # Safety
/// - `into_thin` gives a kind below [`KINDS`], `from_thin` takes exactly such pairs back; neither panics.
/// - A value may be rebuilt several times from the same pair as long as none of them is changed or dropped: the copies
///   serve `&self` calls only. So the value must not carry interior mutability outside of what the pointer points
///   to, and a shared borrow of it must not claim uniqueness of the pointee.
pub unsafe trait Thin: Sized {
    /// Takes the value apart.
    fn into_thin(self) -> (u8, NonNull<u8>);

    /// Puts it together again.
    ///
    /// # Safety
    /// The pair came from [`into_thin`](Self::into_thin) of a value that has not been dropped or changed since
    /// through another copy; at most one of the copies is ever changed or dropped.
    unsafe fn from_thin(kind: u8, ptr: NonNull<u8>) -> Self;
}

/// A value of a record, borrowed: dereferences to `V`.
pub struct Borrowed<'a, V> {
    value: ManuallyDrop<V>,
    record: PhantomData<&'a V>,
}

impl<V: Thin> Borrowed<'_, V> {
    /// # Safety
    /// The pair is that of a live value, which the lifetime keeps from being changed or dropped.
    pub(super) unsafe fn new(kind: u8, ptr: NonNull<u8>) -> Self {
        // SAFETY: passed on to the caller; `ManuallyDrop` keeps this copy from being dropped.
        let value = ManuallyDrop::new(unsafe { V::from_thin(kind, ptr) });
        Borrowed { value, record: PhantomData }
    }
}

impl<V> Deref for Borrowed<'_, V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        &self.value
    }
}

impl<V: fmt::Debug> fmt::Debug for Borrowed<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        V::fmt(self, f)
    }
}

/// A value of a record, taken out to be changed: dereferences to `V`, and goes back into the record on drop.
///
/// While it is out the record is a short string, so that a guard that is leaked leaks its value and nothing worse.
pub struct OutMut<'a, V: Thin> {
    value: ManuallyDrop<V>,
    entry: &'a mut [u8],
    /// Where the pointer goes in the record.
    at: usize,
    // Another `V` may be put here, so the type must not vary.
    values: PhantomData<&'a mut V>,
}

impl<'a, V: Thin> OutMut<'a, V> {
    /// Takes the value out of a record; None when its value is inline.
    ///
    /// # Safety
    /// `entry` is a live record of a segment of `V`.
    pub(super) unsafe fn take(entry: &'a mut [u8]) -> Option<Self> {
        let (kind, ptr, at) = record::out_parts(entry)?;
        record::set_inline(entry);
        // SAFETY: the record owned the value, and has just become a string: this is the only copy.
        let value = ManuallyDrop::new(unsafe { V::from_thin(kind, ptr) });
        Some(OutMut { value, entry, at, values: PhantomData })
    }
}

impl<V: Thin> Deref for OutMut<'_, V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

impl<V: Thin> DerefMut for OutMut<'_, V> {
    fn deref_mut(&mut self) -> &mut V {
        &mut self.value
    }
}

impl<V: Thin> Drop for OutMut<'_, V> {
    fn drop(&mut self) {
        // SAFETY: the guard is being dropped, nobody reads `value` after this.
        let (kind, ptr) = unsafe { ManuallyDrop::take(&mut self.value) }.into_thin();
        record::set_out_at(self.entry, self.at, kind, ptr);
    }
}
