//! What a list remembers about the compression of its inner blocks: how many are wanted plain at its ends, and whether
//! there is work. The work itself: [`compress`](super::compress).

use larder_packed::block::{Block, End};
use std::sync::atomic::{AtomicU32, Ordering};

/// Blocks that are decompressed ahead of pops at an end, to begin with.
const AHEAD_MIN: u32 = 4;
/// At most this much is decompressed ahead of pops that are faster than the background: about what the second
/// cache holds. With more, pops wait less often for the background and longer for memory
/// (`docs/design/list.md`).
const AHEAD_BYTES_MAX: usize = 2 << 20;

/// How many blocks are kept plain at either end beyond the depth, see the module's comment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    pub front: u32,
    pub back: u32,
}

impl Ahead {
    pub(super) fn of(&mut self, end: End) -> &mut u32 {
        if end == End::Front { &mut self.front } else { &mut self.back }
    }

    /// A block was used up by pops, and `next` comes after it, in a list of this many inner blocks.
    pub(super) fn block_popped(&mut self, end: End, next: &Block, blocks: usize) {
        let ahead = self.of(end);
        if next.is_compressed() {
            let affordable = (AHEAD_BYTES_MAX / next.size_bytes().max(1)).min(blocks / 8) as u32;
            *ahead = (*ahead * 2).min(affordable);
        }
        *ahead = (*ahead).max(AHEAD_MIN);
    }

    /// A block was opened by a push.
    pub(super) fn block_pushed(&mut self, end: End) {
        *self.of(end) = self.of(end).saturating_sub(1);
    }

    /// This many blocks that are still plain are no reason to decompress more.
    pub(super) fn low(self) -> Ahead {
        Ahead { front: self.front.div_ceil(2), back: self.back.div_ceil(2) }
    }

    /// This many blocks may be plain: a little more than are wanted, so that a block on the border is not packed and
    /// unpacked in turns.
    pub(super) fn high(self) -> Ahead {
        let high = |ahead: u32| ahead + ahead.div_ceil(4);
        Ahead { front: high(self.front), back: high(self.back) }
    }
}

/// Whether the background is to be asked for help, remembered while the inner blocks stay the same: the question comes
/// after every write, and need not be asked twice.
#[derive(Debug)]
pub(super) struct WorkCache(AtomicU32);

/// Nothing is remembered.
const UNKNOWN: u32 = u32::MAX;

impl WorkCache {
    pub(super) fn forget(&mut self) {
        *self.0.get_mut() = UNKNOWN;
    }

    /// True when `compute` says so, and it has not been asked for this depth since the blocks changed.
    #[inline]
    pub(super) fn is_news(&self, depth: u32, compute: impl FnOnce() -> bool) -> bool {
        let known = self.0.load(Ordering::Relaxed);
        if known == depth & UNKNOWN >> 1 {
            return false;
        }
        self.0.store(depth & UNKNOWN >> 1, Ordering::Relaxed);
        compute()
    }
}

impl Default for WorkCache {
    fn default() -> Self {
        WorkCache(AtomicU32::new(UNKNOWN))
    }
}

impl Clone for WorkCache {
    fn clone(&self) -> Self {
        WorkCache::default()
    }
}
