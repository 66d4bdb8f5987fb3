//! Reading: bytes, lengths and strings; the old small encodings; values; whole files.

mod file;
mod input;
#[allow(dead_code, reason = "sets are not read yet")]
mod intset;
mod list;
mod value;
mod ziplist;
#[allow(dead_code, reason = "hashes are not read yet")]
mod zipmap;

pub use file::{Event, FileReader, KeyRecord};
pub use input::{Checked, Input};
pub use value::{Loaded, Options, read_value};
