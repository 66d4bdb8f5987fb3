//! Lists: every form that they were ever saved in.
//!
//! Blocks are taken as they are in the file once every byte of them is checked; no element is pushed again. A block
//! that was saved compressed with LZF stays so while the list is to be compressed with that.

use super::input::{Input, Stored};
use super::ziplist;
use crate::error::{Error, Result};
use crate::format::container;
use larder_collections::list::{List, ListOptions};
use larder_packed::block::{Block, Element, LzfImage, Shape};
use larder_packed::codec::Codec;
use larder_packed::listpack;
use std::io::BufRead;

/// A list of single elements, as they were saved before Redis 3.2.
pub fn elements(input: &mut Input<impl BufRead>, options: &ListOptions) -> Result<List> {
    let mut list = List::new();
    for _ in 0..input.length()? {
        list.push_back(&input.string()?, options);
    }
    Ok(list)
}

/// A list that is one ziplist.
pub fn of_ziplist(bytes: &[u8], options: &ListOptions) -> Result<List> {
    Ok(List::from_blocks([ziplist_block(bytes)?], options))
}

/// A quicklist of ziplists.
pub fn quicklist(input: &mut Input<impl BufRead>, options: &ListOptions) -> Result<List> {
    let mut blocks = Vec::new();
    for _ in 0..input.length()? {
        blocks.push(ziplist_block(&input.string()?)?);
    }
    Ok(List::from_blocks(blocks, options))
}

/// A quicklist of listpacks and plain elements.
pub fn quicklist_2(input: &mut Input<impl BufRead>, options: &ListOptions) -> Result<List> {
    let keeps_lzf = options.compress_depth > 0 && options.codec == Codec::Lzf;
    let mut blocks = Vec::new();
    for _ in 0..input.length()? {
        let is_raw = match input.length()? {
            container::PLAIN => true,
            container::PACKED => false,
            _ => return Err(Error::Damaged("unknown kind of a list's node")),
        };
        blocks.push(node(input.stored()?, is_raw, keeps_lzf)?);
    }
    Ok(List::from_blocks(blocks, options))
}

fn node(stored: Stored, is_raw: bool, keeps_lzf: bool) -> Result<Block> {
    if let Stored::Lzf { payload, plain_len } = &stored
        && keeps_lzf
    {
        let image = LzfImage { payload, plain_len: *plain_len, is_raw };
        let (packed, _) = Block::from_lzf(image).map_err(|_| Error::Damaged("not a compressed node"))?;
        return Ok(packed);
    }
    let bytes = stored.into_plain()?;
    if is_raw { Ok(block([Element::Bytes(&bytes)])) } else { Ok(listpack::to_block(&bytes)?) }
}

fn ziplist_block(bytes: &[u8]) -> Result<Block> {
    Ok(block(ziplist::entries(bytes)?))
}

fn block<'a>(elements: impl IntoIterator<Item = Element<'a>, IntoIter: Clone>) -> Block {
    let elements = elements.into_iter();
    let mut shape = Shape::default();
    elements.clone().for_each(|element| shape.add(element));
    Block::of_shape(&shape, elements)
}
