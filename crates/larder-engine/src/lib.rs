//! Keyspace, command table, command families, transactions, blocking. No sockets, no files.
//!
//! [`Engine`] is what threads share, [`Worker`] one thread's handle on it, [`Session`] one connection's state. A worker
//! takes a command's arguments and appends the reply to a buffer; everything else is inside.

#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as larder_engine;

mod access;
mod acl;
mod append_log;
mod background;
mod blocking;
mod client_memory;
mod clients;
mod clock;
pub mod command;
mod commandlog;
mod commands;
pub mod config;
mod context;
mod crash;
mod cron;
mod deadlines;
mod departures;
mod dispatch;
mod effects;
mod engine;
mod error;
mod error_stats;
mod eviction;
mod field_expiry;
mod gate;
mod glob;
mod hash;
mod histogram;
mod host;
mod keys;
mod latency;
mod load;
mod locks;
mod long_double;
mod mailbox;
mod monitor;
mod names;
mod notify;
mod number;
mod pause;
mod persistence;
mod pubsub;
mod recent;
mod redaction;
mod registrations;
mod rewrite;
mod scripting;
mod serve;
mod session;
mod shard;
mod snapshot;
mod stats;
pub mod table;
mod threads;
mod thresholds;
mod throttle;
mod tracking;
mod transaction;
mod watch;
mod worker;

pub use append_log::{AppendLog, Chunk};
pub use clock::{wall_ms, wall_s};
pub use commands::connection::{REDIS_VERSION, VALKEY_VERSION};
pub use crash::panic_if_armed;
pub use engine::{Engine, EngineOptions};
pub use error::{CommandError, CommandResult};
pub use hash::set_hash_seed;
pub use host::{CpuTimes, Exchange, Host, HostMemory, LogLevel, ShutdownFlags};
pub use larder_lua::STACK_BYTES_MIN;
pub use load::{Loader, Overdue, Replay};
pub use locks::{Busy, MayWait, ScriptTurn, spawn_background, spawn_background_with_stack};
pub use mailbox::{Mail, Wake};
pub use names::Names;
pub use persistence::{LoadProgress, LogState, Persistence, SaveState};
pub use pubsub::Message;
pub use rewrite::{commands_of, function_command, select_command};
pub use scripting::{Beside, Copy, Received, Twin};
pub use session::{ClientClass, ClientShared, ConnInfo, ConnKind, Session};
pub use snapshot::{Content, DatabaseSize, Record, Snapshot};
pub use stats::ThreadStats;
pub use threads::on_thread_start;
pub use tracking::Invalidation;
pub use worker::{Flow, PREFETCH_MAX, Worker};
