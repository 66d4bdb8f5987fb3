//! Which blocks lie in sparse slabs: moving them elsewhere would give memory back.
//!
//! A block stays where it was allocated, so one block can keep a slab, or a page of the global allocator. A block should
//! move if
//! - at least an eighth of its slab is free;
//! - its slab does not serve the next allocation, which would put the copy into the same slab;
//! - the slabs of its size have room for a whole slab of blocks, so that moves can empty one.
//!
//! Slabs of this heap answer that themselves. The program that installs the global allocator answers it for the rest,
//! by [`set_sparse_query`]; without an answer those blocks stay.
//!
//! A thread that moves blocks must not get the room back that it has just freed: it switches the thread cache of the
//! global allocator off.
//!
//! Tested at the foot of this file, and by the collections on top.

use super::{CLASS_COUNT, Class, SLAB_HEADER, Slab, is_shared, lock, size_of_class, slab_bytes, slab_class};
use std::ptr::NonNull;
use std::sync::OnceLock;

/// A slab in which more than this share of the blocks is in use is not sparse, in eighths.
pub const FULL_EIGHTHS: usize = 7;

/// Says of an address that the global allocator gave, or that lies behind such a one, whether its slab is sparse.
type SparseQuery = fn(*const u8) -> bool;

static QUERY: OnceLock<SparseQuery> = OnceLock::new();

/// Installs the query for blocks of the global allocator. The first one counts.
pub fn set_sparse_query(query: SparseQuery) {
    let _ = QUERY.set(query);
}

/// Whether a block of [`alloc`](super::alloc) should move.
pub(super) fn is_sparse(ptr: NonNull<u8>, size: usize) -> bool {
    match slab_class(size) {
        Some((index, size)) => lock(index).is_sparse(ptr, size),
        None => is_foreign_sparse(ptr.as_ptr()),
    }
}

/// Whether a block of [`alloc_growing`](super::alloc_growing) should move.
pub(super) fn is_growing_sparse(ptr: NonNull<u8>, size: usize) -> bool {
    if is_shared(size) { is_foreign_sparse(ptr.as_ptr()) } else { is_sparse(ptr, size) }
}

/// Whether memory of the global allocator should move.
pub(super) fn is_foreign_sparse(ptr: *const u8) -> bool {
    QUERY.get().is_some_and(|query| query(ptr))
}

/// Bytes of slabs that would not be needed if all blocks lay side by side. Pages inside free blocks count only where
/// [`trim`](super::trim) cannot give them back.
pub fn sparse_bytes() -> usize {
    let of_class = |index| {
        let (size, class) = (size_of_class(index), lock(index));
        if size < 2 * super::PAGE_SIZE { class.surplus_slabs(size) * slab_bytes(size) } else { 0 }
    };
    (0..CLASS_COUNT).map(of_class).sum()
}

impl Class {
    /// Slabs that the free blocks of others could take the blocks of.
    fn surplus_slabs(&self, size: usize) -> usize {
        let per_slab = blocks_of_slab(size);
        let slabs = self.slabs - usize::from(self.spare != 0);
        slabs - self.live.div_ceil(per_slab)
    }

    fn is_sparse(&self, ptr: NonNull<u8>, size: usize) -> bool {
        let base = ptr.as_ptr() as usize & !(slab_bytes(size) - 1);
        if self.surplus_slabs(size) == 0 || self.partial.first().is_none_or(|&first| first == base) {
            return false;
        }
        // SAFETY: the block is from a slab of this class, and the class lock is held.
        let slab = unsafe { &*(base as *const Slab) };
        slab.live as usize * 8 <= blocks_of_slab(size) * FULL_EIGHTHS
    }
}

/// Blocks that a slab has room for.
fn blocks_of_slab(size: usize) -> usize {
    (slab_bytes(size) - SLAB_HEADER) / size
}
