//! One value.

use super::output::Output;
use super::{blocks, hash, list, set, sorted_set, stream};
use crate::format::{Version, kind};
use larder_collections::value::Value;
use std::io::{self, Write};

/// The type byte that a value is written with.
pub fn type_of(value: &Value, version: Version) -> u8 {
    match value {
        Value::String(_) => kind::STRING,
        Value::Hash(hash) => hash::type_of(hash, version),
        Value::List(_) => kind::LIST_QUICKLIST_2,
        Value::Set(set) => set::type_of(set, version),
        Value::SortedSet(set) => sorted_set::type_of(set),
        Value::Stream(_) => stream::type_of(version),
        Value::Cold(cold) => type_of(&cold.thaw(), version),
    }
}

/// The version that a value needs so that nothing of it is lost, at least `version`.
pub fn version_for(value: &Value, version: Version) -> Version {
    match value {
        Value::Hash(hash) if hash.expiring() > 0 => version.max(Version::V80),
        _ => version,
    }
}

/// Writes a value, without its type byte, as the type that [`type_of`] gave.
pub fn write_value(output: &mut Output<impl Write>, value: &Value, kind: u8) -> io::Result<()> {
    match value {
        Value::String(bytes) => output.string(bytes),
        Value::Hash(hash) if kind == kind::HASH_BLOCKS => blocks::hash(output, hash),
        Value::Hash(hash) => hash::write(output, hash, kind),
        Value::List(list) if kind == kind::LIST_BLOCKS => blocks::list(output, list),
        Value::List(list) => list::write(output, list),
        Value::Set(set) if kind == kind::SET_BLOCKS => blocks::set(output, set),
        Value::Set(set) => set::write(output, set, kind),
        Value::SortedSet(set) if kind == kind::ZSET_BLOCKS => blocks::sorted_set(output, set),
        Value::SortedSet(set) => sorted_set::write(output, set, kind),
        Value::Stream(stream) => stream::write(output, stream, kind),
        Value::Cold(cold) => write_value(output, &cold.thaw(), kind),
    }
}
