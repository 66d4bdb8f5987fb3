//! The hash of keys.
//!
//! On a node of a cluster it carries the slot of the key, which is decided when the server starts:
//!
//! ```text
//!  bit   63 .. 58     57 ..  24   23 .. 16     15 .. 0
//!      +-----------+------------+------------+---------+
//!      | slot >> 8 |   seeded   | slot & 255 |  seeded |
//!      +-----------+------------+------------+---------+
//!        position                 shard        tag
//! ```
//! The keys of a slot are thereby in one shard, and neighbours in its tables: a slot is counted, listed and removed without
//! looking at others, a command on one slot locks one shard, and what changes for a slot changes under one lock. Everywhere else all bits are
//! seeded.

use larder_cluster::key_slot;
use larder_collections::key_table::{HashPrefix, KeyHash, position};
use larder_collections::keyed_hash::{Purpose, keyed_hasher, set_seed};
use siphasher::sip::SipHasher13;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Number of shards; a power of two.
pub const SHARDS: usize = 256;

const _: () = assert!(SHARDS.is_power_of_two());

/// The bits of a slot that do not choose the shard, at the top of the hash.
const PREFIX_BITS: u32 = 6;
const PREFIX_SHIFT: u32 = 64 - PREFIX_BITS;
/// Where in a hash the shard is.
const SHARD_SHIFT: u32 = 16;
const SHARD_MASK: u64 = SHARDS as u64 - 1;

const _: () = assert!(SHARDS << PREFIX_BITS == larder_cluster::SLOTS as usize);

struct KeyHasher {
    sip: SipHasher13,
    by_slot: bool,
}

/// What [`hash_by_slot`] has asked for.
static BY_SLOT: AtomicBool = AtomicBool::new(false);

static HASHER: LazyLock<KeyHasher> =
    LazyLock::new(|| KeyHasher { sip: keyed_hasher(Purpose::Keys), by_slot: BY_SLOT.load(Relaxed) });

/// Has all hashes depend on a text in place of random numbers. False when it comes too late: something has been hashed.
pub fn set_hash_seed(text: &[u8]) -> bool {
    set_seed(text)
}

/// Has the hashes of keys carry their slots. False when it comes too late: something has been hashed.
pub fn hash_by_slot() -> bool {
    BY_SLOT.store(true, Relaxed);
    HASHER.by_slot
}

/// The hash of a key.
#[inline]
pub(crate) fn hash(key: &[u8]) -> u64 {
    let hasher = &*HASHER;
    let hash = hasher.sip.hash(key);
    if hasher.by_slot { with_slot_of(hash, key) } else { hash }
}

/// Not in the way of servers that are no nodes.
#[inline(never)]
fn with_slot_of(hash: u64, key: &[u8]) -> u64 {
    with_slot(hash, key_slot(key))
}

fn with_slot(hash: u64, slot: u16) -> u64 {
    let (slot, seeded) = (u64::from(slot), hash & !(SHARD_MASK << SHARD_SHIFT | u64::MAX << PREFIX_SHIFT));
    (slot / SHARDS as u64) << PREFIX_SHIFT | (slot & SHARD_MASK) << SHARD_SHIFT | seeded
}

/// Whether a key of a node of a cluster is at a position or after it, which its slot tells for most.
fn is_from(key: &[u8], start: u32) -> bool {
    let slot = key_slot(key);
    let (first, last) = (position(with_slot(0, slot)), position(with_slot(u64::MAX, slot)));
    first >= start || last >= start && position(with_slot(HASHER.sip.hash(key), slot)) >= start
}

/// The shard that a hash chooses.
#[inline]
pub(crate) fn shard_of(hash: u64) -> usize {
    (hash >> SHARD_SHIFT & SHARD_MASK) as usize
}

/// The slot in the hash of a key, on a node of a cluster.
#[inline]
pub(crate) fn slot_of(hash: u64) -> u16 {
    (hash >> PREFIX_SHIFT << 8 | hash >> SHARD_SHIFT & SHARD_MASK) as u16
}

/// The shard that has the keys of a slot.
pub(crate) fn shard_of_slot(slot: u16) -> usize {
    usize::from(slot) & (SHARDS - 1)
}

/// The slots whose keys a shard has, ascending: so do the prefixes of their hashes.
pub(crate) fn slots_of_shard(shard: usize) -> impl Iterator<Item = u16> {
    (shard..usize::from(larder_cluster::SLOTS)).step_by(SHARDS).map(|slot| slot as u16)
}

/// What the hashes of the keys of a slot begin with, in its shard.
pub(crate) fn prefix_of_slot(slot: u16) -> HashPrefix {
    HashPrefix::new(u64::from(slot) / SHARDS as u64, PREFIX_BITS)
}

/// The hash as the tables ask for it.
pub struct KeyspaceHash;

impl KeyHash for KeyspaceHash {
    #[inline]
    fn hash(key: &[u8]) -> u64 {
        hash(key)
    }

    #[inline]
    fn is_from(key: &[u8], start: u32) -> bool {
        if HASHER.by_slot { is_from(key, start) } else { position(HASHER.sip.hash(key)) >= start }
    }

    fn prefix_bits() -> u32 {
        if HASHER.by_slot { PREFIX_BITS } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the slot alone tells is what the whole hash tells.
    #[test]
    fn a_key_is_on_the_side_of_its_hash() {
        let mut rng = fastrand::Rng::with_seed(8);
        for number in 0..20_000_u32 {
            let key = number.to_string().into_bytes();
            let hash = with_slot_of(HASHER.sip.hash(&key), &key);
            let at = position(hash);
            let near = at.wrapping_add(rng.u32(..8)).wrapping_sub(4);
            for start in [rng.u32(..), near, at, position(hash & u64::MAX << PREFIX_SHIFT)] {
                assert_eq!(is_from(&key, start), at >= start, "{number} from {start}");
            }
        }
    }

    #[test]
    fn a_hash_carries_its_slot_and_keeps_its_other_bits() {
        let mut rng = fastrand::Rng::with_seed(7);
        for slot in 0..larder_cluster::SLOTS {
            let seeded = rng.u64(..);
            let hash = with_slot(seeded, slot);
            assert_eq!(slot_of(hash), slot);
            assert_eq!(((hash >> PREFIX_SHIFT) as u16, shard_of(hash)), (slot >> 8, shard_of_slot(slot)));
            assert!(prefix_of_slot(slot).has(hash) && !prefix_of_slot(slot ^ 0x100).has(hash));
            assert_eq!((hash ^ seeded) & 0x03FF_FFFF_FF00_FFFF, 0);
        }
    }
}
