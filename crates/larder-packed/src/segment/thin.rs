//! Values that are a kind and a thin pointer, and the borrows that rebuild them from a record.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
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
