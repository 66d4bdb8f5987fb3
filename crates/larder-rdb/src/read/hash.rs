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
pub(super) const TWICE: Error = Error::Damaged("a duplicate field");
/// The expiry of a field that has none.
const NEVER: i64 = -1;

/// Fields and values as strings.
pub fn strings(input: &mut Input<impl BufRead>, limits: HashLimits) -> Result<Hash> {
    fields(input, limits, |_| Ok(None))
}

/// Fields, values and expiries.
pub fn with_expiries(input: &mut Input<impl BufRead>, limits: HashLimits) -> Result<Hash> {
    fields(input, limits, expiry)
}

/// Fields and values, after each of which `expiry` reads when it expires: most of them are gathered before the hash is made.
fn fields<R: BufRead>(
    input: &mut Input<R>,
    limits: HashLimits,
    expiry: impl Fn(&mut Input<R>) -> Result<Option<u64>>,
) -> Result<Hash> {
    let count = input.length()?;
    // The pairs one after the other, where their parts end, by turns, and when they expire.
    let (mut bytes, mut ends, mut times) = (Vec::new(), vec![0_u32], Vec::new());
    let mut gathered = 0;
    while gathered < count && gathered < BUILD_MAX as u64 && bytes.len() <= BUILD_BYTES_MAX {
        for _ in 0..2 {
            input.string_into(&mut bytes)?;
            // A few strings of a gigabyte at most.
            ends.push(bytes.len() as u32);
        }
        if let Some(at) = expiry(input)? {
            times.resize(gathered as usize, None);
            times.push(Some(at));
        }
        gathered += 1;
    }
    let field_of = |at: u32| {
        let &[start, middle, end] = ends[2 * at as usize..].first_chunk().expect("a field has two parts");
        let (name, value) = (start as usize..middle as usize, middle as usize..end as usize);
        let expire_at_ms = times.get(at as usize).copied().flatten();
        Field { name: &bytes[name], value: &bytes[value], expire_at_ms }
    };
    let fields = (0..gathered as u32).map(|at| (at, field_of(at)));
    let mut hash = Hash::of_fields(fields, field_of, limits).ok_or(TWICE)?;
    let (mut name, mut value) = (Vec::new(), Vec::new());
    for _ in gathered..count {
        name.clear();
        value.clear();
        input.string_into(&mut name)?;
        input.string_into(&mut value)?;
        let expire_at_ms = expiry(input)?;
        add(&mut hash, Field { name: &name, value: &value, expire_at_ms }, limits)?;
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

/// Adds a field that is not there yet.
pub(super) fn add(hash: &mut Hash, field: Field<'_>, limits: HashLimits) -> Result<()> {
    let expiry = field.expire_at_ms.map_or(FieldExpiry::Clear, FieldExpiry::At);
    let is_new = hash.set(field.name, field.value, expiry, limits, NO_TIME);
    if is_new { Ok(()) } else { Err(TWICE) }
}
