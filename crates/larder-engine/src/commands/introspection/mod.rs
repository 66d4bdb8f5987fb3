//! Commands that look at the server itself.

mod anatomy;
pub mod arguments;
mod command;
mod config;
mod debug;
mod debug_object;
mod debug_tools;
mod digest;
mod handlers;
mod info;
mod info_clients;
mod info_lines;
mod info_replication;
mod info_server;
mod keysizes;
mod latency;
mod memory;
pub(crate) mod page;
mod slowlog;
mod syntax;

pub(crate) use handlers::HANDLERS;
