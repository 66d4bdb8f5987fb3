//! Hashes: every form that they were ever saved in.
//!
//! ```text
//!  HASH                                       count | ( field | value ) ..
//!  HASH_2                                     count | ( field | value | expiry i64 ) ..
//!  HASH_ZIPMAP, HASH_ZIPLIST, HASH_LISTPACK   a string that holds fields and values by turns
//! ```
//! An expiry is in ms since 1970; -1 is none.

use super::input::Input;
use super::{BUILD_BYTES_MAX, BUILD_MAX, listpack_elements, texts, ziplist, zipmap};
use crate::error::{Error, Result};
use larder_collections::hash::{Field, FieldExpiry, Hash, HashLimits};
use larder_packed::block::Element;
use std::io::BufRead;

/// Expiries do not matter while a hash is built: nothing is due before time began.
const NO_TIME: u64 = 0;
pub(super) const TWICE: Error = Error::Damaged("a field that is there twice");
/// The expiry of a field that has none.
const NEVER: i64 = -1;

/// Fields and values as strings.
pub fn strings(input: &mut Input<impl BufRead>, limits: HashLimits) -> Result<Hash> {
    let count = input.length()?;
    // The pairs one after the other, and where their parts end, by turns.
    let (mut bytes, mut ends) = (Vec::new(), vec![0_u32]);
    let mut left = count;
    while left > 0 && ends.len() <= 2 * BUILD_MAX && bytes.len() <= BUILD_BYTES_MAX {
        for _ in 0..2 {
            input.string_into(&mut bytes)?;
            // A few strings of a gigabyte at most.
            ends.push(bytes.len() as u32);
        }
        left -= 1;
    }
    let field_of = |at: u32| {
        let &[start, middle, end] = ends[2 * at as usize..].first_chunk().expect("a field has two parts");
        let (name, value) = (start as usize..middle as usize, middle as usize..end as usize);
        Field { name: &bytes[name], value: &bytes[value], expire_at_ms: None }
    };
    let gathered = (count - left) as u32;
    let fields = (0..gathered).map(|at| (at, field_of(at)));
    let mut hash = Hash::of_fields(fields, field_of, limits).ok_or(TWICE)?;
    let (mut field, mut value) = (Vec::new(), Vec::new());
    for _ in 0..left {
        read_pair(input, &mut field, &mut value)?;
        add(&mut hash, &field, &value, FieldExpiry::Clear, limits)?;
    }
    Ok(hash)
}

/// Fields, values and expiries.
pub fn with_expiries(input: &mut Input<impl BufRead>, limits: HashLimits) -> Result<Hash> {
    let (mut hash, mut field, mut value) = (Hash::new(), Vec::new(), Vec::new());
    for _ in 0..input.length()? {
        read_pair(input, &mut field, &mut value)?;
        let expiry = expiry(input)?.map_or(FieldExpiry::Clear, FieldExpiry::At);
        add(&mut hash, &field, &value, expiry, limits)?;
    }
    Ok(hash)
}

/// When a field expires, in milliseconds.
pub(super) fn expiry(input: &mut Input<impl BufRead>) -> Result<Option<u64>> {
    match i64::from_le_bytes(input.array()?) {
        NEVER => Ok(None),
        // At 0 it would be due even when nothing is, see `NO_TIME`.
        at => match u64::try_from(at) {
            Ok(at) => Ok(Some(at.max(1))),
            Err(_) => Err(Error::Damaged("a field that expires before 1970")),
        },
    }
}

#[inline]
fn read_pair(input: &mut Input<impl BufRead>, field: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<()> {
    field.clear();
    value.clear();
    input.string_into(field)?;
    input.string_into(value)
}

/// A hash that is one zipmap.
pub fn of_zipmap(bytes: &[u8], limits: HashLimits) -> Result<Hash> {
    of_pairs(&zipmap::pairs(bytes)?, limits)
}

/// A hash that is one ziplist.
pub fn of_ziplist(bytes: &[u8], limits: HashLimits) -> Result<Hash> {
    of_elements(&ziplist::entries(bytes)?, limits)
}

/// A hash that is one listpack.
pub fn of_listpack(bytes: &[u8], limits: HashLimits) -> Result<Hash> {
    of_elements(&listpack_elements(bytes)?, limits)
}

fn of_elements(elements: &[Element<'_>], limits: HashLimits) -> Result<Hash> {
    let mut digits = Vec::new();
    let texts = texts(elements, &mut digits);
    let (pairs, rest) = texts.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Error::Damaged("a field without a value"));
    }
    of_pairs(pairs, limits)
}

fn of_pairs(pairs: &[[&[u8]; 2]], limits: HashLimits) -> Result<Hash> {
    let field_of = |at: u32| {
        let [name, value] = pairs[at as usize];
        Field { name, value, expire_at_ms: None }
    };
    let fields = (0..pairs.len() as u32).map(|at| (at, field_of(at)));
    Hash::of_fields(fields, field_of, limits).ok_or(TWICE)
}

pub(super) fn add(
    hash: &mut Hash,
    field: &[u8],
    value: &[u8],
    expiry: FieldExpiry,
    limits: HashLimits,
) -> Result<()> {
    let is_new = hash.set(field, value, expiry, limits, NO_TIME);
    if is_new { Ok(()) } else { Err(TWICE) }
}
