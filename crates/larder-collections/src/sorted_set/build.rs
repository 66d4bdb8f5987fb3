//! Making a sorted set of entries that are all known, as files bring them: one encoding instead of one for each entry.

use super::index::tag_of;
use super::limits::{Limits, MEMBER_LEN_MAX, PACKED_BYTES_MAX};
use super::score::key_of;
use super::zeros::is_negative_zero;
use super::{Form, SortedSet};
use crate::key_table::KeyHash;
use larder_packed::leaf::Leaf;

/// More bytes than this are put in entry by entry.
const BYTES_MAX: usize = 4 * PACKED_BYTES_MAX;
/// What an entry takes at most beside its member.
const ENTRY_BYTES: usize = 13;

impl<H: KeyHash> SortedSet<H> {
    /// A set of these entries; None if a member is there twice. Scores must not be NaN.
    ///
    /// O(n log n), and O(n) comparisons when they are in order or in reverse order already.
    ///
    /// Panics if a member is longer than [`MEMBER_LEN_MAX`].
    pub fn of_entries(entries: &[(f64, &[u8])], limits: &Limits) -> Option<Self> {
        let bytes: usize = entries.iter().map(|(_, member)| member.len() + ENTRY_BYTES).sum();
        if bytes > BYTES_MAX {
            let mut set = Self::new();
            let new = entries.iter().all(|(score, member)| set.add(member, *score, limits));
            set.negate_zeros(entries);
            return new.then_some(set);
        }
        let mut sorted: Vec<(u64, &[u8], u64)> =
            entries.iter().map(|&(score, member)| (key_of(score), member, H::hash(member))).collect();
        if has_twins(&sorted) {
            return None;
        }
        sorted.sort_unstable();
        let mut leaf = Leaf::of_sorted(&sorted, tag_of);
        let longest = entries.iter().map(|(_, member)| member.len()).max().unwrap_or(0);
        assert!(longest <= MEMBER_LEN_MAX, "the caller checks the length");
        if entries.len() as u64 > limits.entries || longest > limits.member_len {
            leaf.set_mark(true);
        }
        let too_large = leaf.heap_bytes() > PACKED_BYTES_MAX && leaf.len() > 1;
        let mut set = Self::of(Form::Packed(leaf));
        if too_large {
            set.make_tree();
        }
        set.negate_zeros(entries);
        Some(set)
    }

    /// Gives the members of the score -0 that score, now that the set has its size.
    fn negate_zeros(&mut self, entries: &[(f64, &[u8])]) {
        let zeros = entries.iter().filter(|(score, _)| is_negative_zero(*score));
        zeros.for_each(|(_, member)| self.negate_zero(member));
    }
}

/// Whether a member is there twice. Hashes are keyed: few are the same where members are not, and few have the same last bits.
fn has_twins(entries: &[(u64, &[u8], u64)]) -> bool {
    // Numbers of entries, from 1 on, at places that their hashes say, or after these.
    let mut places = vec![0_u32; 2 * entries.len().next_power_of_two()];
    let last = places.len() - 1;
    for (at, &(_, member, hash)) in entries.iter().enumerate() {
        let mut place = hash as usize & last;
        while let Some(other) = (places[place] as usize).checked_sub(1) {
            let (_, member_there, hash_there) = entries[other];
            if hash_there == hash && member_there == member {
                return true;
            }
            place = (place + 1) & last;
        }
        places[place] = at as u32 + 1;
    }
    false
}
