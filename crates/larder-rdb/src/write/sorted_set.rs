//! Sorted sets.

use super::output::Output;
use crate::format::kind;
use larder_collections::sorted_set::{SortedSet, SortedSetEncoding};
use larder_packed::listpack;
use std::io::{self, Write};

/// Integers up to here are exact as doubles.
const EXACT_MAX: f64 = (1_u64 << 53) as f64;

/// The type byte.
pub fn type_of(set: &SortedSet) -> u8 {
    match set.encoding() {
        SortedSetEncoding::Listpack => kind::ZSET_LISTPACK,
        SortedSetEncoding::Skiplist => kind::ZSET_2,
    }
}

/// Writes a sorted set as this type.
pub fn write(output: &mut Output<impl Write>, set: &SortedSet, kind: u8) -> io::Result<()> {
    if kind == kind::ZSET_LISTPACK {
        return output.string(&listpack_of(set));
    }
    output.length(set.len())?;
    let mut result = Ok(());
    set.for_each(|score, member| {
        if result.is_ok() {
            result = output.string(member).and_then(|()| output.raw(&score.to_le_bytes()));
        }
    });
    result
}

/// Members and scores in turn, in order of score, as Redis keeps a small sorted set.
fn listpack_of(set: &SortedSet) -> Vec<u8> {
    let room = set.memory_bytes(0) + 4 * set.len();
    let mut writer = listpack::Writer::with_capacity(room as usize);
    set.for_each(|score, member| {
        let whole = score as i64;
        if whole as f64 == score && score.abs() <= EXACT_MAX {
            writer.push_pair(member, whole);
        } else {
            writer.push_bytes(member);
            // The shortest text that reads back as the same score.
            writer.push_text(zmij::Buffer::new().format(score).as_bytes());
        }
    });
    writer.finish()
}
