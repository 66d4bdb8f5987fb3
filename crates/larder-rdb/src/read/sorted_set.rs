//! Sorted sets: every form that they were ever saved in.
//!
//! ```text
//!  ZSET                          count | ( member | length u8 and score as text ) ..
//!  ZSET_2                        count | ( member | score f64 ) ..
//!  ZSET_ZIPLIST, ZSET_LISTPACK   a string that holds members and scores by turns
//! ```
//! In place of the length of a text stand 253 for NaN (which is refused), 254 for inf, 255 for -inf.

use super::input::Input;
use super::{listpack_elements, texts, ziplist};
use crate::error::{Error, Result};
use larder_collections::sorted_set::{Limits, SortedSet, SortedSetEncoding};
use larder_packed::block::Element;
use larder_packed::listpack;
use std::io::BufRead;

const NO_NUMBER: Error = Error::Damaged("a score that is not a number");
const TWICE: Error = Error::Damaged("a duplicate member");

/// This many entries at most are gathered before the set is made.
const BUILD_MAX: u64 = 1024;

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
    let mut entries = Vec::with_capacity(listpack::promised(bytes) / 2);
    let (mut member, mut is_usual) = (None, true);
    listpack::for_each(bytes, |element| match (member.take(), element) {
        (None, Element::Bytes(text)) => member = Some(text),
        (Some(member), score) => match score_of(&score) {
            Ok(score) => entries.push((score, member)),
            Err(_) => is_usual = false,
        },
        // A member that is an integer: what follows is taken for another than it is.
        (None, Element::Int(_)) => is_usual = false,
    })?;
    if is_usual && member.is_none() {
        return build(&entries, limits);
    }
    of_elements(&listpack_elements(bytes)?, limits)
}

fn members<R: BufRead>(
    input: &mut Input<R>,
    limits: &Limits,
    score: impl Fn(&mut Input<R>) -> Result<f64>,
) -> Result<SortedSet> {
    let count = input.length()?;
    if count > BUILD_MAX {
        let (mut set, mut member, mut zeros) = (SortedSet::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            member.clear();
            input.string_into(&mut member)?;
            let score = score(input)?;
            add(&mut set, &member, score, limits)?;
            // A small set does not remember the sign of zero, and this one may only be small yet.
            if score == 0.0 && score.is_sign_negative() && set.encoding() == SortedSetEncoding::Listpack {
                zeros.push(member.clone());
            }
        }
        zeros.iter().for_each(|member| set.negate_zero(member));
        return Ok(set);
    }
    let (mut bytes, mut entries) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let start = bytes.len();
        input.string_into(&mut bytes)?;
        entries.push((score(input)?, start..bytes.len()));
    }
    let entries: Vec<(f64, &[u8])> = entries.into_iter().map(|(score, at)| (score, &bytes[at])).collect();
    build(&entries, limits)
}

fn build(entries: &[(f64, &[u8])], limits: &Limits) -> Result<SortedSet> {
    if entries.iter().any(|(score, _)| score.is_nan()) {
        return Err(NO_NUMBER);
    }
    SortedSet::of_entries(entries, limits).ok_or(TWICE)
}

fn of_elements(elements: &[Element<'_>], limits: &Limits) -> Result<SortedSet> {
    let (pairs, rest) = elements.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Error::Damaged("a member without a score"));
    }
    let members: Vec<Element<'_>> = pairs.iter().map(|[member, _]| *member).collect();
    let mut digits = Vec::new();
    let members = texts(&members, &mut digits);
    let scores = pairs.iter().map(|[_, score]| score_of(score));
    let entries = scores.zip(members).map(|(score, member)| Ok((score?, member)));
    build(&entries.collect::<Result<Vec<_>>>()?, limits)
}

fn score_of(element: &Element<'_>) -> Result<f64> {
    match element {
        Element::Int(score) => Ok(*score as f64),
        Element::Bytes(text) => fast_float2::parse(text).map_err(|_| NO_NUMBER),
    }
}

fn add(set: &mut SortedSet, member: &[u8], score: f64, limits: &Limits) -> Result<()> {
    if score.is_nan() {
        return Err(NO_NUMBER);
    }
    let is_new = set.add(member, score, limits);
    if is_new { Ok(()) } else { Err(TWICE) }
}
