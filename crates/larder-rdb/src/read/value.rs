//! One value, by its type byte.

use super::input::Input;
use super::list;
use crate::error::{Error, Result};
use crate::format::kind;
use larder_collections::list::ListOptions;
use larder_collections::value::Value;
use std::io::BufRead;

/// A value that was read.
#[derive(Clone)]
pub enum Loaded {
    /// A string: whoever keeps it decides how.
    String(Vec<u8>),
    /// A collection with at least one element.
    Value(Value),
}

/// What the configuration says about the values to build.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Of lists.
    pub list: ListOptions,
}

/// Reads the value of a type; None for a collection without elements, which a key cannot hold.
pub fn read_value(input: &mut Input<impl BufRead>, kind: u8, options: &Options) -> Result<Option<Loaded>> {
    let list = match kind {
        kind::STRING => return Ok(Some(Loaded::String(input.string()?))),
        kind::LIST => list::elements(input, &options.list)?,
        kind::LIST_ZIPLIST => list::of_ziplist(&input.string()?, &options.list)?,
        kind::LIST_QUICKLIST => list::quicklist(input, &options.list)?,
        kind::LIST_QUICKLIST_2 => list::quicklist_2(input, &options.list)?,
        kind::MODULE | kind::MODULE_2 => return Err(Error::Module(module_name(input.length()?))),
        _ => return Err(Error::UnknownType(kind)),
    };
    Ok((!list.is_empty()).then_some(Loaded::Value(Value::List(list))))
}

/// The name in a module's identifier: nine characters of six bits, above ten bits of version.
pub(super) fn module_name(id: u64) -> String {
    const CHARS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..9).map(|i| char::from(CHARS[(id >> (58 - 6 * i)) as usize & 63])).collect()
}
