//! Where every packed block gets its memory: one place for allocation and free.

use std::alloc::{Layout, alloc as std_alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every block, in bytes.
pub const ALIGN: usize = 8;

/// The bytes that an allocation of `size` really gets; never less than `size`. A caller that grows a block should ask
/// for a size whose class it fills.
pub fn class_size(size: usize) -> usize {
    size.next_multiple_of(16)
}

/// Allocates `class_size(size)` bytes, uninitialised, aligned to [`ALIGN`].
pub fn alloc(size: usize) -> NonNull<u8> {
    let layout = layout(size);
    // SAFETY: the layout's size is never zero, see `layout`.
    let ptr = unsafe { std_alloc(layout) };
    NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Gives back what [`alloc`] returned.
///
/// # Safety
/// `ptr` came from `alloc(s)` with `class_size(s) == class_size(size)` and is not used again.
pub unsafe fn free(ptr: NonNull<u8>, size: usize) {
    // SAFETY: the caller promises that `ptr` came from `alloc` with a size of the same class, hence the same layout.
    unsafe { dealloc(ptr.as_ptr(), layout(size)) }
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(class_size(size.max(1)), ALIGN).expect("a block is smaller than isize::MAX")
}
