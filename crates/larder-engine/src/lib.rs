//! Keyspace, command table, command families, transactions, blocking. No sockets, no files.
#[allow(missing_docs)]
pub mod standin;
pub use standin::*;
pub mod config;
