//! Values as records hold them: a kind and a raw pointer, or, when they are small, a kind and their bytes.

use crate::heap::Mover;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

/// A value in a record has a kind below this: five bits of the record's first byte.
pub const KINDS_MAX: u8 = 32;

/// The most bytes of a value that is embedded in its record.
pub const EMBEDDED_MAX: usize = 512;
/// A value that is embedded in its record has a kind below this; the rest of the five bits are kinds of strings.
pub const EMBEDDED_KINDS_MAX: u8 = KINDS_MAX - 4;

/// The kind of values in a form that only keeps them, see [`IntoRaw::thawed`].
pub const COLD_KIND: u8 = KINDS_MAX - 1;
/// The same of those that are embedded. In a record, both have all bits of the kind set.
pub const COLD_KIND_EMBEDDED: u8 = EMBEDDED_KINDS_MAX - 1;

/// The bytes of a value that lives in its record.
#[derive(Clone, Copy)]
pub struct Embedded<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Embedded<'a> {
    /// Pairs bytes with their kind. Panics if they are more than [`EMBEDDED_MAX`] or the kind is not below
    /// [`EMBEDDED_KINDS_MAX`].
    ///
    /// # Safety
    /// The type whose [`IntoRaw::with_embedded`] passes this on accepts the pair in its other functions.
    #[inline]
    pub unsafe fn new(kind: u8, bytes: &'a [u8]) -> Self {
        assert!(
            kind < EMBEDDED_KINDS_MAX && bytes.len() <= EMBEDDED_MAX,
            "kind {kind}, {} bytes",
            bytes.len()
        );
        Embedded { kind, bytes }
    }

    /// The kind, as the type of the value numbers it.
    #[inline]
    pub fn kind(self) -> u8 {
        self.kind
    }

    /// The bytes.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }
}

/// The bytes of an embedded value as a borrow of its record gives them.
pub enum InRecord<'a> {
    /// To be read.
    Read(&'a [u8]),
    /// To be changed.
    Edit(&'a mut [u8]),
}

impl InRecord<'_> {
    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self {
            InRecord::Read(bytes) => bytes,
            InRecord::Edit(bytes) => bytes,
        }
    }
}

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

    /// Calls `f` with the bytes as which the value may live in its record, or with `None` if it may not.
    #[inline]
    fn with_embedded<R>(&self, f: impl FnOnce(Option<Embedded<'_>>) -> R) -> R {
        f(None)
    }

    /// Whether the value, perhaps after it was [settled](Self::settle), may live in its record: a fast test that may say yes
    /// where [`with_embedded`](Self::with_embedded) says no, but not the reverse.
    #[inline]
    fn may_embed(&self) -> bool {
        false
    }

    /// The value of a record's bytes. It reads them where they are, and writes to those that it may
    /// [edit](InRecord::Edit) as long as it [is in place](Self::is_in_place), or is rebuilt from them. A clone of it owns
    /// what it holds.
    ///
    /// # Safety
    /// [`with_embedded`](Self::with_embedded) of this type gave the bytes, of this kind, and a record holds them. The value is
    /// dropped, or made [its own](Self::into_own), before the bytes are disowned or used otherwise.
    unsafe fn in_record(kind: u8, _bytes: InRecord<'_>) -> Self {
        unreachable!("kind {kind} was never embedded")
    }

    /// Whether values of an embedded kind are rebuilt to be read.
    #[inline]
    fn is_rebuilt(_kind: u8) -> bool {
        true
    }

    /// Whether a value that was changed is still that of the record's bytes, of this kind: there is nothing to be stored.
    #[inline]
    fn is_in_place(&self, _kind: u8) -> bool {
        false
    }

    /// The value without a part that lies in the record.
    #[inline]
    fn into_own(self) -> Self {
        self
    }

    /// Makes the value as small as it can be, before a record gets it.
    #[inline]
    fn settle(&mut self) {}

    /// Moves the value's blocks, those that lie in sparse slabs and are not shared.
    fn move_blocks(&mut self, _mover: &mut Mover) {}

    /// A number that differs after every change for which the value should [settle](Self::settle) again.
    #[inline]
    fn parts(&self) -> usize {
        0
    }

    /// The value as it is used, if this is a form that only keeps it. Such values have the kind [`COLD_KIND`], or
    /// [`COLD_KIND_EMBEDDED`] in their record, and no others do.
    #[inline]
    fn thawed(&self) -> Option<Self> {
        None
    }

    /// A copy of a string of this kind that lies in its record, as a value of its own; `None` if it is not to be kept in another
    /// form.
    fn of_inline(_kind: u8, _bytes: &[u8]) -> Option<Self> {
        None
    }

    /// The kind and the bytes of a value that belongs in its record as a string.
    #[inline]
    fn as_inline(&self) -> Option<(u8, &[u8])> {
        None
    }

    /// Notes that a record has got these bytes.
    #[inline]
    fn adopt(_embedded: Embedded<'_>) {}

    /// Notes that a record with these bytes is going.
    ///
    /// # Safety
    /// The bytes were [adopted](Self::adopt), and are not used as a value again.
    #[inline]
    unsafe fn disown(_embedded: Embedded<'_>) {}
}

/// A value of a record, borrowed: dereferences to `V`.
pub struct Borrowed<'a, V> {
    value: ManuallyDrop<V>,
    /// Whether the value belongs to this borrow, and not to a pointer in the record.
    is_own: bool,
    record: PhantomData<&'a V>,
}

impl<V: IntoRaw> Borrowed<'_, V> {
    /// # Safety
    /// The pair is that of a live value, which the lifetime keeps from being changed or dropped.
    pub(super) unsafe fn new(kind: u8, ptr: NonNull<u8>) -> Self {
        // SAFETY: passed on to the caller; `ManuallyDrop` keeps this copy from being dropped.
        let value = ManuallyDrop::new(unsafe { V::from_raw(kind, ptr) });
        Borrowed { value, is_own: false, record: PhantomData }
    }

    /// The value as it is used.
    #[inline]
    pub(super) fn thawed(self) -> Self {
        match self.value.thawed() {
            Some(thawed) => Borrowed { value: ManuallyDrop::new(thawed), is_own: true, record: PhantomData },
            None => self,
        }
    }

    /// # Safety
    /// A record holds these bytes, and the lifetime keeps it from being changed or dropped.
    #[inline]
    pub(super) unsafe fn of_embedded(embedded: Embedded<'_>) -> Self {
        // SAFETY: passed on to the caller.
        let value = unsafe { V::in_record(embedded.kind, InRecord::Read(embedded.bytes)) };
        Borrowed { value: ManuallyDrop::new(value), is_own: true, record: PhantomData }
    }
}

impl<V> Drop for Borrowed<'_, V> {
    #[inline]
    fn drop(&mut self) {
        if self.is_own {
            // SAFETY: the value was made for this borrow alone, which ends here.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
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
