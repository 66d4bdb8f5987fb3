//! The strings that entries keep out of line, plain or compressed.
//!
//! An entry has eight bytes for one: the pointer of a [`SharedBytes`], or that of a [`Cold`] one plus 1.

use super::super::record::POINTER_BYTES;
use crate::bytes::SharedBytes;
use crate::cold::{Cold, Verdict};
use crate::dictionary::{Compressor, Dictionary};
use crate::heap::Mover;
use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, with_exposed_provenance_mut};
use std::sync::Arc;

/// Walks of the thread that compresses, without a use, after which what it compresses counts as unused.
pub const UNUSED_WALKS: u8 = 5;
/// Bytes by which a forced frame may be longer than the string.
const ROOM_FORCED: usize = 128;
/// Of the eight bytes: the string is compressed.
const COLD: usize = 1;

/// A string that an entry keeps out of line, counted.
#[derive(Clone)]
pub struct OutText(Form);

#[derive(Clone)]
enum Form {
    Plain(SharedBytes),
    Cold(Cold<SharedBytes>),
}

/// What a string needs after a walk of the thread that compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To be compressed.
    Compress,
    /// To be plain again.
    Thaw,
    /// To have its plain copy freed, if nobody shares it.
    Clear,
}

impl OutText {
    /// Bytes of the string.
    pub fn raw_bytes(&self) -> usize {
        match &self.0 {
            Form::Plain(text) => text.len(),
            Form::Cold(text) => text.raw_bytes(),
        }
    }

    /// Bytes of heap.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Plain(text) => text.heap_bytes(),
            Form::Cold(text) => text.heap_bytes(),
        }
    }

    /// Whether it is compressed.
    pub fn is_cold(&self) -> bool {
        matches!(self.0, Form::Cold(_))
    }

    /// The same string compressed; None if it is, or does not shrink by an eighth and need not (`is_forced`).
    pub fn compressed(
        &self,
        dictionary: &Arc<Dictionary>,
        compressor: &mut Compressor,
        is_forced: bool,
    ) -> Option<OutText> {
        let Form::Plain(text) = &self.0 else { return None };
        let before = SharedBytes::heap_bytes_for(text.len());
        let max = if is_forced { before * 2 + ROOM_FORCED } else { before - before / 8 };
        Some(OutText(Form::Cold(Cold::of(text, dictionary, compressor, (), max)?)))
    }

    /// The same string plain.
    pub fn thawed(&self) -> OutText {
        OutText(Form::Plain(match &self.0 {
            Form::Plain(text) => text.clone(),
            Form::Cold(text) => text.thaw(),
        }))
    }

    /// The first `max` bytes of a plain string; nothing of a compressed one.
    pub fn sample(&self, max: usize) -> &[u8] {
        match &self.0 {
            Form::Plain(text) => &text[..text.len().min(max)],
            Form::Cold(_) => &[],
        }
    }

    /// Whether both are one allocation.
    pub fn is_same(&self, other: &OutText) -> bool {
        match (&self.0, &other.0) {
            (Form::Plain(a), Form::Plain(b)) => a.ptr_eq(b),
            (Form::Cold(a), Form::Cold(b)) => a.ptr_eq(b),
            _ => false,
        }
    }

    /// Where the string is, and how many references it has.
    #[cfg(test)]
    pub(super) fn identity(&self) -> (usize, u32) {
        match &self.0 {
            Form::Plain(text) => (text.as_ptr() as usize, text.references()),
            Form::Cold(text) => text.identity(),
        }
    }

    /// Notes that a plain string does not shrink: it is not tried again.
    pub fn set_stays(&self) {
        if let Form::Plain(text) = &self.0 {
            text.age().set_flag();
        }
    }

    /// Counts a walk; what the string needs. With `all`, every plain string is to be compressed that may shrink, and none becomes plain.
    pub(super) fn walk(&self, all: bool) -> Option<Need> {
        match &self.0 {
            Form::Plain(text) => {
                let is_due = text.age().count_walk() >= UNUSED_WALKS || all;
                (is_due && !text.age().is_flagged()).then_some(Need::Compress)
            }
            Form::Cold(text) => match text.walk() {
                Verdict::Keep => None,
                Verdict::Thaw if !all => Some(Need::Thaw),
                Verdict::Clear | Verdict::Thaw => Some(Need::Clear),
            },
        }
    }

    /// Frees the plain copy of a compressed string, unless somebody shares it.
    pub(super) fn clear(&mut self) {
        if let Form::Cold(text) = &mut self.0 {
            text.clear();
        }
    }

    /// Moves the string if it lies in a sparse slab and is not shared; returns whether it has moved.
    fn move_block(&mut self, mover: &mut Mover) -> bool {
        match &mut self.0 {
            Form::Plain(text) => text.move_block(mover),
            Form::Cold(text) => text.move_block(mover),
        }
    }

    /// The string: no use of it.
    fn peek(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            Form::Plain(text) => Cow::Borrowed(text),
            Form::Cold(text) => Cow::Owned(text.to_vec()),
        }
    }

    fn into_bits(self) -> usize {
        let form = ManuallyDrop::new(self);
        // SAFETY: the form is not used again.
        match unsafe { std::ptr::read(&raw const form.0) } {
            Form::Plain(text) => text.into_raw().as_ptr().expose_provenance(),
            Form::Cold(text) => text.into_raw().as_ptr().expose_provenance() + COLD,
        }
    }
}

