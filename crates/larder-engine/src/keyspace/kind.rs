//! What kinds of values there are.

use crate::error::{CommandError, CommandResult};
use larder_collections::cold::{Cold, ColdType};
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::value::Value;

/// The type of a value, as TYPE names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Hash,
    List,
    Set,
    SortedSet,
    Stream,
    String,
}

impl Kind {
    pub(crate) fn of(value: &ValueRef<'_, Value>) -> Kind {
        match value {
            ValueRef::Inline { .. } => Kind::String,
            ValueRef::Out(value) => match **value {
                Value::String(_) => Kind::String,
                Value::Hash(_) => Kind::Hash,
                Value::List(_) => Kind::List,
                Value::SortedSet(_) => Kind::SortedSet,
                Value::Set(_) => Kind::Set,
                Value::Stream(_) => Kind::Stream,
                Value::Cold(ref cold) => Kind::of_cold(cold),
            },
        }
    }

    fn of_cold(cold: &Cold) -> Kind {
        match cold.of_type() {
            ColdType::String => Kind::String,
            ColdType::Hash => Kind::Hash,
            ColdType::List => Kind::List,
            ColdType::SortedSet => Kind::SortedSet,
            ColdType::Set => Kind::Set,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Hash => "hash",
            Kind::List => "list",
            Kind::Set => "set",
            Kind::SortedSet => "zset",
            Kind::Stream => "stream",
            Kind::String => "string",
        }
    }
}

/// Bytes of the memory of an entry's value beside its record, from `samples` blocks of a big one; 0 looks at all of them.
pub(crate) fn value_bytes(entry: &Entry<'_, Value>, samples: u64) -> u64 {
    if entry.is_inline() {
        return 0;
    }
    match entry.kept() {
        ValueRef::Out(value) => value.memory_bytes(samples),
        ValueRef::Inline { .. } => 0,
    }
}

/// The length of a string value in bytes, or the error for another type. A cold one stays as it is.
pub(crate) fn string_len(entry: &Entry<'_, Value>) -> CommandResult<usize> {
    let value = entry.kept();
    match &value {
        ValueRef::Out(kept) => match &**kept {
            Value::Cold(cold) if cold.of_type() == ColdType::String => Ok(cold.raw_bytes()),
            Value::Cold(_) => Err(CommandError::WRONG_TYPE),
            _ => string_bytes(&value).map(<[u8]>::len),
        },
        ValueRef::Inline { bytes, .. } => Ok(bytes.len()),
    }
}

/// The bytes of a string value, or the error for another type.
pub(crate) fn string_bytes<'v>(value: &'v ValueRef<'_, Value>) -> CommandResult<&'v [u8]> {
    match value {
        ValueRef::Inline { bytes, .. } => Ok(bytes),
        ValueRef::Out(value) => match &**value {
            Value::String(bytes) => Ok(bytes),
            _ => Err(CommandError::WRONG_TYPE),
        },
    }
}
