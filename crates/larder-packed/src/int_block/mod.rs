//! The integer block: sorted integers of one width in one reference-counted allocation.
//!
//! What it is: the unit that sets of integers are made of. An [`IntBlock`] is one non-null pointer; cloning it counts
//! up, writing to a shared one copies it first. Why not Redis's intset: that is one array for the whole set, as wide as
//! its largest value, so it must be given up when the set grows. A block keeps only distances from its own base, and
//! neighbours are near each other: 2 million integers below 10^9 need 2 bytes each and not 4.
//!
//! | | cost |
//! |---|---|
//! | memory | 1, 2, 4 or 8 bytes a value + 16, rounded up to a size class of [`crate::heap`] |
//! | search | O(log n), without branches |
//! | insert, remove | O(n) bytes moved, at most [`BYTES_MAX`]; a copy when the block grows a class or is shared |
//! | clone | O(1) |
//!
//! ```text
//!  0        4      6     7       8        16                   16 + n * width      16 * cap
//!  +--------+------+-----+-------+--------+--------+-- - - --+--------+-------------+
//!  | refs 4 | n  2 | cap | width | base 8 | v0     |         | v[n-1] |    free     |   values little endian,
//!  +--------+------+-----+-------+--------+--------+-- - - --+--------+-------------+   value - base, ascending
//! ```
//! The base lies below the smallest value by half of what the width has to spare, so that values may be added at either
//! end for a while; it is `i64::MIN` when the width is 8, which makes the distances cover all of `i64`.
//!
//! Invariants:
//! - I1: the allocation is `16 * cap` bytes, a size class, and all of it is initialised.
//! - I2: `16 + n * width <= 16 * cap`, and no more than [`BYTES_MAX`].
//! - I3: the distances rise strictly, and `base` plus each of them is an `i64`.
//! - I4: width is 1, 2, 4 or 8; with 8, base is `i64::MIN`.
//! - I5: only a block with `refs == 1`, reached through `&mut`, is written.
//!
//! Tested by `tests.rs` beside this file and by the sets on top. Safe twin: a sorted `Vec<i64>`.

mod edit;
mod embed;
mod image;
mod search;
#[cfg(test)]
mod tests;

use crate::heap::{self, Mover};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

pub use edit::Insert;
pub use search::Values;

/// Bytes of the largest block, header included.
pub const BYTES_MAX: usize = 512;
/// Most values of a block: those of width 1.
pub const LEN_MAX: usize = BYTES_MAX - HEADER;

const HEADER: usize = size_of::<Header>();
const _: () =
    assert!(HEADER == 16 && size_of::<Option<IntBlock>>() == 8 && BYTES_MAX / 16 <= u8::MAX as usize);

/// See the module's comment.
#[repr(transparent)]
pub struct IntBlock {
    ptr: NonNull<Header>,
}

#[repr(C)]
struct Header {
    refs: AtomicU32,
    n: u16,
    /// In units of 16 bytes.
    cap: u8,
    width: u8,
    base: i64,
}

// SAFETY: the count is atomic, and the rest of a shared block is never written (I5).
unsafe impl Send for IntBlock {}
// SAFETY: as above; `&IntBlock` only reads.
unsafe impl Sync for IntBlock {}

