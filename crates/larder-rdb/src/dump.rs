//! DUMP payloads: one value, and a footer that says which version wrote it and that it is whole.
//!
//! ```text
//!  type u8 | value | version u16 | checksum of all before u64                       both little endian
//! ```
//!
//! A payload may be of a type of Larder's own ([`of_blocks`]): then the value is the blocks that a collection lies in, and its type byte
//! is the mark. Other servers refuse it.

use crate::Crc64;
use crate::error::{Error, Result};
use crate::format::{BLOCKS_TRAVEL, Version, is_known, kind, opcode};
pub use crate::read::Checks;
use crate::read::{Content, Input, Loaded, Options, read_value};
use crate::write::{Output, own_type_of, type_of, version_for, write_value};
use larder_collections::value::Value;

const FOOTER_BYTES: usize = 10;
/// Payloads of small values have less than this: they need not grow while they are written.
const SMALL_BYTES: usize = 4000;

/// The payload of a string.
pub fn of_string(bytes: &[u8], version: Version, compress: bool) -> Vec<u8> {
    payload(kind::STRING, version, compress, |output| output.string(bytes))
}

/// The payload of any value, of a newer version where it would lose something.
pub fn of_value(value: &Value, version: Version, compress: bool) -> Vec<u8> {
    let version = version_for(value, version);
    let kind = type_of(value, version);
    payload(kind, version, compress, |output| write_value(output, value, kind))
}

/// The payload of a value as the blocks that it lies in, which only Larder restores: without a search or an insert for each
/// element. None for a type that has no such form, and on machines whose blocks do not travel.
pub fn of_blocks(value: &Value) -> Option<Vec<u8>> {
    let kind = own_type_of(value).filter(|_| BLOCKS_TRAVEL)?;
    Some(payload(kind, Version::default(), false, |output| write_value(output, value, kind)))
}

/// Whether a payload is of a type of Larder's own.
pub fn is_own(payload: &[u8]) -> bool {
    payload.first().is_some_and(|kind| matches!(*kind, kind::LIST_BLOCKS..=kind::SET_BLOCKS))
}

/// The payload of libraries of functions, by their texts: FUNCTION DUMP.
pub fn of_functions<'a>(
    texts: impl IntoIterator<Item = &'a [u8]>,
    version: Version,
    compress: bool,
) -> Vec<u8> {
    let mut output = Output::new(Vec::new(), compress);
    for text in texts {
        output
            .raw(&[opcode::FUNCTION_2])
            .and_then(|()| output.string(text))
            .expect("a vector takes everything");
    }
    with_footer(output.into_inner(), version)
}

/// Why a payload of libraries cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLibrary {
    /// The text of a library is cut, or not what its encoding promises.
    Damaged,
    /// Something else is there.
    Other,
    /// A library as release candidates of Redis 7 wrote them.
    Unreleased,
}

/// The texts in a payload of libraries whose footer is right, one after the other up to the first that cannot be read.
pub fn libraries(payload: &[u8]) -> impl Iterator<Item = std::result::Result<Vec<u8>, NoLibrary>> {
    let mut rest = &payload[..payload.len().saturating_sub(FOOTER_BYTES)];
    std::iter::from_fn(move || {
        // Nothing is left once something cannot be read.
        let (&mark, mut after) = std::mem::take(&mut rest).split_first()?;
        Some(match mark {
            opcode::FUNCTION_2 => {
                let text = Input::new(&mut after).string();
                text.inspect(|_| rest = after).map_err(|_| NoLibrary::Damaged)
            }
            opcode::FUNCTION_PRE_GA => Err(NoLibrary::Unreleased),
            _ => Err(NoLibrary::Other),
        })
    })
}

/// Whether the footer of a payload of libraries is right; there may be none of them.
pub fn verify_functions(payload: &[u8]) -> bool {
    verify_footer(payload, Checks::ALL).is_some()
}

/// Whether the footer is right as far as it is checked: a version that is known, and the checksum of the bytes.
pub fn verify(payload: &[u8], checks: Checks) -> bool {
    verify_footer(payload, checks).is_some_and(|body| !body.is_empty())
}

/// What is before the footer, if that is right.
fn verify_footer(payload: &[u8], checks: Checks) -> Option<&[u8]> {
    let (rest, checksum) = payload.split_last_chunk::<8>()?;
    let (body, version) = rest.split_last_chunk::<2>()?;
    let checksum = u64::from_le_bytes(*checksum);
    let is_known = !checks.version || is_known(u32::from(u16::from_le_bytes(*version)));
    let is_right = is_known && (!checks.sum || checksum == Crc64::of(rest));
    is_right.then_some(body)
}

/// The value of a payload whose footer is right; None for a collection without elements.
pub fn restore(payload: &[u8], options: &Options) -> Result<Option<Loaded>> {
    let body = payload.split_at_checked(payload.len().wrapping_sub(FOOTER_BYTES)).map(|(body, _)| body);
    let (&kind, value) = body.and_then(<[u8]>::split_first).ok_or(Error::Damaged("no payload"))?;
    let mut rest = value;
    let loaded = read_value(&mut Input::new(&mut rest), kind, options)?;
    if rest.is_empty() { Ok(loaded) } else { Err(Error::Damaged("extra bytes after the value")) }
}

/// As [`restore`]; a string is shown where it lies in the payload, if it is stored as it is, or else in `room`.
pub fn restore_in<'a>(
    payload: &'a [u8],
    options: &Options,
    room: &'a mut Vec<u8>,
) -> Result<Option<Content<'a>>> {
    if payload.first() != Some(&kind::STRING) {
        let value_of = |loaded| match loaded {
            Loaded::String(_) => unreachable!("its type is another"),
            Loaded::Value(value) => Content::Value(value),
        };
        return restore(payload, options).map(|loaded| loaded.map(value_of));
    }
    let body = payload.len().checked_sub(FOOTER_BYTES).and_then(|len| payload.get(1..len));
    let mut input = Input::new(body.ok_or(Error::Damaged("no payload"))?);
    let string = input.string_in(room)?;
    if input.into_inner().is_empty() {
        Ok(Some(Content::String(string)))
    } else {
        Err(Error::Damaged("extra bytes after the value"))
    }
}

fn payload(
    kind: u8,
    version: Version,
    compress: bool,
    write: impl FnOnce(&mut Output<Vec<u8>>) -> std::io::Result<()>,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SMALL_BYTES);
    bytes.push(kind);
    let mut output = Output::new(bytes, compress);
    write(&mut output).expect("a vector takes everything");
    with_footer(output.into_inner(), version)
}

fn with_footer(mut bytes: Vec<u8>, version: Version) -> Vec<u8> {
    bytes.extend_from_slice(&version.number().to_le_bytes());
    bytes.extend_from_slice(&Crc64::of(&bytes).to_le_bytes());
    bytes
}
