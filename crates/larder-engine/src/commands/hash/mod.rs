//! The hash commands.

mod expire;
mod expiry_options;
mod number;
mod read;
mod set;
mod table;

pub(crate) use table::TABLE;
