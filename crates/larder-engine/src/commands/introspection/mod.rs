//! Commands that look at the server itself.

pub mod arguments;
mod command;
mod config;
mod debug;
mod debug_tools;
mod digest;
mod info;
mod keysizes;
mod latency;
mod memory;
mod slowlog;
mod table;

pub(crate) use table::TABLE;
