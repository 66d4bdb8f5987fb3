//! Hashes with a secret key: SipHash-1-3, for every table that is indexed by what clients send.
//!
//! Who knows, or can find out, which keys or members share a place in a table can fill one place and make every operation
//! there slow. The keys of these hashes come from the system's random numbers, and each purpose has its own, so that what is
//! learnt of one kind of table says nothing about another. SipHash is made for this: its values do not give away its key.
//! (It takes about 8 ns longer for a name of 16 bytes than a hash that only scatters; docs/design/key-table.md.)
//!
//! `hash-seed` takes the place of the random numbers, for those who want several servers to agree.

use siphasher::sip::{SipHasher13, SipHasher24};
use siphasher::sip128::Hasher128;
use std::hash::{BuildHasher, Hasher};
use std::sync::{LazyLock, OnceLock};

/// What a hash is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The keys of the keyspace.
    Keys,
    /// Members of sets and sorted sets, fields of hashes.
    Members,
    /// What scans show of positions.
    Cursors,
    /// Everything else that clients name: channels, scripts, watched keys.
    Names,
}

/// The key that all others are derived from.
static MASTER: OnceLock<[u64; 2]> = OnceLock::new();

/// Chooses the key by a text. False when it comes too late: something has been hashed already.
pub fn set_seed(text: &[u8]) -> bool {
    let mut hasher = siphasher::sip128::SipHasher24::new();
    hasher.write(text);
    let hash = hasher.finish128();
    MASTER.set([hash.h1, hash.h2]).is_ok()
}

fn random_master() -> [u64; 2] {
    let mut bytes = [0; 16];
    // Without random numbers there would be no protection, and nobody would know.
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    let (first, second) = bytes.split_at(8);
    [first, second].map(|half| u64::from_le_bytes(half.try_into().expect("eight bytes")))
}

/// The hash for a purpose.
#[must_use]
pub fn keyed_hasher(purpose: Purpose) -> SipHasher13 {
    let [first, second] = *MASTER.get_or_init(random_master);
    let derive = |half: u8| SipHasher24::new_with_keys(first, second).hash(&[purpose as u8, half]);
    SipHasher13::new_with_keys(derive(0), derive(1))
}

/// Builds the hashers of `HashMap`s that are keyed by what clients send.
#[derive(Clone, Debug)]
pub struct KeyedState(&'static SipHasher13);

impl Default for KeyedState {
    fn default() -> Self {
        static NAMES: LazyLock<SipHasher13> = LazyLock::new(|| keyed_hasher(Purpose::Names));
        KeyedState(&NAMES)
    }
}

impl BuildHasher for KeyedState {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        *self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purpose_has_its_own_key() {
        let purposes = [Purpose::Keys, Purpose::Members, Purpose::Cursors, Purpose::Names];
        let hashes = purposes.map(|purpose| keyed_hasher(purpose).hash(b"name"));
        for (i, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..i].contains(hash));
            assert_eq!(
                keyed_hasher(purposes[i]).hash(b"name"),
                *hash,
                "the same as long as the process lives"
            );
        }
        assert!(!set_seed(b"too late"));
    }
}
