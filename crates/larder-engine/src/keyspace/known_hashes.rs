//! Hashes of keys that are about to be looked up: those of the next commands of a pipeline, computed when they are prefetched, and those of
//! a command of several keys, computed when their shards are locked.
//!
//! A key is known by where its bytes are, so that finding it compares two numbers. That holds as long as the buffer in which it lies is
//! there and not changed: whoever fills in the hashes borrows the buffer until it has had them forgotten.
//!
//! The keys are in the order in which they lie in the buffer, and are asked for in that order, once or several times: finding is O(1),
//! amortized over all. One that is asked for again, after a later one that is not the last, is hashed again.

use crate::keyspace::hash::{hash, shard_of};
use crate::keyspace::key::Key;
use std::cell::Cell;

/// Keys of a pipeline known at once.
pub(crate) const PIPELINE_MAX: usize = 16;
/// Keys of a command known at once: what a lookup reads of as many fits the cache of the second level.
pub(crate) const COMMAND_MAX: usize = 1024;

/// Keys of a command that goes by parts known at once: their shards are held together, for some 20 us.
pub(crate) const PART_MAX: usize = 64;

pub(crate) struct Known {
    address: usize,
    len: usize,
    pub hash: u64,
    /// Where the shard most likely is among those that the command holds, once somebody knows.
    pub place: Option<u16>,
    /// Somebody has looked, and there is no such key.
    pub is_absent: bool,
}

/// The hashes, none at first.
#[derive(Default)]
pub(crate) struct KnownHashes {
    known: Vec<Known>,
    /// The first that may be asked for.
    next: Cell<usize>,
}

impl KnownHashes {
    /// Puts the hashes of the first [`PIPELINE_MAX`] of these keys, which lie in a buffer one after the other, in the place of those before.
    pub fn fill<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) {
        self.forget();
        self.known.extend(keys.take(PIPELINE_MAX).map(|key| Known::of(&Key::of(key))));
    }

    /// Adds a key that lies after those that are known, unless they are [`COMMAND_MAX`] already. Its number is that of those before it.
    pub fn add(&mut self, key: &Key<'_>) {
        if self.known.len() < COMMAND_MAX {
            self.known.push(Known::of(key));
        }
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Notes the place of the shard of a key by its number, if that is known.
    pub fn note_place(&mut self, number: usize, place: usize) {
        if let Some(known) = self.known.get_mut(number) {
            known.place = Some(place as u16);
        }
    }

    /// Whether the first one is the key that lies here.
    pub fn begins_with(&self, bytes: &[u8]) -> bool {
        self.known.first().is_some_and(|known| known.address == bytes.as_ptr().addr())
    }

    /// Must be called before the buffer of the keys is changed.
    pub fn forget(&mut self) {
        self.known.clear();
        self.next.set(0);
    }

    /// Whether there are not several.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.known.len() < 2
    }

    /// All of them, in order.
    pub fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.known.iter().map(|known| known.hash)
    }

    /// All of them, to note what becomes known of them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Known> {
        self.known.iter_mut()
    }

    /// What is known of a key by its number, if that is the one.
    #[inline]
    pub fn numbered(&self, number: usize, bytes: &[u8]) -> Option<&Known> {
        self.known.get(number).filter(|known| known.is(bytes))
    }

    /// A key with its hash, which is computed if it is not known.
    #[inline]
    pub fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        let address = bytes.as_ptr().addr();
        // A command that goes over its keys again begins with the first one.
        if self.begins_with(bytes) {
            self.next.set(0);
        }
        while let Some(known) = self.known.get(self.next.get()) {
            if known.is(bytes) {
                return Key { bytes, hash: known.hash };
            }
            if known.address > address {
                break;
            }
            self.next.set(self.next.get() + 1);
        }
        Key::of(bytes)
    }
}

impl Known {
    /// The shard of the key.
    #[inline]
    pub fn shard(&self) -> usize {
        shard_of(self.hash)
    }

    #[inline]
    fn is(&self, bytes: &[u8]) -> bool {
        let is = self.address == bytes.as_ptr().addr() && self.len == bytes.len();
        debug_assert!(!is || self.hash == hash(bytes), "the buffer of the keys has not changed");
        is
    }

    fn of(key: &Key<'_>) -> Known {
        Known {
            address: key.bytes.as_ptr().addr(),
            len: key.bytes.len(),
            hash: key.hash,
            place: None,
            is_absent: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_own_hash() {
        let buffer = b"one two three four";
        let (one, two, four) = (&buffer[..3], &buffer[4..7], &buffer[14..]);
        let mut known = KnownHashes::default();
        known.fill([one, two, four].into_iter());
        assert_eq!(known.hashes().collect::<Vec<_>>(), [one, two, four].map(hash));
        // Twice, one that is not known, and one that begins where a known one does.
        for key in [one, one, &buffer[8..13], two, &buffer[14..16], four] {
            assert_eq!((known.key(key).bytes, known.key(key).hash), (key, hash(key)));
        }
        // Once more from the first one on.
        for (at, key) in [one, two, four, one, two].into_iter().enumerate() {
            assert_eq!((known.key(key).hash, known.next.get()), (hash(key), at % 3));
        }
        known.forget();
        assert_eq!(known.key(one).hash, hash(one));
        assert_eq!(known.hashes().count(), 0);
        known.fill(buffer.chunks(1));
        assert_eq!(known.hashes().count(), PIPELINE_MAX);
        for key in buffer.chunks(1) {
            assert_eq!(known.key(key).hash, hash(key));
        }
    }
}
