//! A string or a block that nobody uses, compressed.
//!
//! Readers get a reference that lives as long as the owner, so the first one leaves a plain copy here. It goes at a walk of the background
//! thread during which nobody has used it, or takes the place of the compressed form after two walks in which somebody has.
//!
//! ```text
//!  0    4     7     8       16           24      24 + maker
//!  +----+-----+-----+-------+------------+-------+---------+
//!  | rc | len | age | plain | dictionary | maker | frame.. |    plain: what `Plain::into_raw` gives, or null; frame: see `dictionary`
//!  +----+-----+-----+-------+------------+-------+---------+    maker: nothing for strings, a function's address for blocks that need one
//! ```
//! Cost: the header beside the frame; a first read decompresses, the others take one pointer more than plain ones.
//!
//! Invariants:
//! - C1: the allocation has the header's bytes and `len` more, rounded up to a class of the heap, and `rc` counts who points to it.
//! - C2: `plain` goes from null to a copy once, and back only by who has the single reference exclusively.
//! - C3: this owns a count of `plain` and one of the dictionary, which has made the frame.
//!
//! Tested with its users, `segment/rows`.

use crate::age::Age;
use crate::bytes::SharedBytes;
use crate::dictionary::{Compressor, Dictionary, raw_len};
use crate::heap::{self, Mover};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, fence};

/// What has a compressed form.
///
/// # Safety
/// The type is a transparent wrapper of a `NonNull`, which [`into_raw`](Self::into_raw) returns. It may be sent to other threads and used by
/// several.
pub(crate) unsafe trait Plain: Sized {
    /// What it takes to make it of its bytes again.
    type Maker: Copy;

    /// Decompresses a frame that was made of it.
    fn of_frame(dictionary: &Dictionary, frame: &[u8], maker: Self::Maker) -> Self;

    /// Gives it away as a pointer.
    fn into_raw(self) -> NonNull<u8>;

    /// Takes back what [`into_raw`](Self::into_raw) gave.
    ///
    /// # Safety
    /// `raw` came from `into_raw` of this type, and each pointer is taken back once.
    unsafe fn from_raw(raw: NonNull<u8>) -> Self;
}

// SAFETY: as the trait asks.
unsafe impl Plain for SharedBytes {
    type Maker = ();

    fn of_frame(dictionary: &Dictionary, frame: &[u8], (): ()) -> Self {
        dictionary.decompress_shared(frame).expect("C3: the frame was made here")
    }

    fn into_raw(self) -> NonNull<u8> {
        SharedBytes::into_raw(self)
    }

    unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        // SAFETY: passed on.
        unsafe { SharedBytes::from_raw(raw) }
    }
}

#[repr(C)]
struct Header<M> {
    rc: AtomicU32,
    len: [u8; 3],
    age: Age,
    plain: AtomicPtr<u8>,
    dictionary: *const Dictionary,
    maker: M,
}

/// The longest frame: three bytes say how long one is.
const FRAME_MAX: usize = (1 << 24) - 1;
const _: () = assert!(size_of::<Header<()>>() == 24);

/// What is to be done after a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Keep,
    /// The plain copy has not been used since the last walk.
    Clear,
    /// It has been used repeatedly.
    Thaw,
}

/// See the module's comment. Clones share the allocation.
pub(crate) struct Cold<P: Plain>(NonNull<Header<P::Maker>>, PhantomData<P>);

// SAFETY: counts and pointer are atomic, what they lead to may be sent (`Plain`), and the rest does not change.
unsafe impl<P: Plain> Send for Cold<P> {}
// SAFETY: as for `Send`.
unsafe impl<P: Plain> Sync for Cold<P> {}

impl<P: Plain> Cold<P> {
    const HEADER: usize = size_of::<Header<P::Maker>>();

    /// The bytes of something, compressed; None if that takes more than `max` bytes of heap.
    pub(crate) fn of(
        raw: &[u8],
        dictionary: &Arc<Dictionary>,
        compressor: &mut Compressor,
        maker: P::Maker,
        max: usize,
    ) -> Option<Self> {
        let mut frame = Vec::new();
        if !compressor.compress(raw, &mut frame, max.saturating_sub(Self::HEADER).min(FRAME_MAX)) {
            return None;
        }
        let size = heap::class_size(Self::HEADER + frame.len());
        if size > max {
            return None;
        }
        let ptr = heap::alloc(size).cast::<Header<P::Maker>>();
        let len = u32::try_from(frame.len()).expect("FRAME_MAX").to_le_bytes();
        let header = Header {
            rc: AtomicU32::new(1),
            len: [len[0], len[1], len[2]],
            age: Age::unused(),
            plain: AtomicPtr::new(null_mut()),
            dictionary: Arc::into_raw(Arc::clone(dictionary)),
            maker,
        };
        // SAFETY: the allocation has `size >= HEADER + frame.len()` bytes, is aligned to 8, and ours alone (C1).
        unsafe {
            ptr.write(header);
            let body = ptr.cast::<u8>().add(Self::HEADER);
            body.copy_from_nonoverlapping(NonNull::from(&frame[..]).cast(), frame.len());
        }
        Some(Cold(ptr, PhantomData))
    }

