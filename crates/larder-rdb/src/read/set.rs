//! Sets: every form that they were ever saved in.
//!
//! ```text
//!  SET                        count | member ..
//!  SET_INTSET, SET_LISTPACK   a string that holds the members
//! ```

use super::input::Input;
use super::{intset, listpack_elements, texts};
use crate::error::{Error, Result};
use larder_collections::set::{Set, SetLimits};
use larder_packed::block::Element;
use std::io::BufRead;

const TWICE: Error = Error::Damaged("a member that is there twice");

/// Members as strings.
pub fn strings(input: &mut Input<impl BufRead>, limits: &SetLimits) -> Result<Set> {
    let count = input.length()?;
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
