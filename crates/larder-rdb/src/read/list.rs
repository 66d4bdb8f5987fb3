//! Lists: every form that they were ever saved in.
//!
//! ```text
//!  LIST               count | element ..
//!  LIST_ZIPLIST       a string that is a ziplist
//!  LIST_QUICKLIST     count | ziplist ..
//!  LIST_QUICKLIST_2   count | ( 1, element | 2, listpack ) ..
//! ```
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
    let mut element = Vec::new();
    for _ in 0..input.length()? {
        element.clear();
        input.string_into(&mut element)?;
        list.push_back(&element, options);
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
    let (mut blocks, mut room) = (Vec::new(), Vec::new());
    for _ in 0..input.length()? {
        let is_raw = match input.length()? {
            container::PLAIN => true,
            container::PACKED => false,
            _ => return Err(Error::Damaged("unknown type of a list node")),
        };
        blocks.push(if keeps_lzf {
            compressed_node(&input.stored()?, is_raw)?
        } else {
            room.clear();
            input.string_into(&mut room)?;
            node(&room, is_raw)?
        });
    }
    Ok(List::from_blocks(blocks, options))
}

/// A node that stays compressed if it is.
fn compressed_node(stored: &Stored, is_raw: bool) -> Result<Block> {
    let (payload, plain_len) = match stored {
        Stored::Lzf { payload, plain_len } => (payload, *plain_len),
        Stored::Plain(bytes) => return node(bytes, is_raw),
    };
    let (packed, _) = Block::from_lzf(LzfImage { payload, plain_len, is_raw })
        .map_err(|_| Error::Damaged("not a compressed list node"))?;
    Ok(packed)
}

fn node(bytes: &[u8], is_raw: bool) -> Result<Block> {
    if is_raw && bytes.is_empty() {
        return Err(Error::Damaged("an empty list node"));
    }
    if is_raw { Ok(block([Element::Bytes(bytes)])) } else { Ok(listpack::to_block(bytes)?) }
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
