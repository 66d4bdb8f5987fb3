//! Sets.

use super::output::Output;
use crate::format::{Version, kind};
use larder_collections::set::{Set, SetEncoding};
use larder_packed::block::Element;
use larder_packed::listpack;
use std::io::{self, Write};

/// The type byte. Version 10 knows no listpacks of members.
pub fn type_of(set: &Set, version: Version) -> u8 {
    match set.encoding() {
        SetEncoding::Intset => kind::SET_INTSET,
        SetEncoding::Listpack if version >= Version::V11 => kind::SET_LISTPACK,
        SetEncoding::Hashtable | SetEncoding::Listpack => kind::SET,
    }
}

/// Writes a set as this type.
pub fn write(output: &mut Output<impl Write>, set: &Set, kind: u8) -> io::Result<()> {
    match kind {
        kind::SET_INTSET => output.string(&intset(set)),
        kind::SET_LISTPACK => {
            let room = set.memory_bytes(0) + 2 * set.len();
            let mut writer = listpack::Writer::with_capacity(room as usize);
            set.looks().for_each(|member| writer.push(member.element()));
            output.string(&writer.finish())
        }
        _ => {
            output.length(set.len())?;
            set.looks().try_for_each(|member| match member.element() {
                Element::Bytes(bytes) => output.string(bytes),
                Element::Int(number) => output.integer(number),
            })
        }
    }
}

/// The integers of a set as an intset, at the least width that holds all of them.
fn intset(set: &Set) -> Vec<u8> {
    let integers: Vec<i64> = set.iter().filter_map(Element::as_int).collect();
    let fits = |width: u32| integers.iter().all(|&x| x >> (width * 8 - 1) == x >> 63);
    let width = [2, 4].into_iter().find(|&width| fits(width)).unwrap_or(8);
    let mut bytes = width.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(integers.len() as u32).to_le_bytes());
    integers.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()[..width as usize]));
    bytes
}
