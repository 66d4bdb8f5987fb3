//! Commands as data: what the table says of each, and which keys its arguments name.

pub(crate) mod categories;
pub(crate) mod key_finders;
pub(crate) mod keys;
pub(crate) mod lookup_cache;
pub(crate) mod names;
pub(crate) mod redaction;
pub mod spec;
pub mod table;
mod tables;
