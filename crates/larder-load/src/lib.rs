//! Loads keys into servers of the Redis protocol, fast: what rows, commands, RDB files and other servers hold becomes keys on the client,
//! and the server is sent one command a key: `SET` with a string, `RESTORE` with the payload that all else is
//! packed as.
//!
//! ```text
//!  table --reader--> rows --mapping--\
//!                                     gatherer --groups, one a key--\
//!  commands --understand--> operations/      |                      workers --payloads: RESTORE--> server
//!                 |                     disk, beyond                 /   |                            ^
//!                 |                     the budget      RDB, server /  state file: batches            |
//!                 '--- what is not understood, and all after it, when the workers are done: as it is -'
//! ```
//!
//! One thread reads and gathers; several build payloads and send them. What a target is sent is chosen by
//! asking it: a Larder of the same version gets the blocks and entries of collections as they lie in its
//! memory, other servers the form of DUMP that they know.

#![forbid(unsafe_code)]

pub mod build;
pub mod cli;
pub mod commands;
pub mod connection;
pub mod cutter;
pub mod documents;
pub mod error;
pub mod files;
pub mod gather;
pub mod group;
pub mod joint;
pub mod load;
pub mod mapping;
pub mod option;
pub mod options;
pub mod pace;
pub mod packed;
pub mod parquet;
pub mod rdb;
pub mod reader;
pub mod reject;
pub mod replay;
pub mod request;
pub mod row;
pub mod same;
pub mod scores;
pub mod security;
pub mod server;
pub mod shared;
pub mod slot;
pub mod spill;
pub mod state;
pub mod survey;
pub mod table;
pub mod tail;
pub mod target;
pub mod template;
pub mod understand;
pub mod words;
pub mod worker;

pub use error::{Error, Result};
