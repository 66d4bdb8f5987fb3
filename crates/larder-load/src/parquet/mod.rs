//! Parquet: rows out of columns. The crate `parquet` decodes levels and values; what it is given of a file, and what becomes of values, is
//! here. (Its own reader of pages takes memory for whatever their heads say, and its rows, as it says itself, do not have all repeated
//! fields.) All of it is compiled with the feature `parquet` only.
//!
//! ```text
//!  file --source--> footer --> columns: nested shapes over columns of values
//!          |                                              |
//!          '--> pages: heads, unpacked and checked --> batches of levels and values --> rows, a group of rows after the other
//! ```
//!
//! Of each column that is read, one page, its dictionary, and the values of a thousand rows are in memory. A file is believed only as far as
//! its bytes go: `pages` says what is checked before anything is decoded.

#[cfg(feature = "parquet")]
mod codec;
#[cfg(feature = "parquet")]
mod column;
#[cfg(feature = "parquet")]
mod delta;
#[cfg(feature = "parquet")]
mod footer;
#[cfg(feature = "parquet")]
mod guard;
#[cfg(feature = "parquet")]
mod head;
#[cfg(feature = "parquet")]
mod kind;
#[cfg(feature = "parquet")]
mod nested;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod shape;
#[cfg(feature = "parquet")]
mod source;
#[cfg(feature = "parquet")]
mod thrift;

use crate::error::{Error, Result};
use crate::mapping::Mapping;
use crate::reader::Line;
use indicatif::ProgressBar;
use std::path::Path;

/// Whether this program reads Parquet.
pub const IS_BUILT: bool = cfg!(feature = "parquet");

/// The error of a program that does not.
pub fn not_built() -> Error {
    let how = "cargo build --release -p larder-load --features parquet";
    Error::Usage(format!(
        "this larder-load was built without support for Parquet; to build one with it: {how}"
    ))
}

/// Reads all rows of a file; `each` gets the number of a row, from 1, and what it is. What is read moves the bar.
///
/// # Errors
/// The file is none, is damaged, or lacks a column of the mapping; `each` fails; or this program is built without Parquet.
pub fn read(
    path: &Path,
    mapping: &Mapping,
    bar: &ProgressBar,
    each: &mut dyn FnMut(u64, Line<'_>) -> Result<()>,
) -> Result<()> {
    #[cfg(feature = "parquet")]
    return rows::Table::open(path, mapping, bar)?.rows(each);
    #[cfg(not(feature = "parquet"))]
    {
        let _ = (path, mapping, bar, each);
        Err(not_built())
    }
}

/// Reads what says whether a file is one and has the columns of the mapping, or with `is_whole` all of it.
///
/// # Errors
/// Those of [`read`].
pub fn verify(path: &Path, mapping: &Mapping, is_whole: bool) -> Result<()> {
    #[cfg(feature = "parquet")]
    {
        let table = rows::Table::open(path, mapping, &ProgressBar::hidden())?;
        if is_whole { table.rows(&mut |_, _| Ok(())) } else { Ok(()) }
    }
    #[cfg(not(feature = "parquet"))]
    {
        let _ = (path, mapping, is_whole);
        Err(not_built())
    }
}
