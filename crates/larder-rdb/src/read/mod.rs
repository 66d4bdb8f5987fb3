//! Reading: bytes, lengths and strings; the old small encodings; values; whole files.

mod blocks;
mod file;
mod hash;
mod input;
mod intset;
mod list;
mod packs;
mod set;
mod skim;
mod sorted_set;
mod stream;
mod value;
mod ziplist;
mod zipmap;

pub use file::{Checks, Content, Event, FileReader, KeyRecord, RawKeys, SlotImport};
pub use input::{Checked, Input};
pub use value::{Loaded, Options, read_value};

use crate::error::Result;
use larder_packed::block::Element;
use larder_packed::listpack;

/// About this many entries, of this many bytes together, are gathered before they are put into a table.
const BUILD_MAX: usize = 1 << 18;
const BUILD_BYTES_MAX: usize = 1 << 24;

/// The elements as text. `digits` takes that of the integers.
fn texts<'a>(elements: &[Element<'a>], digits: &'a mut Vec<u8>) -> Vec<&'a [u8]> {
    let mut ends = Vec::new();
    for element in elements {
        if let Element::Int(_) = element {
            element.with_bytes(|text| digits.extend_from_slice(text));
            ends.push(digits.len());
        }
    }
    let (digits, mut ends, mut start) = (&digits[..], ends.into_iter(), 0);
    let text = |element: &Element<'a>| match *element {
        Element::Bytes(bytes) => bytes,
        Element::Int(_) => {
            let end = ends.next().expect("each integer has been written");
            &digits[std::mem::replace(&mut start, end)..end]
        }
    };
    elements.iter().map(text).collect()
}

/// The entries of a listpack, all of its bytes checked.
fn listpack_elements(bytes: &[u8]) -> Result<Vec<Element<'_>>> {
    Ok(listpack::elements(bytes)?)
}
