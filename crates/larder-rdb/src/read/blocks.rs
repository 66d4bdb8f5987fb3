//! Collections as the blocks that they lie in: `write/blocks.rs` has the layout. Nothing in them is taken on
//! trust.

use super::input::Input;
use crate::error::{Error, Result};
use larder_collections::list::{List, ListOptions};
use larder_collections::sorted_set::{ImageReader, Limits, SortedSet};
use larder_packed::block::Block;
use larder_packed::codec::Damaged;
use std::io::BufRead;

/// A list of images.
pub fn list(input: &mut Input<impl BufRead>, options: &ListOptions) -> Result<List> {
    let (mut blocks, mut image) = (Vec::new(), Vec::new());
    for _ in 0..input.length()? {
        image.clear();
        input.string_into(&mut image)?;
        let block = Block::from_image(&image)?;
        blocks.push(if options.compress_depth == 0 { block.to_plain() } else { block });
    }
    Ok(List::from_blocks(blocks, options))
}

/// A sorted set of images.
pub fn sorted_set(input: &mut Input<impl BufRead>, limits: &Limits) -> Result<SortedSet> {
    let (mut reader, mut image) = (ImageReader::new(), Vec::new());
    for _ in 0..input.length()? {
        image.clear();
        input.string_into(&mut image)?;
        reader.push(&image)?;
    }
    let mut zeros = Vec::new();
    for _ in 0..input.length()? {
        zeros.push(input.string()?);
    }
    Ok(reader.finish(limits, &zeros)?)
}

impl From<Damaged> for Error {
    fn from(_: Damaged) -> Self {
        Error::Damaged("a block that does not agree with itself")
    }
}