    /// Bytes that were compressed.
    pub(crate) fn raw_bytes(&self) -> usize {
        raw_len(self.frame()).expect("C3: the frame was made here")
    }

    /// Bytes of heap, without the plain copy.
    pub(crate) fn heap_bytes(&self) -> usize {
        heap::class_size(Self::HEADER + self.frame_len())
    }

    /// A plain copy of its own: no use.
    pub(crate) fn thaw(&self) -> P {
        P::of_frame(self.dictionary(), self.frame(), self.header().maker)
    }

    /// The bytes: no use.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.dictionary().decompress(self.frame(), &mut out).expect("C3: the frame was made here");
        out
    }

    /// The plain copy, if there is one: no use.
    pub(crate) fn copy(&self) -> Option<&P> {
        if self.header().plain.load(Acquire).is_null() {
            return None;
        }
        let plain = (&raw const self.header().plain).cast::<P>();
        // SAFETY: `P` is such a pointer, which is not null any more and stays as long as `self` is borrowed (C2).
        Some(unsafe { &*plain })
    }

    /// The plain copy, which is made if it is not there.
    pub(crate) fn plain(&self) -> &P {
        self.note_use();
        if let Some(copy) = self.copy() {
            return copy;
        }
        let new = self.thaw().into_raw().as_ptr();
        if self.header().plain.compare_exchange(null_mut(), new, AcqRel, Acquire).is_err() {
            // SAFETY: the copy from above, which nobody has got.
            drop(unsafe { owned::<P>(new) });
        }
        self.copy().expect("C2")
    }

    /// Notes a use that leaves no copy.
    pub(crate) fn note_use(&self) {
        self.header().age.note_use();
    }

    /// Counts a walk; what is to be done then.
    pub(crate) fn walk(&self) -> Verdict {
        let age = &self.header().age;
        match (age.count_walk(), age.is_flagged()) {
            (1, true) => Verdict::Thaw,
            (1, false) => {
                age.set_flag();
                Verdict::Keep
            }
            _ => {
                age.clear_flag();
                if self.copy().is_some() { Verdict::Clear } else { Verdict::Keep }
            }
        }
    }

    /// Drops the plain copy, unless this is shared.
    pub(crate) fn clear(&mut self) {
        if self.is_unique() {
            // SAFETY: the single reference, which is exclusive; `rc` stays as it is.
            unsafe { self.0.as_mut() }.age = Age::unused();
            let plain = self.header().plain.swap(null_mut(), AcqRel);
            if !plain.is_null() {
                // SAFETY: C2: nobody borrows from the single reference, which is exclusive.
                drop(unsafe { owned::<P>(plain) });
            }
        }
    }

    /// Moves the allocation if it lies in a sparse slab and is not shared; returns whether it has moved.
    pub(crate) fn move_block(&mut self, mover: &mut Mover) -> bool {
        let size = self.heap_bytes();
        // SAFETY: the single reference, to an allocation of this many bytes (C1).
        self.is_unique() && unsafe { mover.move_block(&mut self.0, size) }
    }

    /// Whether both are one allocation.
    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    #[cfg(test)]
    pub(crate) fn identity(&self) -> (usize, u32) {
        (self.0.as_ptr() as usize, self.header().rc.load(Relaxed))
    }

    pub(crate) fn into_raw(self) -> NonNull<u8> {
        ManuallyDrop::new(self).0.cast()
    }

    /// # Safety
    /// `raw` came from `into_raw`, and each pointer is taken back once.
    pub(crate) unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        Cold(raw.cast(), PhantomData)
    }

    fn is_unique(&self) -> bool {
        self.header().rc.load(Acquire) == 1
    }

    fn frame(&self) -> &[u8] {
        // SAFETY: C1.
        unsafe { slice::from_raw_parts(self.0.cast::<u8>().add(Self::HEADER).as_ptr(), self.frame_len()) }
    }

    fn frame_len(&self) -> usize {
        let [a, b, c] = self.header().len;
        u32::from_le_bytes([a, b, c, 0]) as usize
    }

    fn dictionary(&self) -> &Dictionary {
        // SAFETY: C3.
        unsafe { &*self.header().dictionary }
    }

    fn header(&self) -> &Header<P::Maker> {
        // SAFETY: the allocation is alive and has a header as long as `self` is counted.
        unsafe { self.0.as_ref() }
    }
}

impl<P: Plain> Clone for Cold<P> {
    fn clone(&self) -> Self {
        let before = self.header().rc.fetch_add(1, Relaxed);
        assert!(before < u32::MAX / 2, "a frame has too many references");
        Cold(self.0, PhantomData)
    }
}

impl<P: Plain> Drop for Cold<P> {
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
                drop(owned::<P>(plain));
            }
            drop(Arc::from_raw(dictionary));
            heap::free(self.0.cast(), size);
        }
    }
}

/// What a pointer that is not null leads to.
///
/// # Safety
/// As for [`Plain::from_raw`].
unsafe fn owned<P: Plain>(plain: *mut u8) -> P {
    let plain = NonNull::new(plain).expect("the caller has looked");
    // SAFETY: passed on to the caller.
    unsafe { P::from_raw(plain) }
}
