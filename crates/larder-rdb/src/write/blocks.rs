//! Collections as the blocks that they lie in: types of Larder's own, for replicas that have asked for them and for RESTORE.
//!
//! ```text
//!   LIST_BLOCKS   number of blocks, image of each
//!   ZSET_BLOCKS   number of leaves, image of each; number of members whose score is -0, each of them
//!   HASH_BLOCKS   number of packs, each; number of long fields, of each when it expires (i64 in ms, -1: never), its name, its value
//!   SET_BLOCKS    number of blocks of integers, image of each; number of packs, each; number of long members, each
//!
//!   pack of a hash   | name length, or this + 0x80 u8 | value length u8 | expires at, ms u64, with 0x80 | name | value | ..
//!   pack of a set    | length u8 | member | ..
//! ```
//!
//! Numbers are lengths; images, packs, names, values and members strings without compression. The images are those of
//! `larder_packed`. Hashes and sets of strings have none: their order is that of a hash, which each server keys for itself. Their
//! entries go one after the other, in packs of a size that is read at once; what does not fit an entry is long.
//!
//! Links to replicas carry the first two only: those of an earlier version ask for them as well.

use super::output::Output;
use crate::format::kind;
use larder_collections::hash::{Hash, Peek};
use larder_collections::list::List;
use larder_collections::set::{Set, SetEncoding};
use larder_collections::sorted_set::SortedSet;
use larder_collections::value::Value;
use std::io::{self, Write};

/// The longest name of a field in a pack.
pub const NAME_MAX: usize = 127;
/// The longest value or member in a pack.
const TEXT_MAX: usize = u8::MAX as usize;
/// The mark beside a name's length: the field expires.
pub const EXPIRES: u8 = 0x80;
/// Bytes of the time when a field of a pack expires.
const EXPIRY_BYTES: usize = 8;
/// A pack of this many bytes is complete.
const PACK_BYTES: usize = 64 << 10;
/// No field is due: those whose time has come are written with it.
const NO_TIME: u64 = 0;

/// The type byte of Larder's own, of a collection that has one. Small sets have none: they are one block in any form.
pub fn type_of(value: &Value) -> Option<u8> {
    match value {
        Value::Hash(_) => Some(kind::HASH_BLOCKS),
        Value::Set(set) if set.encoding() == SetEncoding::Hashtable => Some(kind::SET_BLOCKS),
        _ => link_type_of(value),
    }
}

/// The same for what links carry.
pub fn link_type_of(value: &Value) -> Option<u8> {
    match value {
        Value::List(_) => Some(kind::LIST_BLOCKS),
        Value::SortedSet(_) => Some(kind::ZSET_BLOCKS),
        _ => None,
    }
}

/// Writes a list, block by block.
pub fn list(output: &mut Output<impl Write>, list: &List) -> io::Result<()> {
    let mut image = Vec::new();
    output.length(list.node_count())?;
    list.try_for_each_block(|block| {
        image.clear();
        block.image_into(&mut image);
        output.plain(&image)
    })
}

/// Writes a sorted set, leaf by leaf.
pub fn sorted_set(output: &mut Output<impl Write>, set: &SortedSet) -> io::Result<()> {
    output.length(set.leaf_count() as u64)?;
    set.try_for_each_image(|image| output.plain(image))?;
    output.length(set.negative_zeros().count() as u64)?;
    set.negative_zeros().try_for_each(|member| output.plain(member))
}

/// Writes a hash: first what fits packs.
pub fn hash(output: &mut Output<impl Write>, hash: &Hash) -> io::Result<()> {
    let is_long = |field: &Peek<'_>| field.name().len() > NAME_MAX || field.value_len() > TEXT_MAX;
    let size = |field: &Peek<'_>| {
        let expiry = if field.expire_at_ms().is_some() { EXPIRY_BYTES } else { 0 };
        2 + expiry + field.name().len() + field.value_len()
    };
    let entries = hash.peeks(NO_TIME).filter(|field| !is_long(field));
    packs(output, entries, size, |pack, field| {
        let mark = if field.expire_at_ms().is_some() { EXPIRES } else { 0 };
        pack.extend_from_slice(&[field.name().len() as u8 | mark, field.value_len() as u8]);
        if let Some(at) = field.expire_at_ms() {
            pack.extend_from_slice(&at.to_le_bytes());
        }
        pack.extend_from_slice(field.name());
        pack.extend_from_slice(&field.value());
    })?;
    let long = || hash.peeks(NO_TIME).filter(is_long);
    output.length(long().count() as u64)?;
    long().try_for_each(|field| {
        output.raw(&field.expire_at_ms().map_or(-1, |at| at as i64).to_le_bytes())?;
        output.plain(field.name())?;
        output.plain(&field.value())
    })
}

/// Writes a set: its integers block by block, and then as a hash.
pub fn set(output: &mut Output<impl Write>, set: &Set) -> io::Result<()> {
    let blocks = || set.int_blocks().into_iter().flatten().filter(|block| !block.is_empty());
    let mut image = Vec::new();
    output.length(blocks().count() as u64)?;
    for block in blocks() {
        image.clear();
        block.image_into(&mut image);
        output.plain(&image)?;
    }
    let short = set.strings_only().filter(|member| member.bytes().len() <= TEXT_MAX);
    packs(
        output,
        short,
        |member| 1 + member.bytes().len(),
        |pack, member| {
            pack.push(member.bytes().len() as u8);
            pack.extend_from_slice(member.bytes());
        },
    )?;
    let long = || set.strings_only().filter(|member| member.bytes().len() > TEXT_MAX);
    output.length(long().count() as u64)?;
    long().try_for_each(|member| output.plain(member.bytes()))
}

/// Writes entries as packs, and how many these are before them. `write` appends an entry of `size` bytes to a pack.
fn packs<T>(
    output: &mut Output<impl Write>,
    entries: impl Iterator<Item = T> + Clone,
    size: impl Fn(&T) -> usize,
    write: impl Fn(&mut Vec<u8>, T),
) -> io::Result<()> {
    // Entries are seen twice, so that no more than one pack is held beside the output.
    let (mut count, mut bytes) = (0, 0);
    for entry in entries.clone() {
        bytes += size(&entry);
        if bytes >= PACK_BYTES {
            (count, bytes) = (count + 1, 0);
        }
    }
    output.length(count + u64::from(bytes > 0))?;
    let mut pack = Vec::new();
    for entry in entries {
        write(&mut pack, entry);
        if pack.len() >= PACK_BYTES {
            output.plain(&pack)?;
            pack.clear();
        }
    }
    if pack.is_empty() { Ok(()) } else { output.plain(&pack) }
}
