//! The set: distinct byte strings, of which integers are packed as integers.
//!
//! What it is: a sorted [`IntSet`] for the members that are canonical 64-bit integers, a packed [`Table`] for the others,
//! or both side by side. Why two parts and no conversion: Redis rewrites a set of integers as a hash table at the first
//! member that is none; here that member opens the second part, whatever the size of the first.
//!
//! | | cost |
//! |---|---|
//! | memory | integers: see [`crate::int_set`]; strings: the member + 2.1 bytes and the slack of a segment |
//! | contains, insert, remove | integers O(log n), strings O(1) |
//! | a random member, each with the same chance | integers O(log n), strings O(1) |
//! | clone | O(1): everything is shared, and copied block by block on write |
//!
//! ```text
//!   Ints(IntSet)          integers only: one block while small, then a tree
//!   Strings(Table)        strings, and while small (no mark) integers as text among them, in order of insertion: one segment
//!   Both(Arc) -> Parts    ints: IntSet, strings: Table
//! ```
//! What OBJECT ENCODING calls a set follows the rules of Redis, thresholds included, and is remembered where Redis could
//! not go back: the mark of the table, `overgrown` of the integers. `Ints` is an intset, or a hashtable if overgrown;
//! `Strings` is a listpack, or a hashtable if marked; `Both` is a hashtable.
//!
//! Invariants:
//! - S1: a marked table has no canonical integer in it.
//! - S2: `Both` has a marked table that does not lie in a record, and neither part is empty.
//!
//! Tested by the model test in `tests` beside this file.

mod algebra;
mod cold;
mod iter;
mod limits;
mod packed;
mod sample;
mod stats;
#[cfg(test)]
mod tests;

use crate::int_set::IntSet;
use crate::relocation::move_arc;
use crate::table::{Member, Table};
use larder_packed::heap::Mover;
use larder_packed::int;
use std::sync::Arc;

pub use iter::{MemberLook, TextLook};
pub use larder_packed::block::Element;
pub use limits::{SetEncoding, SetLimits};

/// See the module's comment. Cloning is O(1).
#[derive(Clone)]
pub enum Set {
    /// Integers only.
    Ints(IntSet),
    /// Strings, or a small mixture.
    Strings(Table<Member>),
    /// Integers and strings.
    Both(Arc<Parts>),
}

impl Set {
    /// Moves the set's blocks, those that lie in sparse slabs and are not shared.
    pub(crate) fn move_blocks(&mut self, mover: &mut Mover) {
        match self {
            Set::Ints(ints) => ints.move_blocks(mover),
            Set::Strings(table) => table.move_blocks(mover),
            Set::Both(parts) => {
                let Some(parts) = move_arc(parts, mover) else { return };
                mover.each(2, |mover, part| match part {
                    0 => parts.ints.move_blocks(mover),
                    _ => parts.strings.move_blocks(mover),
                });
            }
        }
    }
}

/// The two parts of a mixed set, opaque.
#[derive(Clone)]
pub struct Parts {
    ints: IntSet,
    strings: Table<Member>,
}

impl Set {
    /// An empty set.
    pub fn new() -> Set {
        Set::Ints(IntSet::new())
    }

