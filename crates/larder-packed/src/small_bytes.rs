//! Up to 64 KB of bytes that are either a counted buffer or lie in a record: what small collections are stored in.
//!
//! ```text
//!  of its own, the body of a Buffer:   | used u16 | bytes .. | free |
//! ```
//! Clone is O(1), and O(bytes) of bytes in place. Writing copies bytes that are shared or without room, and bytes in place,
//! unless they may be written to and keep their number.
//!
//! Invariants:
//! - S1: `used` bytes follow in the buffer.
//! - S2: bytes in place are not used after the borrow of their record has ended, and only written to if that is exclusive.
//!
//! Tested by the runs and the shaped hashes on top.

use crate::buffer::Buffer;
use crate::heap::Mover;
use crate::segment::InRecord;
use std::ptr::NonNull;
use std::slice;

/// Bytes before the content.
const USED: usize = 2;
/// Bytes of room that a copy gets which is going to be written to.
pub(crate) const ROOM: usize = 48;
/// The most bytes.
pub const SMALL_BYTES_MAX: usize = u16::MAX as usize - USED;

/// See the module's comment.
pub struct SmallBytes(Repr);

enum Repr {
    Own(Buffer),
    InPlace { at: NonNull<u8>, len: u16, may_write: bool },
}

// SAFETY: a buffer may be sent; bytes in place belong to a record that whoever holds this has borrowed (S2).
unsafe impl Send for SmallBytes {}
// SAFETY: as above; both are only read through a shared reference.
unsafe impl Sync for SmallBytes {}

impl SmallBytes {
    /// A copy of these bytes, with room for `room` more. Panics if they are more than [`SMALL_BYTES_MAX`].
    #[inline]
    pub fn copy_of(bytes: &[u8], room: usize) -> Self {
        let used = u16::try_from(bytes.len()).expect("the caller keeps to the limit");
        let mut buffer = Buffer::of(&[], USED + bytes.len() + room);
        let body = buffer.make_mut();
        body[..USED].copy_from_slice(&used.to_le_bytes());
        body[USED..][..bytes.len()].copy_from_slice(bytes);
        SmallBytes(Repr::Own(buffer))
    }

    /// Static bytes; allocates nothing.
    #[inline]
    pub fn of_static(bytes: &'static [u8]) -> Self {
        // SAFETY: static bytes stay as they are.
        unsafe { SmallBytes::in_record(InRecord::Read(bytes)) }
    }

    /// The bytes of a record, to be read, or written to as long as their number stays.
    ///
    /// # Safety
    /// This is not used when the borrow of the bytes has ended, unless it was made [its own](Self::make_own). A clone is
    /// independent.
    #[inline]
    pub unsafe fn in_record(bytes: InRecord<'_>) -> Self {
        let may_write = matches!(bytes, InRecord::Edit(_));
        let (at, len) = match bytes {
            InRecord::Read(bytes) => (NonNull::from(bytes).cast(), bytes.len()),
            InRecord::Edit(bytes) => (NonNull::from(&mut *bytes).cast(), bytes.len()),
        };
        SmallBytes(Repr::InPlace { at, len: len as u16, may_write })
    }

    /// Whether these are still bytes of a record that may be written to.
    #[inline]
    pub fn is_in_place(&self) -> bool {
        matches!(self.0, Repr::InPlace { may_write: true, .. })
    }

    #[inline]
    fn is_own(&self) -> bool {
        matches!(self.0, Repr::Own(_))
    }

    /// The bytes.
    #[inline]
    pub fn get(&self) -> &[u8] {
        match &self.0 {
            Repr::Own(buffer) => {
                let used = usize::from(u16::from_le_bytes([buffer[0], buffer[1]]));
                &buffer[USED..][..used]
            }
            // SAFETY: S2.
            Repr::InPlace { at, len, .. } => unsafe { slice::from_raw_parts(at.as_ptr(), usize::from(*len)) },
        }
    }

