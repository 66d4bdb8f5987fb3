//! Hashes of the keys of a pipeline: computed when the keys are prefetched, and used when their commands are executed.
//!
//! A key is known by where its bytes are, so that finding it compares two numbers. That holds as long as the buffer in which it lies is
//! there and not changed: whoever fills in the hashes borrows the buffer until it has had them forgotten.
//!
//! The keys are in the order of their commands, and a command asks for its own key only: finding is O(1),
//! amortized over a pipeline.

use crate::keyspace::hash::hash;
use crate::keyspace::key::Key;

/// Keys known at once.
pub(crate) const KNOWN_MAX: usize = 16;

#[derive(Clone, Copy, Default)]
struct Known {
    address: usize,
    len: usize,
    hash: u64,
}

/// The hashes, none at first.
#[derive(Default)]
pub(crate) struct KnownHashes {
    known: [Known; KNOWN_MAX],
    count: usize,
    /// The first that may be asked for.
    next: usize,
}

impl KnownHashes {
    /// Puts the hashes of these keys, which lie in a buffer one after the other, in the place of those before.
    pub fn fill<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) {
        self.forget();
        for (known, key) in self.known.iter_mut().zip(keys) {
            *known = Known { address: key.as_ptr().addr(), len: key.len(), hash: hash(key) };
            self.count += 1;
        }
    }

    /// Must be called before the buffer of the keys is changed.
    pub fn forget(&mut self) {
        (self.count, self.next) = (0, 0);
    }

    /// All of them, in order.
    pub fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.known[..self.count].iter().map(|known| known.hash)
    }

    /// A key with its hash, which is computed if it is not known.
    #[inline]
    pub fn key<'k>(&mut self, bytes: &'k [u8]) -> Key<'k> {
        let address = bytes.as_ptr().addr();
        while let Some(known) = self.known[..self.count].get(self.next) {
            if known.address == address && known.len == bytes.len() {
                debug_assert_eq!(known.hash, hash(bytes), "the buffer of the keys has not changed");
                return Key { bytes, hash: known.hash };
            }
            if known.address > address {
                break;
            }
            self.next += 1;
        }
        Key::of(bytes)
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
        known.forget();
        assert_eq!(known.key(one).hash, hash(one));
        assert_eq!(known.hashes().count(), 0);
        known.fill(buffer.chunks(1));
        assert_eq!(known.hashes().count(), KNOWN_MAX);
        for key in buffer.chunks(1) {
            assert_eq!(known.key(key).hash, hash(key));
        }
    }
}
