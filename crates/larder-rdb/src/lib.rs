//! RDB files and DUMP payloads, both ways, as streams.
//!
//! An RDB file is a header, a sequence of opcodes and typed values, and a checksum; a DUMP payload is one value with a
//! footer of its own. [`read`] takes every encoding of a value that Redis up to 7.2 and Valkey up to 9 ever
//! wrote, but for those of modules; [`mod@write`] writes the versions that [`Version`] lists, and two types
//! of Larder's own. Both work on `BufRead` and `Write` and know nothing of files.
//!
//! Everything that comes in is taken for hostile: each length is checked against the bytes that follow, and memory grows
//! only as they arrive.

#![forbid(unsafe_code)]

mod crc64;
pub mod dump;
mod error;
mod format;
pub mod read;
pub mod write;

pub use crc64::Crc64;
pub use error::{Error, Result};
pub use format::{BLOCKS_TRAVEL, Version, is_known};
