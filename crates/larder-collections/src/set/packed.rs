//! Sets of members that are all known: how they come in as blocks of integers and packs of strings.

use super::{Set, SetLimits};
use crate::int_set::{Blocks, IntSet};
use crate::table::Table;
use larder_packed::int;

impl Set {
    /// A set of these integers and of these strings, none of which is long; None if a member is twice. `string_of` gives each string
    /// again by the number that comes with it. What the set is called, `limits` say, as if its members had been added one by one.
    ///
    /// Panics if there are 2^32 strings or more. O(n log n), and a fraction of what as many calls of [`insert`](Self::insert) take.
    pub fn of_packed<'a>(
        ints: IntSet,
        strings: impl Iterator<Item = (u32, &'a [u8])> + Clone,
        string_of: impl Fn(u32) -> &'a [u8],
        limits: &SetLimits,
    ) -> Option<Set> {
        let (mut count, mut longest, mut has_int) = (ints.len(), 0, false);
        for (_, member) in strings.clone() {
            count += 1;
            longest = longest.max(member.len());
            has_int |= int::parse(member).is_some();
        }
        let is_small = count <= limits.listpack_count_max && longest <= limits.listpack_bytes_max;
        if !has_int && (!is_small || ints.is_empty()) && count > ints.len() {
            let strings = Table::of_entries(strings, string_of)?;
            return Some(if is_small { Set::Strings(strings) } else { Set::of_parts(ints, strings) });
        }
        let is_overgrown = ints.len() > limits.intset_count_max;
        let mut set = Set::Ints(ints);
        if let (Set::Ints(ints), true) = (&mut set, is_overgrown) {
            ints.set_overgrown();
        }
        let mut strings = strings;
        strings.all(|(_, member)| set.insert(member, limits)).then_some(set)
    }

    /// The blocks of the integers, where they are packed as such.
    pub fn int_blocks(&self) -> Option<Blocks<'_>> {
        self.ints().map(|ints| ints.blocks_from(i64::MIN))
    }
}
