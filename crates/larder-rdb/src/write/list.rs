//! Lists: nodes of listpacks, a node for each block.

use super::output::Output;
use crate::format::container;
use larder_collections::list::List;
use larder_packed::block::{Block, Element};
use larder_packed::listpack;
use std::io::{self, Write};

/// An element longer than this gets a node of its own, not in a listpack.
const PACKED_MAX: usize = 8192;

/// Writes a list block by block. Blocks that are compressed with LZF go out as they are.
pub fn write(output: &mut Output<impl Write>, list: &List) -> io::Result<()> {
    output.length(list.node_count())?;
    list.try_for_each_block(|block| write_block(output, block))
}

fn write_block(output: &mut Output<impl Write>, block: &Block) -> io::Result<()> {
    if let Some(image) = block.lzf_image() {
        output.length(if image.is_raw { container::PLAIN } else { container::PACKED })?;
        return output.lzf(image.payload, image.plain_len);
    }
    let plain = block.to_plain();
    if let (1, Some(Element::Bytes(bytes))) = (plain.len(), plain.get(0))
        && bytes.len() > PACKED_MAX
    {
        output.length(container::PLAIN)?;
        return output.string(bytes);
    }
    output.length(container::PACKED)?;
    output.string(&listpack::from_block(&plain))
}
