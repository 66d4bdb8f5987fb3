//! Sets: every form that they were ever saved in.
//!
//! ```text
//!  SET                        count | member ..
//!  SET_INTSET, SET_LISTPACK   a string that holds the members
//! ```

use super::input::Input;
use super::{BUILD_BYTES_MAX, BUILD_MAX, intset, listpack_elements, texts};
use crate::error::{Error, Result};
use larder_collections::int_set::IntSet;
use larder_collections::set::{Set, SetLimits};
use larder_packed::block::Element;
use larder_packed::int;
use std::io::BufRead;
use std::ops::Range;

pub(super) const TWICE: Error = Error::Damaged("a duplicate member");

/// Members as strings.
pub fn strings(input: &mut Input<impl BufRead>, limits: &SetLimits) -> Result<Set> {
    let count = input.length()?;
    if count > limits.intset_count_max.max(limits.listpack_count_max) {
        return large(input, count, limits);
    }
    let (mut set, mut member) = (Set::new(), Vec::new());
    for at in 0..count {
        member.clear();
        input.string_into(&mut member)?;
        if at == 0 {
            set = Set::for_members(&member, count, limits);
        }
        add(&mut set, Element::Bytes(&member), limits)?;
    }
    Ok(set)
}

/// More members than a small set has: most of them are gathered before the set is made.
fn large(input: &mut Input<impl BufRead>, count: u64, limits: &SetLimits) -> Result<Set> {
    // The strings one after the other, and where they begin and end.
    let (mut bytes, mut bounds, mut ints) = (Vec::new(), Vec::new(), Vec::new());
    let mut left = count;
    while left > 0 && bounds.len() + ints.len() < BUILD_MAX && bytes.len() <= BUILD_BYTES_MAX {
        let start = bytes.len();
        input.string_into(&mut bytes)?;
        match int::parse(&bytes[start..]) {
            Some(value) => {
                bytes.truncate(start);
                ints.push(value);
            }
            None => bounds.push(start as u32..bytes.len() as u32),
        }
        left -= 1;
    }
    ints.sort_unstable();
    if ints.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(TWICE);
    }
    let string_of = |at: u32| {
        let Range { start, end } = bounds[at as usize];
        &bytes[start as usize..end as usize]
    };
    let strings = (0..bounds.len() as u32).map(|at| (at, string_of(at)));
    let set = Set::of_packed(IntSet::of_sorted(&ints), strings, string_of, limits);
    let (mut set, mut member) = (set.ok_or(TWICE)?, Vec::new());
    for _ in 0..left {
        member.clear();
        input.string_into(&mut member)?;
        add(&mut set, Element::Bytes(&member), limits)?;
    }
    Ok(set)
}

/// A set that is one intset.
pub fn of_intset(bytes: &[u8], limits: &SetLimits) -> Result<Set> {
    let mut set = Set::new();
    let mut members = intset::integers(bytes)?.into_iter().map(Element::Int);
    members.try_for_each(|member| add(&mut set, member, limits))?;
    Ok(set)
}

/// A set that is one listpack.
pub fn of_listpack(bytes: &[u8], limits: &SetLimits) -> Result<Set> {
    let (elements, mut digits) = (listpack_elements(bytes)?, Vec::new());
    Set::of_members(&texts(&elements, &mut digits), limits).ok_or(TWICE)
}

fn add(set: &mut Set, member: Element<'_>, limits: &SetLimits) -> Result<()> {
    let is_new = set.insert_element(member, limits);
    if is_new { Ok(()) } else { Err(TWICE) }
}
