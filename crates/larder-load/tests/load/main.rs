//! Loads beside real servers: Larder and those that it is compared with, as targets and as sources.

#[cfg(feature = "parquet")]
mod columns;
mod commands;
mod files;
mod killed;
mod redirections;
mod resumed;
mod secure;
mod servers;
mod support;
mod tables;
mod together;
