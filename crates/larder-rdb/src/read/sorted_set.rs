//! Sorted sets: every form that they were ever saved in.

use super::input::Input;
use super::{listpack_elements, ziplist};
use crate::error::{Error, Result};
use larder_collections::sorted_set::{Limits, SortedSet};
use larder_packed::block::Element;
use std::io::BufRead;

/// Members with scores as text.
pub fn text_scores(input: &mut Input<impl BufRead>, limits: &Limits) -> Result<SortedSet> {
    members(input, limits, Input::text_double)
}

/// Members with scores as eight bytes.
pub fn binary_scores(input: &mut Input<impl BufRead>, limits: &Limits) -> Result<SortedSet> {
    members(input, limits, Input::double)
}

/// A sorted set that is one ziplist.
pub fn of_ziplist(bytes: &[u8], limits: &Limits) -> Result<SortedSet> {
    of_elements(&ziplist::entries(bytes)?, limits)
}

/// A sorted set that is one listpack.
pub fn of_listpack(bytes: &[u8], limits: &Limits) -> Result<SortedSet> {
    of_elements(&listpack_elements(bytes)?, limits)
}

fn members<R: BufRead>(
    input: &mut Input<R>,
    limits: &Limits,
    score: impl Fn(&mut Input<R>) -> Result<f64>,
) -> Result<SortedSet> {
    let mut set = SortedSet::new();
    for _ in 0..input.length()? {
        let member = input.string()?;
        add(&mut set, &member, score(input)?, limits)?;
    }
    Ok(set)
}

fn of_elements(elements: &[Element<'_>], limits: &Limits) -> Result<SortedSet> {
    let (pairs, rest) = elements.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Error::Damaged("a member without a score"));
    }
    let mut set = SortedSet::new();
    for [member, score] in pairs {
        let score = score_of(score)?;
        member.with_bytes(|member| add(&mut set, member, score, limits))?;
    }
    Ok(set)
}

fn score_of(element: &Element<'_>) -> Result<f64> {
    match element {
        Element::Int(score) => Ok(*score as f64),
        Element::Bytes(text) => {
            let text = std::str::from_utf8(text).ok();
            text.and_then(|text| text.parse().ok()).ok_or(Error::Damaged("a score that is no number"))
        }
    }
}

fn add(set: &mut SortedSet, member: &[u8], score: f64, limits: &Limits) -> Result<()> {
    if score.is_nan() {
        return Err(Error::Damaged("a score that is no number"));
    }
    let is_new = set.add(member, score, limits);
    if is_new { Ok(()) } else { Err(Error::Damaged("a member that is there twice")) }
}
