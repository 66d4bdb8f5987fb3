//! Collections as the blocks that they lie in: `write/blocks.rs` has the layout. Nothing in them is taken on
//! trust.

use super::input::Input;
use super::packs::{Fields, Members, Packs};
use super::{hash, set};
use crate::error::{Error, Result};
use larder_collections::hash::{Field, Hash, HashLimits};
use larder_collections::int_set::BlockReader;
use larder_collections::list::{List, ListOptions};
use larder_collections::set::{Set, SetLimits};
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

/// A hash of packs and of long fields.
pub fn hash(input: &mut Input<impl BufRead>, limits: HashLimits) -> Result<Hash> {
    let mut left = input.length()?;
    let mut hash = if left == 1 {
        // As most hashes are: nothing is copied but into the hash.
        let mut hash = None;
        input.with_string(|pack| {
            hash = Some(of_packs(&Packs::of(pack)?, limits)?);
            Ok(())
        })?;
        left = 0;
        hash.unwrap_or_default()
    } else {
        of_packs(&Packs::<Vec<u8>, Fields>::read(input, &mut left)?, limits)?
    };
    while left > 0 {
        let next = Packs::<Vec<u8>, Fields>::read(input, &mut left)?;
        next.iter().try_for_each(|(_, field)| hash::add(&mut hash, field, limits))?;
    }
    let mut name = Vec::new();
    for _ in 0..input.length()? {
        let expire_at_ms = hash::expiry(input)?;
        name.clear();
        input.string_into(&mut name)?;
        // The value, which may be big, is copied once: into the hash.
        input
            .with_string(|value| hash::add(&mut hash, Field { name: &name, value, expire_at_ms }, limits))?;
    }
    Ok(hash)
}

/// The hash of the fields in packs.
fn of_packs(packs: &Packs<impl AsRef<[u8]>, Fields>, limits: HashLimits) -> Result<Hash> {
    Hash::of_fields(packs.iter(), |number| packs.get(number), limits).ok_or(hash::TWICE)
}

/// A set of images, packs, and long members.
pub fn set(input: &mut Input<impl BufRead>, limits: &SetLimits) -> Result<Set> {
    let (mut ints, mut image) = (BlockReader::new(), Vec::new());
    for _ in 0..input.length()? {
        image.clear();
        input.string_into(&mut image)?;
        ints.push(&image)?;
    }
    let mut left = input.length()?;
    let first = Packs::<Vec<u8>, Members>::read(input, &mut left)?;
    let set = Set::of_packed(ints.finish(), first.iter(), |number| first.get(number), limits);
    let mut set = set.ok_or(set::TWICE)?;
    drop(first);
    let mut add = |member: &[u8]| if set.insert(member, limits) { Ok(()) } else { Err(set::TWICE) };
    while left > 0 {
        let next = Packs::<Vec<u8>, Members>::read(input, &mut left)?;
        next.iter().try_for_each(|(_, member)| add(member))?;
    }
    for _ in 0..input.length()? {
        input.with_string(&mut add)?;
    }
    Ok(set)
}

impl From<Damaged> for Error {
    fn from(_: Damaged) -> Self {
        Error::Damaged("an inconsistent block")
    }
}
