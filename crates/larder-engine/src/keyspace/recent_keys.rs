//! Keys that a thread has looked up shortly before: most likely, the cache still has what a lookup of them reads, and to have it loaded once more
//! costs two locks for nothing.
//!
//! A table of [`PLACES`] words of 4 bytes, half of a key's hash each; the other half says which place. O(1), without probing: a key takes the
//! place of the one before. An answer may be wrong, and then costs a miss of the cache or an idle look at memory.

/// Places, a power of two. What lookups of as many keys read fits the cache of the second level.
const PLACES: usize = 1024;

/// The keys by their hashes, none at first.
pub(crate) struct RecentKeys(Box<[u32; PLACES]>);

impl Default for RecentKeys {
    fn default() -> Self {
        RecentKeys(Box::new([0; PLACES]))
    }
}

impl RecentKeys {
    /// Whether the key with this hash in this database was among the last ones. From now on it is.
    #[inline]
    pub fn note(&mut self, db: usize, hash: u64) -> bool {
        // The bits of a hash serve many purposes: none of them is to choose the place alone.
        let mixed = (hash ^ db as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = &mut self.0[(mixed >> (u64::BITS - PLACES.ilog2())) as usize];
        let tag = mixed as u32;
        std::mem::replace(place, tag) == tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyspace::hash::hash;

    #[test]
    fn a_key_is_recent_until_others_have_taken_its_place() {
        let mut recent = RecentKeys::default();
        let few: Vec<u64> = (0..64u32).map(|number| hash(&number.to_le_bytes())).collect();
        let again = |recent: &mut RecentKeys, db| few.iter().filter(|&&hash| recent.note(db, hash)).count();
        assert_eq!(again(&mut recent, 0), 0);
        // Two may have one place.
        assert!(again(&mut recent, 0) > 48);
        assert!(again(&mut recent, 1) < 4, "it is another database");
        (64..20_000u32).for_each(|number| {
            recent.note(0, hash(&number.to_le_bytes()));
        });
        assert!(again(&mut recent, 0) < 4);
    }
}
