//! The commands that work on keys of any type.

mod expire;
mod manage;
mod object;
mod table;
mod walk;

pub(crate) use expire::{Conditions, set_expiry};
pub(crate) use object::encoding_name;
pub(crate) use table::TABLE;
