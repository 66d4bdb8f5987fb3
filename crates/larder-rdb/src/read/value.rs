//! One value, by its type byte.

use super::input::Input;
use super::{blocks, hash, list, set, sorted_set, stream};
use crate::error::{Error, Result};
use crate::format::kind;
use larder_collections::hash::{Hash, HashLimits};
use larder_collections::list::{List, ListOptions};
use larder_collections::set::{Set, SetLimits};
use larder_collections::sorted_set::{Limits, SortedSet};
use larder_collections::value::Value;
use std::io::BufRead;

/// A value that was read.
#[derive(Clone)]
pub enum Loaded {
    /// A string: the caller decides how it is kept.
    String(Vec<u8>),
    /// A collection with at least one element.
    Value(Value),
}

/// What the configuration says about the values to build.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Of hashes.
    pub hash: HashLimits,
    /// Of lists.
    pub list: ListOptions,
    /// Of sets.
    pub set: SetLimits,
    /// Of sorted sets.
    pub sorted_set: Limits,
    /// Whether types of Larder's own are read: not those of a big-endian machine.
    pub blocks: bool,
}

/// Reads the value of a type; None for a collection without elements, which a key cannot hold.
pub fn read_value(input: &mut Input<impl BufRead>, kind: u8, options: &Options) -> Result<Option<Loaded>> {
    let value = match kind {
        kind::LIST_BLOCKS if options.blocks => {
            let list = blocks::list(input, &options.list)?;
            (!list.is_empty()).then_some(Value::List(list))
        }
        kind::ZSET_BLOCKS if options.blocks => {
            Some(Value::SortedSet(blocks::sorted_set(input, &options.sorted_set)?))
        }
        kind::HASH_BLOCKS if options.blocks => {
            let hash = blocks::hash(input, options.hash)?;
            (!hash.is_empty()).then_some(Value::Hash(hash))
        }
        kind::SET_BLOCKS if options.blocks => {
            let set = blocks::set(input, &options.set)?;
            (!set.is_empty()).then_some(Value::Set(set))
        }
        kind::STRING => return Ok(Some(Loaded::String(input.string()?))),
        kind::LIST | kind::LIST_ZIPLIST | kind::LIST_QUICKLIST | kind::LIST_QUICKLIST_2 => {
            let list = read_list(input, kind, &options.list)?;
            (!list.is_empty()).then_some(Value::List(list))
        }
        kind::SET | kind::SET_INTSET | kind::SET_LISTPACK => {
            let set = read_set(input, kind, &options.set)?;
            (!set.is_empty()).then_some(Value::Set(set))
        }
        kind::ZSET | kind::ZSET_2 | kind::ZSET_ZIPLIST | kind::ZSET_LISTPACK => {
            let set = read_sorted_set(input, kind, &options.sorted_set)?;
            (!set.is_empty()).then_some(Value::SortedSet(set))
        }
        kind::HASH | kind::HASH_ZIPMAP | kind::HASH_ZIPLIST | kind::HASH_LISTPACK | kind::HASH_2 => {
            let hash = read_hash(input, kind, options.hash)?;
            (!hash.is_empty()).then_some(Value::Hash(hash))
        }
        // A stream may be empty.
        kind::STREAM | kind::STREAM_2 | kind::STREAM_3 => Some(Value::Stream(stream::read(input, kind)?)),
        kind::MODULE | kind::MODULE_2 => return Err(Error::Module(module_name(input.length()?))),
        _ => return Err(Error::UnknownType(kind)),
    };
    Ok(value.map(Loaded::Value))
}

fn read_list(input: &mut Input<impl BufRead>, kind: u8, options: &ListOptions) -> Result<List> {
    match kind {
        kind::LIST => list::elements(input, options),
        kind::LIST_ZIPLIST => list::of_ziplist(&input.string()?, options),
        kind::LIST_QUICKLIST => list::quicklist(input, options),
        _ => list::quicklist_2(input, options),
    }
}

fn read_set(input: &mut Input<impl BufRead>, kind: u8, limits: &SetLimits) -> Result<Set> {
    match kind {
        kind::SET => set::strings(input, limits),
        kind::SET_INTSET => set::of_intset(&input.string()?, limits),
        _ => set::of_listpack(&input.string()?, limits),
    }
}

fn read_sorted_set(input: &mut Input<impl BufRead>, kind: u8, limits: &Limits) -> Result<SortedSet> {
    match kind {
        kind::ZSET => sorted_set::text_scores(input, limits),
        kind::ZSET_2 => sorted_set::binary_scores(input, limits),
        kind::ZSET_ZIPLIST => sorted_set::of_ziplist(&input.string()?, limits),
        _ => sorted_set::of_listpack(&input.string()?, limits),
    }
}

fn read_hash(input: &mut Input<impl BufRead>, kind: u8, limits: HashLimits) -> Result<Hash> {
    match kind {
        kind::HASH => hash::strings(input, limits),
        kind::HASH_2 => hash::with_expiries(input, limits),
        kind::HASH_ZIPMAP => hash::of_zipmap(&input.string()?, limits),
        kind::HASH_ZIPLIST => hash::of_ziplist(&input.string()?, limits),
        _ => hash::of_listpack(&input.string()?, limits),
    }
}

/// The name in a module's identifier: nine characters of six bits, above ten bits of version.
pub(super) fn module_name(id: u64) -> String {
    const CHARS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..9).map(|i| char::from(CHARS[(id >> (58 - 6 * i)) as usize & 63])).collect()
}
