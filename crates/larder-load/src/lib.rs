//! Loads tables into servers of the Redis protocol, fast: rows become keys on the client, each packed as a payload, and the
//! server is sent one RESTORE a key.
//!
//! ```text
//!  file --reader--> rows --mapping--> elements --grouper--> groups, one a key --workers--> payloads --RESTORE--> server
//!                     |                            |                              |
//!                  rejects                 disk, beyond the budget          state file: batches that are loaded
//! ```
//!
//! One thread reads and groups; several build payloads and send them. What a target is sent is chosen by asking it: Larder gets
//! the blocks of lists and sorted sets as they lie in its memory, other servers the form of DUMP that they know.

#![forbid(unsafe_code)]

pub mod build;
pub mod cli;
pub mod connection;
pub mod error;
pub mod group;
pub mod load;
pub mod mapping;
pub mod reader;
pub mod reject;
pub mod row;
pub mod slot;
pub mod spill;
pub mod state;
pub mod target;
pub mod template;
pub mod worker;

pub use error::{Error, Result};