impl IntBlock {
    /// A block without values.
    pub fn empty() -> IntBlock {
        IntBlock::with_capacity(1, 0, HEADER)
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.header().n)
    }

    /// True if there is no value.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.header().n == 0
    }

    /// Bytes of header and values.
    #[inline]
    pub fn size_bytes(&self) -> usize {
        HEADER + self.len() * self.width()
    }

    /// Bytes that the heap gave for this block.
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        usize::from(self.header().cap) * 16
    }

    /// Moves the block if it lies in a sparse slab and is not shared.
    pub fn move_block(&mut self, mover: &mut Mover) {
        let size = self.heap_bytes();
        if self.is_unique() {
            // SAFETY: this is the only reference, and the allocation has this many bytes (I1).
            unsafe { mover.move_block(&mut self.ptr, size) };
        }
    }

    /// True if nobody else holds this block.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.header().refs.load(Ordering::Acquire) == 1
    }

    /// Gives the pointer away; [`IntBlock::from_raw`] takes it back.
    pub fn into_raw(self) -> NonNull<u8> {
        let ptr = self.ptr.cast();
        std::mem::forget(self);
        ptr
    }

    /// Takes back what [`IntBlock::into_raw`] gave.
    ///
    /// # Safety
    /// `ptr` came from `into_raw`, which was not yet undone.
    pub unsafe fn from_raw(ptr: NonNull<u8>) -> IntBlock {
        IntBlock { ptr: ptr.cast() }
    }

    /// Asks the processor to load the block's first lines.
    #[inline]
    pub fn prefetch(&self) {
        for line in 0..4 {
            crate::segment::prefetch(self.ptr.as_ptr().cast::<u8>().wrapping_add(line * 64));
        }
    }

    /// Panics if an invariant of the module's comment is violated.
    pub fn check_invariants(&self) {
        assert_eq!(heap::class_size(self.heap_bytes()), self.heap_bytes(), "I1");
        assert!(self.size_bytes() <= self.heap_bytes() && self.size_bytes() <= BYTES_MAX, "I2");
        assert!(matches!(self.width(), 1 | 2 | 4 | 8), "I4");
        assert!(self.width() != 8 || self.base() == i64::MIN, "I4");
        let distances: Vec<u64> = (0..self.len()).map(|i| self.distance(i)).collect();
        assert!(distances.windows(2).all(|pair| pair[0] < pair[1]), "I3: {distances:?}");
        assert!(
            distances.iter().all(|&d| self.base().checked_add_unsigned(d).is_some()),
            "I3: {distances:?}"
        );
    }

    /// A block without values, of at least `bytes` bytes with the header.
    fn with_capacity(width: u8, base: i64, bytes: usize) -> IntBlock {
        let size = heap::class_size(bytes.max(HEADER));
        let cap = u8::try_from(size / 16).expect("a block of integers is at most BYTES_MAX long");
        let ptr = heap::alloc(size).cast::<Header>();
        // SAFETY: the allocation has `size >= HEADER` bytes, is aligned to 8, and is ours alone; the zeros initialise
        // all of it (I1).
        unsafe {
            ptr.as_ptr().cast::<u8>().write_bytes(0, size);
            ptr.as_ptr().write(Header { refs: AtomicU32::new(1), n: 0, cap, width, base });
        }
        IntBlock { ptr }
    }

    #[inline]
    fn width(&self) -> usize {
        usize::from(self.header().width)
    }

    #[inline]
    fn base(&self) -> i64 {
        self.header().base
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the pointer is to a live header as long as this reference is counted; nobody writes it meanwhile (I5).
        unsafe { self.ptr.as_ref() }
    }

    fn set_len(&mut self, n: usize) {
        assert!(HEADER + n * self.width() <= self.heap_bytes());
        debug_assert!(self.is_unique());
        // SAFETY: the pointer is live, and every writer made the block unique first (I5).
        unsafe { self.ptr.as_mut() }.n = n as u16;
    }

    /// The bytes of all values.
    #[inline]
    fn body(&self) -> &[u8] {
        // SAFETY: `n * width` initialised bytes follow the header (I1, I2), and the slice borrows the block, so it is
        // neither freed nor written meanwhile (I5).
        unsafe {
            std::slice::from_raw_parts(self.ptr.as_ptr().cast::<u8>().add(HEADER), self.len() * self.width())
        }
    }

    /// All bytes after the header.
    #[inline]
    fn room_mut(&mut self) -> &mut [u8] {
        debug_assert!(self.is_unique());
        let len = self.heap_bytes() - HEADER;
        // SAFETY: this many initialised bytes follow the header (I1); the block is unique and borrowed mutably (I5).
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr().cast::<u8>().add(HEADER), len) }
    }
}

impl Clone for IntBlock {
    #[inline]
    fn clone(&self) -> Self {
        let old = self.header().refs.fetch_add(1, Ordering::Relaxed);
        assert!(old < u32::MAX / 2, "too many references to one block");
        IntBlock { ptr: self.ptr }
    }
}

impl Drop for IntBlock {
    #[inline]
    fn drop(&mut self) {
        if !self.is_unique() {
            if self.header().refs.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        // SAFETY: this was the last reference, and the block was allocated with this class (I1).
        unsafe { heap::free(self.ptr.cast(), self.heap_bytes()) };
    }
}

impl std::fmt::Debug for IntBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IntBlock(width {}, n {})", self.width(), self.len())
    }
}