    /// Number of members.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            Set::Ints(ints) => ints.len(),
            Set::Strings(strings) => strings.len() as u64,
            Set::Both(parts) => parts.ints.len() + parts.strings.len() as u64,
        }
    }

    /// True if there is no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if `member` is in the set.
    #[inline]
    pub fn contains(&self, member: &[u8]) -> bool {
        match self {
            Set::Ints(ints) => int::parse(member).is_some_and(|value| ints.contains(value)),
            Set::Strings(strings) => strings.contains(member),
            Set::Both(parts) => match int::parse(member) {
                Some(value) => parts.ints.contains(value),
                None => parts.strings.contains(member),
            },
        }
    }

    /// The same for a member of another set.
    #[inline]
    pub fn contains_element(&self, element: Element<'_>) -> bool {
        match (self, element) {
            (_, Element::Bytes(bytes)) => self.contains(bytes),
            (Set::Ints(ints), Element::Int(value)) => ints.contains(value),
            (Set::Both(parts), Element::Int(value)) => parts.ints.contains(value),
            (Set::Strings(strings), Element::Int(_)) if strings.mark() => false,
            (Set::Strings(strings), Element::Int(value)) => {
                int::with_text(value, |text| strings.contains(text))
            }
        }
    }

    /// Adds a member; true if it was not there.
    #[inline]
    pub fn insert(&mut self, member: &[u8], limits: &SetLimits) -> bool {
        match (&mut *self, int::parse(member)) {
            (Set::Strings(strings), None) if strings.mark() => strings.insert(member),
            (Set::Strings(strings), Some(_)) if !strings.mark() => self.insert_small(member, limits),
            (Set::Ints(_) | Set::Strings(_), None) => self.insert_small(member, limits),
            (Set::Both(parts), None) => Arc::make_mut(parts).strings.insert(member),
            (_, Some(value)) => self.insert_int(value, limits),
        }
    }

    /// The same for a member of another set.
    pub fn insert_element(&mut self, element: Element<'_>, limits: &SetLimits) -> bool {
        match element {
            Element::Int(value) => match self {
                Set::Strings(strings) if !strings.mark() => {
                    int::with_text(value, |text| self.insert_small(text, limits))
                }
                _ => self.insert_int(value, limits),
            },
            Element::Bytes(bytes) => self.insert(bytes, limits),
        }
    }

    /// Removes a member; true if it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        match self {
            Set::Ints(ints) => int::parse(member).is_some_and(|value| ints.remove(value)),
            Set::Strings(strings) => strings.remove(member),
            Set::Both(parts) => {
                let parts = Arc::make_mut(parts);
                let removed = match int::parse(member) {
                    Some(value) => parts.ints.remove(value),
                    None => parts.strings.remove(member),
                };
                self.drop_empty_part();
                removed
            }
        }
    }

    /// The same for a member of another set.
    pub fn remove_element(&mut self, element: Element<'_>) -> bool {
        match (&mut *self, element) {
            (Set::Ints(ints), Element::Int(value)) => ints.remove(value),
            (_, element) => element.with_bytes(|bytes| self.remove(bytes)),
        }
    }

    /// Panics if an invariant of the module's comment is violated. O(n).
    pub fn check_invariants(&self) {
        if let Some(ints) = self.ints() {
            ints.check_invariants();
        }
        if let Some(strings) = self.strings() {
            strings.check_invariants();
            let no_int = || strings.iter().all(|row| int::parse(row.key()).is_none());
            assert!(!strings.mark() || no_int(), "S1");
        }
        if let Set::Both(parts) = self {
            assert!(parts.strings.mark() && !parts.ints.is_empty() && !parts.strings.is_empty(), "S2");
        }
    }

    /// The integers, where they are packed as such.
    #[inline]
    fn ints(&self) -> Option<&IntSet> {
        match self {
            Set::Ints(ints) => Some(ints),
            Set::Both(parts) => Some(&parts.ints),
            Set::Strings(_) => None,
        }
    }

    #[inline]
    fn strings(&self) -> Option<&Table<Member>> {
        match self {
            Set::Ints(_) => None,
            Set::Both(parts) => Some(&parts.strings),
            Set::Strings(strings) => Some(strings),
        }
    }

    /// Asks the processor to load what lookups of members with these hashes read; nothing of integers.
    pub fn prefetch_all(&self, hashes: &[u64]) {
        if let Some(strings) = self.strings() {
            strings.prefetch_each(hashes.iter().copied());
        }
    }

    /// Adds an integer to a set that packs integers, or whose table is marked.
    fn insert_int(&mut self, value: i64, limits: &SetLimits) -> bool {
        match self {
            Set::Ints(ints) => {
                let added = ints.insert(value);
                if ints.len() > limits.intset_count_max && !ints.is_overgrown() {
                    ints.set_overgrown();
                }
                added
            }
            Set::Both(parts) => Arc::make_mut(parts).ints.insert(value),
            Set::Strings(strings) => {
                let strings = std::mem::take(strings);
                *self = Set::of_parts(IntSet::of_sorted(&[value]), strings);
                true
            }
        }
    }

    /// A set of two parts, either of which may be empty; it is called a hashtable from now on.
    fn of_parts(mut ints: IntSet, mut strings: Table<Member>) -> Set {
        if strings.is_empty() {
            ints.set_overgrown();
            return Set::Ints(ints);
        }
        strings.set_mark();
        // Clones share the parts, and outlive a record.
        strings.make_own();
        if ints.is_empty() { Set::Strings(strings) } else { Set::Both(Arc::new(Parts { ints, strings })) }
    }

    /// Makes a mixed set of which one part has become empty a set of the other.
    fn drop_empty_part(&mut self) {
        if let Set::Both(parts) = self
            && (parts.ints.is_empty() || parts.strings.is_empty())
        {
            let parts = Arc::make_mut(parts);
            *self = Set::of_parts(std::mem::take(&mut parts.ints), std::mem::take(&mut parts.strings));
        }
    }
}

impl Default for Set {
    fn default() -> Self {
        Set::new()
    }
}
