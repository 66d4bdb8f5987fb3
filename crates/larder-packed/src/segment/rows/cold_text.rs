//! A long string of an entry, compressed.
//!
//! Readers get a slice that lives as long as the entry, so the first one leaves a plain copy here. It goes at a walk of the background
//! thread during which nobody has used it, or takes the place of the compressed string after two walks in which somebody has.
//!
//! ```text
//!  0    4     8       16           24
//!  +----+-----+-------+------------+---------+
//!  | rc | len | plain | dictionary | frame.. |    plain: of a SharedBytes, or null; frame: see `dictionary`
//!  +----+-----+-------+------------+---------+
//! ```
//! Cost: 24 bytes beside the frame; a first read decompresses, the others take one pointer more than a plain string.
//!
//! Invariants:
//! - C1: the allocation has `24 + len` bytes, rounded up to a class of the heap, and `rc` counts who points to it.
//! - C2: `plain` goes from null to a string once, and back only by who has the single reference exclusively.
//! - C3: this owns a count of `plain` and one of the dictionary, which has made the frame.

use crate::bytes::SharedBytes;
use crate::dictionary::{Compressor, Dictionary, raw_len};
use crate::heap::{self, Mover};
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, fence};

#[repr(C)]
struct Header {
    rc: AtomicU32,
    len: u32,
    plain: AtomicPtr<u8>,
    dictionary: *const Dictionary,
}

const HEADER: usize = size_of::<Header>();
const _: () = assert!(HEADER == 24);

/// What is to be done with a cold string after a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Keep,
    /// Its plain copy has not been used since the last walk.
    Clear,
    /// Its plain copy has been used repeatedly.
    Thaw,
}

/// See the module's comment. Clones share the allocation.
pub(super) struct ColdText(NonNull<Header>);

// SAFETY: counts and pointer are atomic, what they lead to may be sent, and the rest does not change.
unsafe impl Send for ColdText {}
// SAFETY: as for `Send`.
unsafe impl Sync for ColdText {}

impl ColdText {
    /// A string compressed; None if that takes more than `max` bytes of heap.
    pub(super) fn of(
        text: &[u8],
        dictionary: &Arc<Dictionary>,
        compressor: &mut Compressor,
        max: usize,
    ) -> Option<ColdText> {
        let mut frame = Vec::new();
        if !compressor.compress(text, &mut frame, max.saturating_sub(HEADER)) {
            return None;
        }
        let size = heap::class_size(HEADER + frame.len());
        if size > max {
            return None;
        }
        let ptr = heap::alloc(size).cast::<Header>();
        let header = Header {
            rc: AtomicU32::new(1),
            len: u32::try_from(frame.len()).expect("a frame is shorter than its string"),
            plain: AtomicPtr::new(null_mut()),
            dictionary: Arc::into_raw(Arc::clone(dictionary)),
        };
        // SAFETY: the allocation has `size >= HEADER + frame.len()` bytes, is aligned to 8, and ours alone (C1).
        unsafe {
            ptr.write(header);
            let body = ptr.cast::<u8>().add(HEADER);
            body.copy_from_nonoverlapping(NonNull::from(&frame[..]).cast(), frame.len());
        }
        Some(ColdText(ptr))
    }

    /// Bytes of the string.
    pub(super) fn len(&self) -> usize {
        raw_len(self.frame()).expect("C3: the frame was made here")
    }

    /// Bytes of heap, without the plain copy.
    pub(super) fn heap_bytes(&self) -> usize {
        heap::class_size(HEADER + self.header().len as usize)
    }

    /// A plain copy of its own: no use of the string.
    pub(super) fn thaw(&self) -> SharedBytes {
        self.dictionary().decompress_shared(self.frame()).expect("C3: the frame was made here")
    }