    /// The bytes and room for `more`, to be written to: the slice is longer than the bytes by that at least.
    #[inline]
    pub fn make_mut(&mut self, more: usize) -> &mut [u8] {
        let fits = match &self.0 {
            Repr::Own(buffer) => buffer.is_unique() && USED + self.get().len() + more <= buffer.len(),
            Repr::InPlace { may_write, .. } => *may_write && more == 0,
        };
        if !fits {
            self.copy(more + ROOM);
        }
        match &mut self.0 {
            Repr::Own(buffer) => &mut buffer.make_mut()[USED..],
            // SAFETY: S2: `may_write` says that nobody else uses the bytes.
            Repr::InPlace { at, len, .. } => unsafe {
                slice::from_raw_parts_mut(at.as_ptr(), usize::from(*len))
            },
        }
    }

    /// Copies bytes that lie elsewhere, with room for `more`.
    #[inline]
    pub fn make_own(&mut self, more: usize) {
        if !self.is_own() {
            self.copy(more);
        }
    }

    #[inline(never)]
    fn copy(&mut self, more: usize) {
        *self = SmallBytes::copy_of(self.get(), more);
    }

    /// Sets how many of the bytes that [`make_mut`](Self::make_mut) gave are used.
    #[inline]
    pub fn set_len(&mut self, len: usize) {
        if len != self.get().len() {
            self.make_own(0);
        }
        let Repr::Own(buffer) = &mut self.0 else { return };
        let body = buffer.make_mut();
        assert!(USED + len <= body.len() && len <= SMALL_BYTES_MAX, "S1: {len} bytes");
        body[..USED].copy_from_slice(&(len as u16).to_le_bytes());
    }

    /// Replaces `old` bytes at an offset by `new` others of any content, which the caller writes into the slice.
    #[inline]
    pub fn splice(&mut self, at: usize, old: usize, new: usize) -> &mut [u8] {
        let used = self.get().len();
        if old != new {
            self.make_own(new.saturating_sub(old) + ROOM);
            self.make_mut(new.saturating_sub(old)).copy_within(at + old..used, at + new);
            self.set_len(used + new - old);
        }
        &mut self.make_mut(0)[at..at + new]
    }

    /// Moves a buffer of their own if it lies in a sparse slab and is not shared.
    pub fn move_block(&mut self, mover: &mut Mover) {
        if let Repr::Own(buffer) = &mut self.0 {
            buffer.move_block(mover);
        }
    }

    /// Bytes of heap: none of bytes in place.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Own(buffer) => buffer.heap_bytes(),
            Repr::InPlace { .. } => 0,
        }
    }

    /// Asks the processor to load the first bytes.
    #[inline]
    pub fn prefetch(&self) {
        if let Repr::Own(buffer) = &self.0 {
            buffer.prefetch(4);
        }
    }

    /// Gives the bytes away as a pointer, in the memory that they need with room for a change. [`from_raw`](Self::from_raw) takes it back.
    pub fn into_raw(self) -> NonNull<u8> {
        let fits = match &self.0 {
            Repr::Own(buffer) => buffer.len() <= Buffer::body_len(USED + self.get().len() + ROOM),
            Repr::InPlace { .. } => false,
        };
        let bytes = if fits { self } else { SmallBytes::copy_of(self.get(), 0) };
        match bytes.0 {
            Repr::Own(buffer) => buffer.into_raw(),
            Repr::InPlace { .. } => unreachable!("it was just copied"),
        }
    }

    /// Takes back what [`into_raw`](Self::into_raw) gave.
    ///
    /// # Safety
    /// `raw` came from `into_raw`, and each pointer is taken back once.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        // SAFETY: passed on to the caller.
        SmallBytes(Repr::Own(unsafe { Buffer::from_raw(raw) }))
    }
}

impl Clone for SmallBytes {
    #[inline]
    fn clone(&self) -> Self {
        match &self.0 {
            Repr::Own(buffer) => SmallBytes(Repr::Own(buffer.clone())),
            Repr::InPlace { .. } => SmallBytes::copy_of(self.get(), 0),
        }
    }
}
