//! The string commands.

mod edit;
mod get;
mod lcs;
mod number;
pub(crate) mod options;
mod set;
mod table;

pub(crate) use table::TABLE;
