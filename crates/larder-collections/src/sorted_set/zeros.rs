//! Which members of a large set have the score -0.
//!
//! -0 and 0 are one place in the order, so they are one key in the leaves. Yet a large set answers with the one that it was
//! given, as Redis does (a small one says 0). Why not a bit per entry: hardly any set has such a score, and no other should
//! pay. So they stand in a table beside the tree, which is there only while a member has that score: eight bytes a tree.
//!
//! Cost: for each member with the score -0, itself once more (see [`crate::table`]); O(1) per look. Clones share the table.
//!
//! Invariants:
//! - Z1: members of the table are members of the set with the key of zero.
//! - Z2: the table is there exactly if it has members, and then the set is a tree and large.
//!
//! Tested by the model test.

use super::score::{ZERO, score_of};
use crate::table::{Member, Table};
use larder_packed::heap::Mover;

/// See the module's comment.
#[derive(Clone, Default)]
pub(super) struct NegativeZeros(Option<Box<Table<Member>>>);

/// Whether a score is -0.
#[inline]
pub(super) fn is_negative_zero(score: f64) -> bool {
    score.to_bits() == (-0.0_f64).to_bits()
}

impl NegativeZeros {
    /// Whether no member has the score.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Number of members with the score.
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |members| members.len())
    }

    /// The members with the score.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().flat_map(|members| members.iter().map(|row| row.key()))
    }

    /// The score of a member with this key.
    #[inline]
    pub(super) fn score(&self, key: u64, member: &[u8]) -> f64 {
        match &self.0 {
            Some(members) if key == ZERO && members.contains(member) => -0.0,
            _ => score_of(key),
        }
    }

    /// Notes that a member has the score.
    pub(super) fn insert(&mut self, member: &[u8]) {
        self.0.get_or_insert_default().insert(member);
    }

    /// Forgets a member, which had this key; says which score it had.
    #[inline]
    pub(super) fn take(&mut self, key: u64, member: &[u8]) -> f64 {
        let score = self.score(key, member);
        if is_negative_zero(score) {
            let left = self.0.take().map(|mut members| {
                members.remove(member);
                members
            });
            self.0 = left.filter(|members| !members.is_empty());
        }
        score
    }

    /// Moves the members' blocks, those that lie in sparse slabs and are not shared.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover) {
        if let Some(members) = &mut self.0 {
            members.move_blocks(mover);
        }
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |members| size_of_val(&**members) + members.memory_bytes())
    }

    /// Panics unless the invariants hold, `is_zero` saying whether a member has the key of zero.
    pub(super) fn check_invariants(&self, is_zero: impl Fn(&[u8]) -> bool) {
        let Some(members) = &self.0 else { return };
        members.check_invariants();
        assert!(!members.is_empty(), "Z2");
        assert!(members.iter().all(|row| is_zero(row.key())), "Z1");
    }
}

impl std::fmt::Debug for NegativeZeros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} members", self.len())
    }
}
