//! Hashes of the keys whose small values stay outside their records for now: see [`hot`](super::hot).
//!
//! ```text
//!  seen   [u32; 64]   by hash: upper bits of the hash that was used there last
//!  keys   [u64; 64]   by hash: that of the key that is out; 0: none
//!  used   64 bits     which of them have been used since they were last asked for
//! ```
//! 776 bytes. All functions are O(1).

const LEN: usize = 64;

/// See the module's comment.
pub(super) struct HotSet {
    seen: [u32; LEN],
    keys: [u64; LEN],
    used: u64,
}

impl HotSet {
    /// No key.
    pub(super) fn new() -> HotSet {
        HotSet { seen: [0; LEN], keys: [0; LEN], used: 0 }
    }

    /// Notes a use; whether there was another one not long ago, and no other key that is used has the place of this one.
    pub(super) fn note(&mut self, hash: u64) -> bool {
        let (mark, slot) = ((hash >> 32) as u32 | 1, hash as usize % LEN);
        if std::mem::replace(&mut self.seen[slot], mark) != mark {
            return false;
        }
        let is_free = self.used & 1 << slot == 0;
        // The other one has to be used again to keep the place.
        self.used &= !(1 << slot);
        is_free
    }

    /// Takes out the keys that were not used since the last call; returns whether others are left.
    pub(super) fn take_unused(&mut self, mut each: impl FnMut(u64)) -> bool {
        let used = std::mem::take(&mut self.used);
        for (at, key) in self.keys.iter_mut().enumerate() {
            if *key != 0 && used & 1 << at == 0 {
                each(std::mem::take(key));
            }
        }
        self.keys.iter().any(|&key| key != 0)
    }

    /// Adds a key that has moved out; returns the one that it takes the place of.
    pub(super) fn add(&mut self, hash: u64) -> Option<u64> {
        let slot = hash as usize % LEN;
        let old = std::mem::replace(&mut self.keys[slot], hash);
        self.used |= 1 << slot;
        (old != 0 && old != hash).then_some(old)
    }

    /// Whether a key is among those outside; notes that it was used.
    #[inline]
    pub(super) fn touch(&mut self, hash: u64) -> bool {
        let slot = hash as usize % LEN;
        let is_out = self.keys[slot] == hash;
        self.used |= u64::from(is_out) << slot;
        is_out
    }
}
