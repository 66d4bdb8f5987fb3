//! Sorted sets of entries that are all known: those of many are put in by rank, so that neighbours come one after the other and lie in the
//! processor's cache.

use foldhash::fast::RandomState;
use larder_collections::sorted_set::{Limits, SortedSet};
use std::hash::BuildHasher;

/// Fewer entries than these lie in the cache anyway.
const MANY: usize = 10_000;

/// A score of eight bytes.
pub fn of(bytes: &[u8]) -> f64 {
    bytes.first_chunk().map_or(0.0, |bytes| f64::from_le_bytes(*bytes))
}

/// Adds members with their scores to a set; of a member that is there twice the last score counts. The entries may change their order.
/// O(n log n).
pub fn add(set: &mut SortedSet, entries: &mut [(f64, &[u8])]) {
    // A set remembers the sign of zero when it has become large.
    let has_signed_zero = || entries.iter().any(|(score, _)| *score == 0.0 && score.is_sign_negative());
    if entries.len() >= MANY && !has_signed_zero() && !has_twins(entries) {
        entries.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
    }
    let limits = Limits::default();
    for (score, member) in entries {
        set.add(member, *score, &limits);
    }
}

/// Whether a member is there twice; rarely also true if none is.
fn has_twins(entries: &[(f64, &[u8])]) -> bool {
    let hasher = RandomState::default();
    let mut hashes: Vec<u64> = entries.iter().map(|(_, member)| hasher.hash_one(member)).collect();
    hashes.sort_unstable();
    hashes.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_those_of_the_entries_in_their_order() {
        let mut rng = fastrand::Rng::with_seed(9);
        let sizes = [(10, 5), (MANY - 1, 100_000), (MANY, 1 << 40), (3 * MANY, 1 << 40), (2 * MANY, 15_000)];
        for (count, names) in sizes.into_iter().cycle().take(4 * sizes.len()) {
            let members: Vec<String> = (0..count).map(|_| rng.u64(..names).to_string()).collect();
            let is_signed = rng.bool();
            let score = |rng: &mut fastrand::Rng| match rng.u8(..8) {
                0 => 0.0,
                1 if is_signed => -0.0,
                2 => f64::INFINITY,
                3 => f64::NEG_INFINITY,
                4 => f64::from(rng.i8(..)),
                _ => rng.f64() - 0.5,
            };
            let mut entries: Vec<(f64, &[u8])> =
                members.iter().map(|member| (score(&mut rng), member.as_bytes())).collect();
            let mut plain = SortedSet::new();
            for (score, member) in &entries {
                plain.add(member, *score, &Limits::default());
            }
            let mut set = SortedSet::new();
            add(&mut set, &mut entries);
            let all = |set: &SortedSet| {
                let mut all = Vec::new();
                set.for_each(|score, member| all.push((score.to_bits(), member.to_vec())));
                all
            };
            assert!(all(&set) == all(&plain) && set.len() == plain.len(), "{count} of {names}");
            set.check_invariants();
        }
    }
}
