//! Commands that look at the server itself.

mod anatomy;
pub mod arguments;
mod command;
mod config;
mod debug;
mod debug_tools;
mod digest;
mod handlers;
mod info;
mod info_replication;
mod keysizes;
mod latency;
mod memory;
mod slowlog;

pub(crate) use handlers::HANDLERS;
