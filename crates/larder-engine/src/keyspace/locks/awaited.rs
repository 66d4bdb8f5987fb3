//! What commands were put aside for; how it goes is in `later.rs`.

use crate::keyspace::key::SHARDS;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// Why a command did not get its shards. As wide as a part of the locks that it comes in the place of: with one byte, these are copied in pieces of
/// one and of seven bytes, which the processor does not forward from writes to reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Unlocked {
    /// A script keeps one for too long.
    Busy,
    /// Somebody keeps one for longer than a moment: the command is to be tried again.
    Later,
}

/// The turn of the scripts.
pub(super) const TURN: usize = SHARDS;
/// The end of an applier's batch.
pub(super) const BATCH: usize = SHARDS + 1;
/// The end of a script that lends its shards.
pub(super) const LENDING: usize = SHARDS + 2;
const WORDS: usize = LENDING / 64 + 1;

/// What commands were put aside for: a bit for each shard, and three more. Mostly read, so the words lie on a cache line of their own.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Awaited([AtomicU64; WORDS]);

impl Awaited {
    pub(super) fn has(&self, at: usize) -> bool {
        self.0[at / 64].load(Relaxed) >> (at % 64) & 1 == 1
    }

    pub(super) fn add(&self, at: usize) {
        self.0[at / 64].fetch_or(1 << (at % 64), SeqCst);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| word.load(Relaxed) == 0)
    }

    /// Forgets what `is_free` says of; whether there was anything.
    #[cold]
    pub(super) fn forget(&self, is_free: impl Fn(usize) -> bool) -> bool {
        let mut any = false;
        for (index, word) in self.0.iter().enumerate() {
            let mut left = word.load(SeqCst);
            while left != 0 {
                let bit = left & left.wrapping_neg();
                left ^= bit;
                if is_free(64 * index + bit.trailing_zeros() as usize) {
                    any |= word.fetch_and(!bit, SeqCst) & bit != 0;
                }
            }
        }
        any
    }
}
