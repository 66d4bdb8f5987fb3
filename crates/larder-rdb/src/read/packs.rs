//! Packs of entries, one after the other: `write/blocks.rs` has the layout.

use super::input::Input;
use super::{BUILD_BYTES_MAX, BUILD_MAX};
use crate::error::{Error, Result};
use crate::write::{EXPIRES, NAME_MAX};
use larder_collections::hash::Field;
use std::io::BufRead;
use std::iter;
use std::marker::PhantomData;

/// A pack is not longer: what is kept for each of its entries is bounded by that.
const PACK_BYTES_MAX: usize = 128 << 10;

/// What packs are made of.
pub trait Packed {
    /// An entry, where it lies.
    type Entry<'a>;

    /// The entry at the start of some bytes, and how many of them it takes; None if they are not one.
    fn first(bytes: &[u8]) -> Option<(Self::Entry<'_>, usize)>;
}

/// Fields of a hash that are not long.
pub struct Fields;

/// Members of a set that are not long.
pub struct Members;

impl Packed for Fields {
    type Entry<'a> = Field<'a>;

    #[inline]
    fn first(bytes: &[u8]) -> Option<(Field<'_>, usize)> {
        let [mark, value_len, rest @ ..] = bytes else { return None };
        let (expire_at_ms, rest) = match mark & EXPIRES {
            0 => (None, rest),
            _ => {
                let (at, rest) = rest.split_first_chunk()?;
                // At 0 it would be due even when nothing is.
                (Some(u64::from_le_bytes(*at).max(1)), rest)
            }
        };
        let (name, rest) = rest.split_at_checked(usize::from(*mark) & NAME_MAX)?;
        let (value, rest) = rest.split_at_checked(usize::from(*value_len))?;
        Some((Field { name, value, expire_at_ms }, bytes.len() - rest.len()))
    }
}

impl Packed for Members {
    type Entry<'a> = &'a [u8];

    #[inline]
    fn first(bytes: &[u8]) -> Option<(&[u8], usize)> {
        let (&len, rest) = bytes.split_first()?;
        let len = usize::from(len);
        Some((rest.get(..len)?, 1 + len))
    }
}

/// The entries of some packs, which are known to be whole.
pub struct Packs<B, P> {
    bytes: B,
    kind: PhantomData<P>,
}

impl<P: Packed> Packs<Vec<u8>, P> {
    /// Reads the next of `left` packs, as many as are put into a table at once.
    pub fn read(input: &mut Input<impl BufRead>, left: &mut u64) -> Result<Self> {
        let (mut bytes, mut count) = (Vec::new(), 0);
        while *left > 0 && count < BUILD_MAX && bytes.len() < BUILD_BYTES_MAX {
            let at = bytes.len();
            input.string_into(&mut bytes)?;
            count += entries_of::<P>(&bytes[at..])?;
            *left -= 1;
        }
        Ok(Packs { bytes, kind: PhantomData })
    }
}

impl<'b, P: Packed> Packs<&'b [u8], P> {
    /// One pack, where it lies.
    pub fn of(bytes: &'b [u8]) -> Result<Self> {
        entries_of::<P>(bytes)?;
        Ok(Packs { bytes, kind: PhantomData })
    }
}

/// How many entries a pack has, of which each is whole.
fn entries_of<P: Packed>(pack: &[u8]) -> Result<usize> {
    if pack.len() > PACK_BYTES_MAX {
        return Err(Error::Damaged("a listpack that is too long"));
    }
    let (mut at, mut count) = (0, 0);
    while at < pack.len() {
        let (_, len) = P::first(&pack[at..]).ok_or(Error::Damaged("a truncated listpack"))?;
        at += len;
        count += 1;
    }
    Ok(count)
}

impl<B: AsRef<[u8]>, P: Packed> Packs<B, P> {
    /// The entries with the numbers by which [`get`](Self::get) gives them again.
    pub fn iter(&self) -> impl Iterator<Item = (u32, P::Entry<'_>)> + Clone {
        let (bytes, mut at) = (self.bytes.as_ref(), 0);
        iter::from_fn(move || {
            let (entry, len) = P::first(&bytes[at..])?;
            let number = at as u32;
            at += len;
            Some((number, entry))
        })
    }

    /// The entry of a number.
    #[inline]
    pub fn get(&self, number: u32) -> P::Entry<'_> {
        P::first(&self.bytes.as_ref()[number as usize..]).expect("it has given the number").0
    }
}
