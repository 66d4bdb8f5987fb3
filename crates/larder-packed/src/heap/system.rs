//! What the heap takes from the global allocator and from the system.

use std::alloc::{Layout, alloc, alloc_zeroed, handle_alloc_error};
use std::ptr::NonNull;

/// Bytes of what the global allocator gives for slabs, and of a slab of large blocks. Quarter that size and filling memory
/// costs half as much again: the global allocator hands out big aligned pieces at a price.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// Gives whole pages back to the system; they read as zeros when they are touched again.
pub(super) fn give_back_range(from: usize, until: usize) {
    #[cfg(target_os = "linux")]
    if from < until {
        // SAFETY: the caller owns these pages, nothing in them is needed, and they stay mapped.
        unsafe { libc::madvise(from as *mut libc::c_void, until - from, libc::MADV_DONTNEED) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (from, until);
}

/// Memory of this layout, which is not empty.
pub(super) fn raw_alloc(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout made here has size zero.
    let ptr = unsafe { alloc(layout) };
    NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(layout))
}

/// The same, filled with zeros.
pub(super) fn raw_alloc_zeroed(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout made here has size zero.
    let ptr = unsafe { alloc_zeroed(layout) };
    NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(layout))
}

/// The layout of a chunk.
pub(super) fn chunk_layout() -> Layout {
    Layout::from_size_align(CHUNK_BYTES, CHUNK_BYTES).expect("a chunk is a power of two")
}
