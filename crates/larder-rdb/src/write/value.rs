//! One value.

use super::list;
use super::output::Output;
use crate::format::kind;
use larder_collections::value::Value;
use std::io::{self, Write};

/// The type byte that a value is written with.
pub fn type_of(value: &Value) -> u8 {
    match value {
        Value::String(_) => kind::STRING,
        Value::List(_) => kind::LIST_QUICKLIST_2,
    }
}

/// Writes a value without its type byte.
pub fn write_value(output: &mut Output<impl Write>, value: &Value) -> io::Result<()> {
    match value {
        Value::String(bytes) => output.string(bytes),
        Value::List(list) => list::write(output, list),
    }
}
