//! The commands that work on keys of any type.

pub(crate) mod dump;
mod expire;
mod handlers;
mod manage;
mod migrate;
pub(crate) mod object;
mod sort;
mod walk;

pub(crate) use expire::{Conditions, set_expiry};
pub(crate) use handlers::HANDLERS;
pub(crate) use object::encoding_name;
