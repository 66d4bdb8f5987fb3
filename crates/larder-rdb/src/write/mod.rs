//! Writing: lengths and strings, values, whole files.

mod blocks;
mod file;
mod hash;
mod list;
mod output;
mod set;
mod small_hash;
mod sorted_set;
mod stream;
mod value;

pub use blocks::type_of as own_type_of;
pub(crate) use blocks::{EXPIRES, NAME_MAX};
pub use file::{FileWriter, KeyHeader, KeyWriter};
pub use output::Output;
pub use small_hash::SmallHash;
pub use value::{type_of, version_for, write_value};
