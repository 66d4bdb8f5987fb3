//! Keyspace, command table, command families, transactions, blocking. No sockets, no files.
pub mod config;
