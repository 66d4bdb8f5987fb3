//! The connection commands.

mod client;
mod hello;
mod kill;
mod pause;
mod table;
mod tracking;

pub(crate) use client::{describe, describe_for_log};
pub(crate) use hello::set_db;
pub use hello::{REDIS_VERSION, VALKEY_VERSION};
pub(crate) use table::TABLE;
