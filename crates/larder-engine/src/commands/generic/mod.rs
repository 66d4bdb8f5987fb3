//! The commands that work on keys of any type.

pub(crate) mod dump;
mod expire;
mod manage;
mod migrate;
mod object;
mod sort;
mod table;
mod walk;

pub(crate) use expire::{Conditions, set_expiry};
pub(crate) use migrate::keys as migrate_keys;
pub(crate) use object::encoding_name;
pub(crate) use sort::{names_other_keys as sorts_by_other_keys, target as sort_target};
pub(crate) use table::TABLE;
