//! `nodes.conf`: what a node must know again after a restart.
//!
//! The format is that of Valkey 9.1; files of Redis 7.0 are read. A line a node, which is that of CLUSTER NODES but for the second
//! field, and a line of variables:
//!
//! ```text
//! <id> <ip>:<port>@<bus port>,<hostname>,<name>=<value>,.. <flags> <primary or -> <ping ms> <pong ms> <epoch> <link> <slots>..
//! vars currentEpoch <n> lastVoteEpoch <n> [larder-history <id>:<epoch> or - [larder-former <id>:<offset>]]
//! ```
//!
//! The last two variables are the [`Lineage`](crate::Lineage) of a replica's data. Valkey and Redis
//! skip variables that they do not know, and so does this reader.
//!
//! A file is taken as a whole or not at all: what is lost of it could be a vote. Of the lines that
//! claim a slot, the first has it, as in Valkey. Tested by `tests/nodes_conf.rs`.

mod parse;
mod print;

/// The variables of a [`Lineage`](crate::Lineage).
const HISTORY: &str = "larder-history";
const FORMER: &str = "larder-former";

pub use parse::{ConfigError, SavedConfig, SavedNode, Wrong, parse, promises_as_much};
pub(crate) use print::{Variables, print};
