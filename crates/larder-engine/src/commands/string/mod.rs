//! The string commands.

mod edit;
mod get;
mod lcs;
pub(crate) mod long_double;
mod number;
mod options;
mod set;
mod table;

pub(crate) use table::TABLE;
