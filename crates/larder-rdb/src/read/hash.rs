//! Hashes: every form that they were ever saved in.
//!
//! ```text
//!  HASH                                       count | ( field | value ) ..
//!  HASH_2                                     count | ( field | value | expiry i64 ) ..
//!  HASH_ZIPMAP, HASH_ZIPLIST, HASH_LISTPACK   a string that holds fields and values by turns
//! ```
//! An expiry is in ms since 1970; -1 is none.

use super::input::Input;
use super::{listpack_elements, texts, ziplist, zipmap};
use crate::error::{Error, Result};
use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
use larder_packed::block::Element;
use std::io::BufRead;

/// Expiries do not matter while a hash is built: nothing is due before time began.
const NO_TIME: u64 = 0;
const TWICE: Error = Error::Damaged("a field that is there twice");
/// The expiry of a field that has none.
const NEVER: i64 = -1;

/// Up to this many fields, of this many bytes together, are gathered before the hash is made.
const BUILD_MAX: u64 = 1 << 13;
const BUILD_BYTES_MAX: usize = 1 << 20;

/// Fields and values as strings.
pub fn strings(input: &mut Input<impl BufRead>, limits: HashLimits) -> Result<Hash> {
    let count = input.length()?;
    // Where fields and values end, by turns.
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let mut left = count;
    if count <= BUILD_MAX {
        while left > 0 && bytes.len() <= BUILD_BYTES_MAX {
            for _ in 0..2 {
                input.string_into(&mut bytes)?;
                ends.push(bytes.len());
            }
            left -= 1;
        }
    }
    let (pairs, _) = ends.as_chunks::<2>();
    let starts = std::iter::once(0).chain(pairs.iter().map(|pair| pair[1]));
    let pair = |(start, &[field, value]): (usize, &[usize; 2])| (&bytes[start..field], &bytes[field..value]);
    let pairs: Vec<_> = starts.zip(pairs).map(pair).collect();
    let mut hash = Hash::of_fields(pairs.into_iter(), limits).ok_or(TWICE)?;
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
        let expiry = match i64::from_le_bytes(input.array()?) {
            NEVER => FieldExpiry::Clear,
            at => {
                let at = u64::try_from(at).map_err(|_| Error::Damaged("a field that expires before 1970"))?;
                // At 0 it would be due even when nothing is, see `NO_TIME`.
                FieldExpiry::At(at.max(1))
            }
        };
        add(&mut hash, &field, &value, expiry, limits)?;
    }
    Ok(hash)
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
    Hash::of_fields(zipmap::pairs(bytes)?.into_iter(), limits).ok_or(TWICE)
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
    let pairs = pairs.iter().map(|&[field, value]| (field, value));
    Hash::of_fields(pairs, limits).ok_or(TWICE)
}

fn add(hash: &mut Hash, field: &[u8], value: &[u8], expiry: FieldExpiry, limits: HashLimits) -> Result<()> {
    let is_new = hash.set(field, value, expiry, limits, NO_TIME);
    if is_new { Ok(()) } else { Err(TWICE) }
}
