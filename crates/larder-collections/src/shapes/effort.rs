//! Limits the time that a thread spends on looking for shapes: where all names differ, the search should cost almost
//! nothing.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Hashes in a row without a shape after which a thread tries only some.
const MISSES_MAX: u32 = 16_384;
/// Hashes in a row without a shape after which none is expected.
const MISSES_FEW: u32 = 32;
/// After [`MISSES_MAX`] the thread tries one hash in this many.
const SOME: u32 = 16;
/// Multiplied with a count, its upper bits choose those: a rhythm in the data does not meet that of the choice.
const SCATTER: u32 = 0x9E37_79B9;

/// Hashes that were not tried, about.
static SKIPPED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Hashes in a row for which this thread has found no shape.
    static MISSES: Cell<u32> = const { Cell::new(0) };
}

/// Whether the calling thread has found a shape not long ago.
#[inline]
pub(crate) fn expects_some() -> bool {
    MISSES.get() < MISSES_FEW
}

/// Whether the calling thread looks for the shape of every hash.
#[inline]
fn tries_all() -> bool {
    MISSES.get() < MISSES_MAX
}

/// Whether the calling thread should look for the shape of a hash that it stores.
#[inline]
pub(crate) fn may_try() -> bool {
    if tries_all() {
        return true;
    }
    let misses = MISSES.get().wrapping_add(1).max(MISSES_MAX);
    MISSES.set(misses);
    let tries = misses.wrapping_mul(SCATTER) >> (u32::BITS - SOME.ilog2()) == 0;
    if tries {
        SKIPPED.fetch_add(u64::from(SOME) - 1, Relaxed);
    }
    tries
}

/// Notes whether a shape was found.
#[inline]
pub(crate) fn note_outcome(is_found: bool) {
    if is_found {
        MISSES.set(0);
    } else if tries_all() {
        MISSES.set(MISSES.get() + 1);
    }
}

/// Returns about how many hashes were stored without looking for a shape. A walk over the keyspace may find some that have
/// one.
pub fn skipped() -> u64 {
    SKIPPED.load(Relaxed)
}
