//! How long ago something was used: in walks of a thread that comes by from time to time, so that readers do not look at a clock.

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

/// Bits that count walks.
const WALKS: u8 = 0x7F;
const FLAG: u8 = 0x80;

/// Walks since the last use, at most 127, and a flag for the owner. Readers may be on several threads; a use during a walk may be lost.
pub(crate) struct Age(AtomicU8);

impl Age {
    /// Of something that is used now.
    pub(crate) const fn new() -> Age {
        Age(AtomicU8::new(0))
    }

    /// Of something that has not been used for as long as is counted.
    pub(crate) const fn unused() -> Age {
        Age(AtomicU8::new(WALKS))
    }

    /// Notes a use.
    #[inline]
    pub(crate) fn note_use(&self) {
        let age = self.0.load(Relaxed);
        // Threads that read at the same time need not take the line of memory from each other.
        if age & WALKS != 0 {
            self.0.store(age & FLAG, Relaxed);
        }
    }

    /// Counts a walk; how many there were since the last use.
    pub(crate) fn count_walk(&self) -> u8 {
        let age = self.0.load(Relaxed);
        let walks = (age & WALKS).saturating_add(1).min(WALKS);
        self.0.store(age & FLAG | walks, Relaxed);
        walks
    }

    /// Sets the owner's flag.
    pub(crate) fn set_flag(&self) {
        self.0.fetch_or(FLAG, Relaxed);
    }

    /// Takes the owner's flag away.
    pub(crate) fn clear_flag(&self) {
        self.0.fetch_and(!FLAG, Relaxed);
    }

    /// Whether the owner's flag is set.
    pub(crate) fn is_flagged(&self) -> bool {
        self.0.load(Relaxed) & FLAG != 0
    }
}
