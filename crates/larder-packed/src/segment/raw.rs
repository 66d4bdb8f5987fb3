//! Values that are given away as a kind and a raw pointer, and the borrows that rebuild them from a record.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

/// A value in a record has a kind below this: five bits of the record's first byte.
pub const KINDS_MAX: u8 = 32;

/// A value that can be given away as one small kind and one raw pointer, so that a record can hold it in nine bytes.
///
/// # Safety
/// - `into_raw` gives a kind below `KINDS`, `from_raw` takes exactly such pairs back; neither panics.
/// - A value may be rebuilt several times from the same pair as long as none of them is changed or dropped: the copies
///   serve `&self` calls only. So the value must not carry interior mutability outside of what the pointer points
///   to, and a shared borrow of it must not claim uniqueness of the pointee.
pub unsafe trait IntoRaw: Sized {
    /// Number of kinds, at most [`KINDS_MAX`]. A type that contains others adds an offset to the kinds of each.
    const KINDS: u8;

    /// Takes the value apart. The pointer owns it until [`from_raw`](Self::from_raw) takes it back.
    fn into_raw(self) -> (u8, NonNull<u8>);

    /// Takes back what [`into_raw`](Self::into_raw) gave. To look at the value and leave it where it is, wrap the result
    /// in `ManuallyDrop`.
    ///
    /// # Safety
    /// The pair came from `into_raw` of a value of the same type that has not been dropped or changed since through
    /// another copy; at most one of the copies is ever changed or dropped.
    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> Self;
}

/// A value of a record, borrowed: dereferences to `V`.
pub struct Borrowed<'a, V> {
    value: ManuallyDrop<V>,
    record: PhantomData<&'a V>,
}

impl<V: IntoRaw> Borrowed<'_, V> {
    /// # Safety
    /// The pair is that of a live value, which the lifetime keeps from being changed or dropped.
    pub(super) unsafe fn new(kind: u8, ptr: NonNull<u8>) -> Self {
        // SAFETY: passed on to the caller; `ManuallyDrop` keeps this copy from being dropped.
        let value = ManuallyDrop::new(unsafe { V::from_raw(kind, ptr) });
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
