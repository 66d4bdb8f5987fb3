//! Slabs of small blocks come from here: pieces of 1 MB chunks, which any class takes and gives back.
//!
//! Why not a chunk for each slab: half a slab is empty in every class, on average, and small blocks have fifty classes. Why
//! not smaller slabs of the global allocator: it hands out aligned pieces at a price (filling memory cost half as much
//! again).
//!
//! Cost: a lock and a look into a tree of chunks per slab opened or closed, and a system call for the latter.
//!
//! ```text
//!  chunk, aligned to its size
//!  +---------+---------+---- - - ----+---------+
//!  | piece 0 | piece 1 |             | piece 7 |     a piece is a slab, or free and its pages the system's
//!  +---------+---------+---- - - ----+---------+
//! ```
//!
//! Invariants:
//! - P1: `free` has exactly the chunks with some pieces free, but not all, and which; a bit is a piece.
//! - P2: the chunk of the lowest address serves first, so that high ones run empty and are given back.
//!
//! Tested at the foot of this file, and by the heap.

use super::system::{CHUNK_BYTES, chunk_layout, give_back_range, raw_alloc};
use std::alloc::dealloc;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a piece. With half as many the empty room is the same, and a slab's end, which holds no whole block, counts
/// twice.
pub(super) const PIECE_BYTES: usize = CHUNK_BYTES / PIECES;
const PIECES: usize = 8;
const ALL_FREE: u8 = u8::MAX;

const _: () = assert!(ALL_FREE.count_ones() as usize == PIECES);

static POOL: Mutex<Pool> = Mutex::new(Pool { free: BTreeMap::new() });

struct Pool {
    free: BTreeMap<usize, u8>,
}

/// The address of a piece of any content, aligned to its size; and how many bytes the global allocator gave for that.
pub(super) fn take() -> (usize, usize) {
    let mut pool = lock();
    let Some(mut first) = pool.free.first_entry() else {
        let chunk = raw_alloc(chunk_layout()).as_ptr() as usize;
        pool.free.insert(chunk, ALL_FREE & !1);
        return (chunk, CHUNK_BYTES);
    };
    let (chunk, piece) = (*first.key(), first.get().trailing_zeros() as usize);
    *first.get_mut() &= !(1 << piece);
    if *first.get() == 0 {
        first.remove();
    }
    (chunk + piece * PIECE_BYTES, 0)
}

/// Takes back a piece; says how many bytes went back to the global allocator.
///
/// # Safety
/// `base` came from [`take`] and nothing uses the piece any more.
pub(super) unsafe fn give_back(base: usize) -> usize {
    let chunk = base & !(CHUNK_BYTES - 1);
    // Before the pool knows of the piece: a system call is no work for under its lock.
    give_back_range(base, base + PIECE_BYTES);
    let mut pool = lock();
    let free = pool.free.entry(chunk).or_default();
    let bit = 1 << ((base - chunk) / PIECE_BYTES);
    assert!(*free & bit == 0, "a piece is given back twice");
    *free |= bit;
    if *free != ALL_FREE {
        return 0;
    }
    pool.free.remove(&chunk);
    drop(pool);
    // SAFETY: the chunk came from `raw_alloc` with this layout in `take`; all its pieces have come back, and no entry of
    // the pool leads to it any more.
    unsafe { dealloc(chunk as *mut u8, chunk_layout()) };
    CHUNK_BYTES
}

/// Bytes of all free pieces.
pub(super) fn free_bytes() -> usize {
    lock().free.values().map(|free| free.count_ones() as usize * PIECE_BYTES).sum()
}

fn lock() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_apart_and_their_chunks_go() {
        let mut pieces: Vec<usize> = (0..3 * PIECES).map(|_| take().0).collect();
        pieces.sort_unstable();
        assert!(pieces.windows(2).all(|pair| pair[1] - pair[0] >= PIECE_BYTES));
        assert!(pieces.iter().all(|piece| piece.is_multiple_of(PIECE_BYTES)));
        for (i, &piece) in pieces.iter().enumerate() {
            // SAFETY: the piece is ours, and that long.
            unsafe { (piece as *mut u8).write_bytes(i as u8, PIECE_BYTES) };
        }
        for (i, &piece) in pieces.iter().enumerate() {
            // SAFETY: the piece is ours, written above, and given back once.
            unsafe {
                let bytes = std::slice::from_raw_parts(piece as *const u8, PIECE_BYTES);
                assert!(bytes.iter().all(|&byte| byte == i as u8));
                give_back(piece);
            }
        }
    }
}
