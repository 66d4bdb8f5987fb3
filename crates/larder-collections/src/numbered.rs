//! Things that records name by a number: shapes of hashes, dictionaries of cold values.
//!
//! A record has two bytes for what takes 8 as a pointer, and counts it as a pointer would. A type of such things has one
//! table of places for the process:
//! ```text
//!  PLACES  [ptr; N]    by number: a counted pointer; null where there is none
//! ```
//! Readers take the pointer of a number that their record owns from its place, without a lock. What is put into places, and
//! taken out, is decided by the type's registry under a lock of its own.
//!
//! Invariants, on which all `unsafe` here rests:
//! - P1: the pointer of a place comes from `Arc::into_raw`, and the place owns one count of it.
//! - P2: each record and value with a number owns a count ([`adopt`], [`Counted`],
//!   [`CountedNumber`]), or borrows from one that does. So the pointer that a reader finds by the
//!   number of a record is live as long as the record.
//! - P3: a count is added by who has one, or under the lock of the registry. [`take_unused`] frees under that lock, when the
//!   place has the only count: then nobody else has one to add to.
//!
//! Tested by the registries on top.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

/// A type of things with numbers.
pub trait Numbered: Sized + Send + Sync + 'static {
    /// The places of the type, by number.
    fn places() -> &'static [AtomicPtr<Self>];

    /// The number of this one.
    fn number(&self) -> u16;
}

/// A thing with a number that its holder keeps alive.
pub struct Counted<T: Numbered> {
    thing: NonNull<T>,
    /// Whether this owns a count. If not it borrows that of a record.
    is_counted: bool,
}

// SAFETY: as for an `Arc` of a type that is `Send` and `Sync`.
unsafe impl<T: Numbered> Send for Counted<T> {}
// SAFETY: as above.
unsafe impl<T: Numbered> Sync for Counted<T> {}

impl<T: Numbered> Counted<T> {
    /// The thing of a number, whose count the caller's record or value owns.
    ///
    /// # Safety
    /// A record, or a value that was given away, owns a count of the thing of this number, and does so until this is
    /// dropped.
    #[inline]
    pub(crate) unsafe fn borrowed(number: u16) -> Self {
        Counted { thing: pointer(number), is_counted: false }
    }

    /// The thing of a number whose count passes to this.
    ///
    /// # Safety
    /// The caller owns a count of the thing of this number, and gives it up.
    #[inline]
    pub(crate) unsafe fn owned(number: u16) -> Self {
        Counted { thing: pointer(number), is_counted: true }
    }

    /// The same with a count of its own.
    #[inline]
    pub(crate) fn into_counted(self) -> Self {
        if self.is_counted { self } else { self.clone() }
    }

    /// Gives the count to the caller, who passes it to [`owned`](Self::owned) later.
    #[inline]
    pub(crate) fn into_count(self) -> u16 {
        ManuallyDrop::new(self.into_counted()).number()
    }
}

impl<T: Numbered> Deref for Counted<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: P2.
        unsafe { self.thing.as_ref() }
    }
}

impl<T: Numbered> Clone for Counted<T> {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: P1, P2: the pointer came from an `Arc` that is alive.
        unsafe { Arc::increment_strong_count(self.thing.as_ptr()) };
        Counted { thing: self.thing, is_counted: true }
    }
}

impl<T: Numbered> Drop for Counted<T> {
    #[inline]
    fn drop(&mut self) {
        if self.is_counted {
            // SAFETY: P1, and this owns the count.
            unsafe { Arc::decrement_strong_count(self.thing.as_ptr()) };
        }
    }
}

/// A [`Counted`] in two bytes, for values that keep many. Each access reads the table of places.
pub(crate) struct CountedNumber<T: Numbered> {
    number: u16,
    thing: PhantomData<fn() -> T>,
}

impl<T: Numbered> From<Counted<T>> for CountedNumber<T> {
    fn from(counted: Counted<T>) -> Self {
        CountedNumber { number: counted.into_count(), thing: PhantomData }
    }
}

impl<T: Numbered> Deref for CountedNumber<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: P2: this owns a count.
        unsafe { pointer::<T>(self.number).as_ref() }
    }
}

impl<T: Numbered> Clone for CountedNumber<T> {
    fn clone(&self) -> Self {
        // SAFETY: P2, P3: this owns a count as a `Counted` does, and lives meanwhile.
        unsafe { adopt::<T>(self.number) };
        CountedNumber { number: self.number, thing: PhantomData }
    }
}

impl<T: Numbered> Drop for CountedNumber<T> {
    fn drop(&mut self) {
        // SAFETY: the count that this owns.
        unsafe { disown::<T>(self.number) };
    }
}

/// Counts a record that has got a number.
///
/// # Safety
/// The caller holds a [`Counted`] or [`CountedNumber`] of this number.
#[inline]
pub(crate) unsafe fn adopt<T: Numbered>(number: u16) {
    // SAFETY: passed on to the caller: P1, P3.
    unsafe { Arc::increment_strong_count(pointer::<T>(number).as_ptr()) };
}

/// Gives up the count of a record.
///
/// # Safety
/// [`adopt`] has counted the record, and it is going.
#[inline]
pub(crate) unsafe fn disown<T: Numbered>(number: u16) {
    // SAFETY: passed on to the caller: P1.
    unsafe { Arc::decrement_strong_count(pointer::<T>(number).as_ptr()) };
}

/// Puts a thing in its place, which is empty. The lock of the registry is held.
pub(crate) fn put<T: Numbered>(thing: T) {
    let place = &T::places()[usize::from(thing.number())];
    assert!(place.load(Acquire).is_null(), "the place is taken");
    place.store(Arc::into_raw(Arc::new(thing)).cast_mut(), Release);
}

/// The thing of a number, counted. The lock of the registry is held.
pub(crate) fn get<T: Numbered>(number: u16) -> Option<Counted<T>> {
    let thing = NonNull::new(T::places()[usize::from(number)].load(Acquire))?;
    let borrowed = Counted { thing, is_counted: false };
    // P3: the lock is held, so the place's count lasts meanwhile.
    Some(borrowed.clone())
}

/// The thing of a number, and how many others than its place have counted it. The lock of the registry is held.
pub(crate) fn look<T: Numbered, R>(number: u16, f: impl FnOnce(&T, usize) -> R) -> Option<R> {
    let pointer = NonNull::new(T::places()[usize::from(number)].load(Acquire))?;
    // SAFETY: P1: the place's own count, which stays where it is, as the lock is held.
    let thing = ManuallyDrop::new(unsafe { Arc::from_raw(pointer.as_ptr()) });
    Some(f(&thing, Arc::strong_count(&thing) - 1))
}

/// Empties the place of a number if nobody else has counted the thing; whether it did. The lock of the registry is held.
pub(crate) fn take_unused<T: Numbered>(number: u16) -> bool {
    let is_unused = look::<T, _>(number, |_, users| users == 0) == Some(true);
    if is_unused {
        let pointer = T::places()[usize::from(number)].swap(null_mut(), Release);
        // SAFETY: P3: the place's count was the last, the lock is held, and the place has given it up.
        drop(unsafe { Arc::from_raw(pointer) });
    }
    is_unused
}

/// The pointer of a number that is in use.
#[inline]
fn pointer<T: Numbered>(number: u16) -> NonNull<T> {
    let pointer = T::places().get(usize::from(number)).map_or(null_mut(), |place| place.load(Acquire));
    NonNull::new(pointer).expect("a number in use has a thing")
}
