//! The bytes of a cold value, which are only read: a counted buffer, or in a record.
//!
//! ```text
//!  of its own, the body of a Buffer:   | used u32 | bytes .. | free |
//! ```
//! Clone is O(1), and O(bytes) of bytes in a record.
//!
//! Invariants:
//! - F1: `used` bytes follow in the buffer.
//! - F2: bytes in a record are not used after the borrow of the record has ended.

use larder_packed::buffer::Buffer;
use larder_packed::heap::Mover;
use larder_packed::segment::InRecord;
use std::ptr::NonNull;

/// Bytes before the content.
const USED: usize = size_of::<u32>();

/// See the module's comment.
pub struct FrameBytes(Repr);

enum Repr {
    Own(Buffer),
    InRecord(NonNull<[u8]>),
}

// SAFETY: a buffer may be sent; bytes in a record belong to whoever has borrowed it (F2).
unsafe impl Send for FrameBytes {}
// SAFETY: as above; both are only read.
unsafe impl Sync for FrameBytes {}

impl FrameBytes {
    /// A copy of these bytes. Panics if they are 4 GB or more.
    pub(crate) fn copy_of(bytes: &[u8]) -> Self {
        let used = u32::try_from(bytes.len()).expect("a cold value is smaller");
        let mut buffer = Buffer::of(&used.to_le_bytes(), USED + bytes.len());
        buffer.make_mut()[USED..][..bytes.len()].copy_from_slice(bytes);
        FrameBytes(Repr::Own(buffer))
    }

    /// The bytes of a record.
    ///
    /// # Safety
    /// This is not used when the borrow of the bytes has ended, unless it was made [its own](Self::make_own). A clone is
    /// independent.
    pub(super) unsafe fn in_record(bytes: &InRecord<'_>) -> Self {
        FrameBytes(Repr::InRecord(NonNull::from(bytes.bytes())))
    }

    /// The bytes.
    #[inline]
    pub(crate) fn get(&self) -> &[u8] {
        match &self.0 {
            Repr::Own(buffer) => {
                let used = u32::from_le_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
                &buffer[USED..][..used as usize]
            }
            // SAFETY: F2.
            Repr::InRecord(bytes) => unsafe { bytes.as_ref() },
        }
    }

    /// Copies bytes of a record.
    pub(super) fn make_own(&mut self) {
        if matches!(self.0, Repr::InRecord(_)) {
            *self = FrameBytes::copy_of(self.get());
        }
    }

    /// Moves a buffer of its own if it lies in a sparse slab and is not shared.
    pub(super) fn move_block(&mut self, mover: &mut Mover) {
        if let Repr::Own(buffer) = &mut self.0 {
            buffer.move_block(mover);
        }
    }

    /// Bytes of heap: none of bytes in a record.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Own(buffer) => buffer.heap_bytes(),
            Repr::InRecord(_) => 0,
        }
    }

    /// Gives the bytes away as a pointer; [`from_raw`](Self::from_raw) takes it back.
    pub(super) fn into_raw(mut self) -> NonNull<u8> {
        self.make_own();
        match self.0 {
            Repr::Own(buffer) => buffer.into_raw(),
            Repr::InRecord(_) => unreachable!("it was just copied"),
        }
    }

    /// Takes back what [`into_raw`](Self::into_raw) gave.
    ///
    /// # Safety
    /// `raw` came from `into_raw`, and each pointer is taken back once.
    pub(super) unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        // SAFETY: passed on to the caller.
        FrameBytes(Repr::Own(unsafe { Buffer::from_raw(raw) }))
    }
}

impl Clone for FrameBytes {
    fn clone(&self) -> Self {
        match &self.0 {
            Repr::Own(buffer) => FrameBytes(Repr::Own(buffer.clone())),
            Repr::InRecord(_) => FrameBytes::copy_of(self.get()),
        }
    }
}
