//! The server commands that change or stop it.

mod keyspace;
mod misc;
mod module;
mod table;

pub(crate) use module::write_modules;
pub(crate) use table::TABLE;