/// Stores a string out of line and its pointer in eight bytes.
pub(super) fn put_out(at: &mut [u8], string: &[u8]) {
    put(at, OutText(Form::Plain(SharedBytes::new(string))));
}

fn put(at: &mut [u8], text: OutText) {
    at.copy_from_slice(&text.into_bits().to_ne_bytes());
}

/// Puts another form of a string in the place of the one at an offset.
///
/// # Safety
/// [`put_out`] has written there, and nobody borrows from the string that was there.
pub(super) unsafe fn replace_out(entry: &mut [u8], at: usize, new: OutText) {
    // SAFETY: the caller; the entry gets another pointer at once.
    drop(ManuallyDrop::into_inner(unsafe { borrow_out(entry, at) }));
    put(&mut entry[at..][..POINTER_BYTES], new);
}

/// Moves the string of the pointer at an offset if it lies in a sparse slab and is not shared.
///
/// # Safety
/// [`put_out`] has written there, and the string is alive and known to the entry only, but for those that count.
pub(super) unsafe fn move_out(entry: &mut [u8], at: usize, mover: &mut Mover) {
    // SAFETY: the caller; the entry gets the pointer that is good then.
    let mut string = unsafe { borrow_out(entry, at) };
    if string.move_block(mover) {
        put(&mut entry[at..][..POINTER_BYTES], ManuallyDrop::into_inner(string));
    }
}

/// The string of the pointer at an offset, which is used by that.
///
/// # Safety
/// [`put_out`] has written there, and the string lives for `'a`.
#[inline]
pub(super) unsafe fn out_string(entry: &[u8], at: usize) -> &[u8] {
    let bits = bits_at(entry, at);
    if bits & COLD != 0 {
        // SAFETY: passed on.
        return unsafe { cold_string(entry, at) };
    }
    // SAFETY: `put_out` has stored a plain string; the caller.
    let string = ManuallyDrop::new(unsafe { SharedBytes::from_raw(pointer(bits)) });
    string.age().note_use();
    let bytes: *const [u8] = &raw const **string;
    // SAFETY: the caller; the bytes belong to the allocation that the pointer keeps, not to this copy of the pointer.
    unsafe { &*bytes }
}

/// # Safety
/// As for [`out_string`].
#[cold]
unsafe fn cold_string(entry: &[u8], at: usize) -> &[u8] {
    // SAFETY: passed on.
    let string = unsafe { borrow_out(entry, at) };
    let Form::Cold(text) = &string.0 else { unreachable!("the bit says so") };
    let bytes: *const [u8] = &raw const **text.plain();
    // SAFETY: the bytes belong to the plain copy, which stays as long as nobody has the entry exclusively.
    unsafe { &*bytes }
}

/// The string of the pointer at an offset, of a compressed one a copy: no use of it.
///
/// # Safety
/// As for [`out_string`].
pub(super) unsafe fn peek_out(entry: &[u8], at: usize) -> Cow<'_, [u8]> {
    // SAFETY: passed on.
    let string = unsafe { borrow_out(entry, at) };
    match string.peek() {
        Cow::Borrowed(bytes) => {
            let bytes: *const [u8] = bytes;
            // SAFETY: the bytes belong to the allocation, not to this copy of the pointer.
            Cow::Borrowed(unsafe { &*bytes })
        }
        Cow::Owned(bytes) => Cow::Owned(bytes),
    }
}

/// # Safety
/// [`put_out`] has written there, and the string is alive. The copy must not outlive it, nor be dropped unless the
/// entry's own pointer is never used again.
#[inline]
pub(super) unsafe fn borrow_out(entry: &[u8], at: usize) -> ManuallyDrop<OutText> {
    let bits = bits_at(entry, at);
    // SAFETY: the pointer came from `into_raw` in `into_bits`; the rest is the caller's promise.
    ManuallyDrop::new(OutText(unsafe {
        match bits & COLD {
            0 => Form::Plain(SharedBytes::from_raw(pointer(bits))),
            _ => Form::Cold(Cold::from_raw(pointer(bits - COLD))),
        }
    }))
}

#[inline]
fn bits_at(entry: &[u8], at: usize) -> usize {
    let bits: [u8; POINTER_BYTES] = *entry[at..].first_chunk().expect("an entry holds its pointers whole");
    usize::from_ne_bytes(bits)
}

#[inline]
fn pointer(bits: usize) -> NonNull<u8> {
    NonNull::new(with_exposed_provenance_mut::<u8>(bits)).expect("a string is not at address zero")
}
