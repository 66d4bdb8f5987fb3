//! What OBJECT ENCODING calls a set, and the thresholds that it follows.

use super::Set;
use crate::int_set::IntSet;
use crate::table::{Member, Table};
use larder_packed::int;

/// Up to where a set counts as small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetLimits {
    /// Members of an intset.
    pub intset_count_max: u64,
    /// Members of a listpack.
    pub listpack_count_max: u64,
    /// Bytes of the longest member of a listpack.
    pub listpack_bytes_max: usize,
}

impl Default for SetLimits {
    /// What Redis and Valkey have by default.
    fn default() -> Self {
        SetLimits { intset_count_max: 512, listpack_count_max: 128, listpack_bytes_max: 64 }
    }
}

/// What OBJECT ENCODING calls the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetEncoding {
    /// More than that, now or at some time before.
    Hashtable,
    /// A few integers.
    Intset,
    /// A few members of any kind.
    Listpack,
}

impl Set {
    /// An empty set for a command that adds `count` members, of which this is the first: what is bound to become large
    /// starts as a hashtable.
    pub fn for_members(first: &[u8], count: u64, limits: &SetLimits) -> Set {
        let is_int = int::parse(first).is_some();
        if is_int && count <= limits.intset_count_max {
            return Set::new();
        }
        let mut strings = Table::new();
        if count <= limits.listpack_count_max {
            return Set::Strings(strings);
        }
        if is_int {
            return Set::of_parts(IntSet::new(), strings);
        }
        strings.set_mark();
        Set::Strings(strings)
    }

    /// A set of these members, as adding one after the other makes it; None if one is there twice. A listpack is made at once.
    pub fn of_members(members: &[&[u8]], limits: &SetLimits) -> Option<Set> {
        // Integers in front are an intset until something else comes, and are sorted then.
        let is_listpack = members.first().is_some_and(|first| int::parse(first).is_none())
            && members.len() as u64 <= limits.listpack_count_max
            && members.iter().all(|member| member.len() <= limits.listpack_bytes_max);
        if is_listpack {
            return table_of(members).map(Set::Strings);
        }
        let mut set = Set::new();
        members.iter().all(|member| set.insert(member, limits)).then_some(set)
    }

    /// Tells the set that a command is about to add `count` members, of which this is the first.
    #[inline]
    pub fn expect_members(&mut self, first: &[u8], count: u64, limits: &SetLimits) {
        if self.is_empty() {
            *self = Set::for_members(first, count, limits);
            return;
        }
        let count_max = match self.encoding() {
            SetEncoding::Hashtable => return,
            SetEncoding::Intset => limits.intset_count_max,
            SetEncoding::Listpack => limits.listpack_count_max,
        };
        if count > count_max {
            self.become_hashtable();
        }
    }

    /// What OBJECT ENCODING calls the set.
    pub fn encoding(&self) -> SetEncoding {
        match self {
            Set::Ints(ints) if !ints.is_overgrown() => SetEncoding::Intset,
            Set::Strings(strings) if !strings.mark() => SetEncoding::Listpack,
            _ => SetEncoding::Hashtable,
        }
    }

    /// Adds a member to a listpack, or a string to integers.
    pub(super) fn insert_small(&mut self, member: &[u8], limits: &SetLimits) -> bool {
        match self {
            Set::Ints(ints) => {
                if fits_listpack(ints, member, limits) {
                    self.become_listpack();
                } else {
                    self.become_hashtable();
                }
            }
            Set::Strings(strings) if strings.contains(member) => return false,
            Set::Strings(strings) => {
                let fits = (strings.len() as u64) < limits.listpack_count_max
                    && member.len() <= limits.listpack_bytes_max;
                if fits {
                    return strings.insert(member);
                }
                self.become_hashtable();
            }
            Set::Both(_) => {}
        }
        match self {
            Set::Strings(strings) if !strings.mark() => strings.insert(member),
            Set::Strings(strings) if int::parse(member).is_none() => strings.insert(member),
            Set::Ints(ints) if int::parse(member).is_none() => {
                let mut strings = Table::new();
                strings.insert(member);
                *self = Set::of_parts(std::mem::take(ints), strings);
                true
            }
            _ => self.insert(member, limits),
        }
    }

    /// Integers as text, in ascending order. O(n) for an n below the listpack threshold.
    fn become_listpack(&mut self) {
        if let Set::Ints(ints) = self {
            let mut strings = Table::new();
            for value in ints.iter() {
                int::with_text(value, |text| strings.insert(text));
            }
            *self = Set::Strings(strings);
        }
    }

    /// Puts integers where integers belong. Integers alone are there already; O(n) for the n of a listpack.
    fn become_hashtable(&mut self) {
        match self {
            Set::Ints(ints) => ints.set_overgrown(),
            Set::Strings(strings) => {
                let mut strings = std::mem::take(strings);
                let ints: IntSet = strings.iter().filter_map(|row| int::parse(row.key())).collect();
                for value in &ints {
                    int::with_text(value, |text| strings.remove(text));
                }
                *self = Set::of_parts(ints, strings);
            }
            Set::Both(_) => {}
        }
    }
}

/// A table of these members; None if one is there twice.
fn table_of(members: &[&[u8]]) -> Option<Table<Member>> {
    Table::of_entries((0..).zip(members.iter().copied()), |at| members[at as usize])
}

/// Whether integers and a string would be a listpack together.
fn fits_listpack(ints: &IntSet, member: &[u8], limits: &SetLimits) -> bool {
    let text_len = |value: Option<i64>| value.map_or(0, int::text_len);
    let longest =
        text_len(ints.select(0)).max(text_len(ints.len().checked_sub(1).and_then(|n| ints.select(n))));
    !ints.is_overgrown()
        && ints.len() < limits.listpack_count_max
        && member.len().max(longest) <= limits.listpack_bytes_max
}
