//! Reading: bytes, lengths and strings; the old small encodings; values; whole files.

mod blocks;
mod file;
mod hash;
mod input;
mod intset;
mod list;
mod set;
mod skim;
mod sorted_set;
mod stream;
mod value;
mod ziplist;
mod zipmap;

pub use file::{Checks, Content, Event, FileReader, KeyRecord, RawKeys};
pub use input::{Checked, Input};
pub use value::{Loaded, Options, read_value};

use crate::error::Result;
use larder_packed::block::Element;
use larder_packed::listpack;

/// The entries of a listpack, all of its bytes checked.
fn listpack_elements(bytes: &[u8]) -> Result<Vec<Element<'_>>> {
    Ok(listpack::Reader::new(bytes)?.collect::<std::result::Result<_, _>>()?)
}
