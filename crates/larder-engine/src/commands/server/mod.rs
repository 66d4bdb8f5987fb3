//! The server commands that change or stop it.

mod handlers;
mod keyspace;
mod misc;
mod module;

pub(crate) use handlers::HANDLERS;
pub(crate) use module::write_modules;
