//! Writing: lengths and strings, values, whole files.

mod file;
mod list;
mod output;
mod value;

pub use file::{FileWriter, KeyHeader};
pub use output::Output;
pub use value::{type_of, write_value};
