//! Intersection, union and difference.
//!
//! An intersection walks the smallest set and asks the others: integers by seekers, which amounts to a merge where the
//! sets are alike; strings by their hash, which is computed once for all tables, a batch at a time so that the memory
//! of all lookups is on its way before the first one waits for it.

use super::{Element, Set, SetLimits};
use crate::int_set::{IntSet, Seeker};
use crate::table::{Member, Table};
use std::cmp::Reverse;
use std::ops::ControlFlow;

/// Lookups that are under way together.
const BATCH: usize = 16;

impl Set {
    /// Calls `f` with the members that all of the sets have, until it breaks. There is at least one set.
    pub fn for_each_common<'a>(
        sets: &[&'a Set],
        mut f: impl FnMut(Element<'a>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut sets = sets.to_vec();
        sets.sort_by_key(|set| set.len());
        let (smallest, others) = sets.split_first().expect("an intersection has at least one set");
        if let Some(ints) = smallest.ints() {
            let mut probes: Vec<_> = others.iter().map(|other| Probe::of(other)).collect();
            for value in ints {
                if probes.iter_mut().all(|probe| probe.contains(value)) {
                    f(Element::Int(value))?;
                }
            }
        }
        match smallest.strings() {
            Some(strings) if strings.mark() => common_strings(strings, others, &mut f),
            Some(strings) => strings.iter().map(|row| row.key()).try_for_each(|member| {
                if others.iter().all(|other| other.contains(member)) {
                    f(Element::Bytes(member))?;
                }
                ControlFlow::Continue(())
            }),
            None => ControlFlow::Continue(()),
        }
    }

    /// The members that all of the sets have. There is at least one set.
    pub fn intersection(sets: &[&Set], limits: &SetLimits) -> Set {
        let mut result = Set::new();
        let _ = Set::for_each_common(sets, |element| {
            result.insert_element(element, limits);
            ControlFlow::Continue(())
        });
        result
    }

    /// The members that any of the sets has. The largest set lends its blocks, so only what others add costs memory.
    pub fn union(sets: &[&Set], limits: &SetLimits) -> Set {
        let small = limits.intset_count_max.max(limits.listpack_count_max);
        let largest = (0..sets.len()).max_by_key(|&at| sets[at].len());
        let start = largest.filter(|&at| sets[at].len() > small);
        let mut result = start.map_or_else(Set::new, |at| sets[at].clone());
        for (at, set) in sets.iter().enumerate() {
            if Some(at) != start {
                for element in set.iter() {
                    result.insert_element(element, limits);
                }
            }
        }
        result
    }

    /// Calls `f` with the members of `first` that none of the others has.
    ///
    /// Costs a lookup per member of the first set and other set, or a removal per member of the others from a clone,
    /// whichever is less.
    pub fn for_each_missing(first: &Set, others: &[&Set], mut f: impl FnMut(Element<'_>)) {
        let lookups = first.len().saturating_mul(others.len() as u64);
        let removals: u64 = others.iter().map(|other| other.len()).sum();
        if lookups / 2 > removals {
            let mut rest = first.clone();
            for element in others.iter().flat_map(|other| other.iter()) {
                rest.remove_element(element);
                if rest.is_empty() {
                    return;
                }
            }
            return rest.iter().for_each(f);
        }
        if let Some(ints) = first.ints() {
            let mut probes: Vec<_> = others.iter().map(|other| Probe::of(other)).collect();
            let missing = ints.iter().filter(|&value| !probes.iter_mut().any(|probe| probe.contains(value)));
            missing.for_each(|value| f(Element::Int(value)));
        }
        if let Some(strings) = first.strings() {
            let members = strings.iter().map(|row| row.key());
            let missing = members.filter(|member| !others.iter().any(|other| other.contains(member)));
            missing.for_each(|member| f(Element::Bytes(member)));
        }
    }

    /// Calls `f` for the members of all sets, once for each. O(members x sets): for many sets, their [`union`](Set::union) is made faster.
    pub fn for_each_of_any(sets: &[&Set], mut f: impl FnMut(Element<'_>)) {
        let mut sets = sets.to_vec();
        // The members of the largest are looked up nowhere.
        sets.sort_by_key(|set| Reverse(set.len()));
        for (at, set) in sets.iter().enumerate() {
            Set::for_each_missing(set, &sets[..at], &mut f);
        }
    }

    /// The members of `first` that none of the others has.
    pub fn difference(first: &Set, others: &[&Set], limits: &SetLimits) -> Set {
        let mut result = Set::new();
        Set::for_each_missing(first, others, |element| {
            result.insert_element(element, limits);
        });
        result
    }
}

/// Looks up integers that rise.
enum Probe<'a> {
    Ints(Seeker<'a>),
    Text(&'a Set),
}

impl<'a> Probe<'a> {
    fn of(set: &'a Set) -> Probe<'a> {
        set.ints().map_or(Probe::Text(set), |ints: &IntSet| Probe::Ints(ints.seeker()))
    }

    #[inline]
    fn contains(&mut self, value: i64) -> bool {
        match self {
            Probe::Ints(seeker) => seeker.contains(value),
            Probe::Text(set) => set.contains_element(Element::Int(value)),
        }
    }
}

/// The members of a table without integers that the other sets have, too.
fn common_strings<'a>(
    strings: &'a Table<Member>,
    others: &[&'a Set],
    f: &mut impl FnMut(Element<'a>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some(tables) = others.iter().map(|other| other.strings()).collect::<Option<Vec<_>>>() else {
        return ControlFlow::Continue(());
    };
    let mut members = strings.iter().map(|row| row.key());
    let mut batch: Vec<(u64, &[u8])> = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        batch.extend(members.by_ref().take(BATCH).map(|member| (Table::<Member>::hash_of(member), member)));
        if batch.is_empty() {
            return ControlFlow::Continue(());
        }
        if let Some(table) = tables.first() {
            table.prefetch_each(batch.iter().map(|&(hash, _)| hash));
        }
        for &(hash, member) in &batch {
            if tables.iter().all(|table| table.get_hashed(hash, member).is_some()) {
                f(Element::Bytes(member))?;
            }
        }
    }
}
