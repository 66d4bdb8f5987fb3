//! Collections as the blocks that they lie in: types of Larder's own, for replicas that have asked for them and for RESTORE.
//!
//! ```text
//!   LIST_BLOCKS   number of blocks, image of each
//!   ZSET_BLOCKS   number of leaves, image of each; number of members whose score is -0, each of them
//! ```
//!
//! Numbers are lengths, images and members strings without compression. The images are those of `larder_packed`. Hashes, sets
//! of strings and keyspaces have no such type: their order is that of a hash, which each server keys for itself.

use super::output::Output;
use crate::format::kind;
use larder_collections::list::List;
use larder_collections::sorted_set::SortedSet;
use larder_collections::value::Value;
use std::io::{self, Write};

/// The type byte of Larder's own, of a collection that has one.
pub fn type_of(value: &Value) -> Option<u8> {
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
