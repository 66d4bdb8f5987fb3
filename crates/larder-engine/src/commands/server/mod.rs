//! The server commands that change or stop it.

mod keyspace;
mod misc;
mod table;

pub(crate) use table::TABLE;
