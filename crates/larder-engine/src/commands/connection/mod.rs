//! The connection commands.

mod client;
mod hello;
mod kill;
mod pause;
mod table;
mod tracking;

pub(crate) use client::{describe, describe_for_log};
pub use hello::REDIS_VERSION;
pub(crate) use hello::set_db;
pub(crate) use table::TABLE;
