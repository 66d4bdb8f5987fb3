//! The string commands.

mod edit;
mod get;
mod handlers;
mod lcs;
mod number;
pub(crate) mod options;
mod set;

pub(crate) use handlers::HANDLERS;