    /// The same as bytes of a vector.
    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.dictionary().decompress(self.frame(), &mut out).expect("C3: the frame was made here");
        out
    }

    /// The plain copy, which is made if it is not there.
    pub(super) fn plain(&self) -> &[u8] {
        let mut plain = self.header().plain.load(Acquire);
        if plain.is_null() {
            let new = self.thaw().into_raw().as_ptr();
            plain = match self.header().plain.compare_exchange(null_mut(), new, AcqRel, Acquire) {
                Ok(_) => new,
                Err(other) => {
                    // SAFETY: the string from above, which nobody has got.
                    drop(unsafe { owned(new) });
                    other
                }
            };
        }
        // SAFETY: C2, C3: the string stays as long as the borrow of `self`; this copy of the reference is not dropped.
        let plain = ManuallyDrop::new(unsafe { owned(plain) });
        plain.note_use();
        let bytes: *const [u8] = &raw const **plain;
        // SAFETY: as above; the bytes belong to the allocation, not to this copy of the reference.
        unsafe { &*bytes }
    }

    /// Counts a walk; what is to be done then.
    pub(super) fn walk(&self) -> Verdict {
        let plain = self.header().plain.load(Acquire);
        if plain.is_null() {
            return Verdict::Keep;
        }
        // SAFETY: as in `plain`.
        let plain = ManuallyDrop::new(unsafe { owned(plain) });
        match (plain.count_walk(), plain.is_flagged()) {
            (1, true) => Verdict::Thaw,
            (1, false) => {
                plain.set_flag();
                Verdict::Keep
            }
            _ => Verdict::Clear,
        }
    }

    /// Drops the plain copy, unless the string is shared.
    pub(super) fn clear(&mut self) {
        if self.is_unique() {
            let plain = self.header().plain.swap(null_mut(), AcqRel);
            if !plain.is_null() {
                // SAFETY: C2: nobody borrows from the single reference, which is exclusive.
                drop(unsafe { owned(plain) });
            }
        }
    }

    /// Moves the allocation if it lies in a sparse slab and is not shared; returns whether it has moved.
    pub(super) fn move_block(&mut self, mover: &mut Mover) -> bool {
        let size = self.heap_bytes();
        // SAFETY: the single reference, to an allocation of this many bytes (C1).
        self.is_unique() && unsafe { mover.move_block(&mut self.0, size) }
    }

    /// Whether both are one allocation.
    pub(super) fn ptr_eq(&self, other: &ColdText) -> bool {
        self.0 == other.0
    }

    #[cfg(test)]
    pub(super) fn identity(&self) -> (usize, u32) {
        (self.0.as_ptr() as usize, self.header().rc.load(Relaxed))
    }

    pub(super) fn into_raw(self) -> NonNull<u8> {
        ManuallyDrop::new(self).0.cast()
    }

    /// # Safety
    /// `raw` came from `into_raw`, and each pointer is taken back once.
    pub(super) unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        ColdText(raw.cast())
    }

    fn is_unique(&self) -> bool {
        self.header().rc.load(Acquire) == 1
    }

    fn frame(&self) -> &[u8] {
        let len = self.header().len as usize;
        // SAFETY: C1.
        unsafe { slice::from_raw_parts(self.0.cast::<u8>().add(HEADER).as_ptr(), len) }
    }

    fn dictionary(&self) -> &Dictionary {
        // SAFETY: C3.
        unsafe { &*self.header().dictionary }
    }

    fn header(&self) -> &Header {
        // SAFETY: the allocation is alive and has a header as long as `self` is counted.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for ColdText {
    fn clone(&self) -> Self {
        let before = self.header().rc.fetch_add(1, Relaxed);
        assert!(before < u32::MAX / 2, "a string has too many references");
        ColdText(self.0)
    }
}

impl Drop for ColdText {
    fn drop(&mut self) {
        if self.header().rc.fetch_sub(1, Release) != 1 {
            return;
        }
        fence(Acquire);
        let (plain, dictionary) = (self.header().plain.load(Relaxed), self.header().dictionary);
        let size = self.heap_bytes();
        // SAFETY: this was the last reference: what it owns (C3) goes, and then the allocation of this size (C1).
        unsafe {
            if !plain.is_null() {
                drop(owned(plain));
            }
            drop(Arc::from_raw(dictionary));
            heap::free(self.0.cast(), size);
        }
    }
}

/// The string of a pointer that is not null.
///
/// # Safety
/// As for [`SharedBytes::from_raw`]: one of the copies is dropped at most.
unsafe fn owned(plain: *mut u8) -> SharedBytes {
    let plain = NonNull::new(plain).expect("the caller has looked");
    // SAFETY: passed on to the caller.
    unsafe { SharedBytes::from_raw(plain) }
}
