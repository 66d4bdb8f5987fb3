//! Keyspace, command table, command families, transactions, blocking. No sockets, no files.
//!
//! [`Engine`] is what threads share, [`Worker`] one thread's handle on it, [`Session`] one connection's state. A worker
//! takes a command's arguments and appends the reply to a buffer; everything else is inside.

#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as larder_engine;

mod acl;
mod aof;
mod applier;
mod clients;
mod clock;
mod cluster;
pub mod command;
mod commands;
pub mod config;
pub mod config_file;
mod context;
mod crash;
mod debug_copy;
mod delivery;
mod detached;
mod documents;
mod engine;
mod error;
mod eviction;
mod execution;
mod host;
mod keyspace;
mod ledger;
mod local;
mod maintenance;
mod metrics;
mod panic_on_demand;
mod persistence;
mod pubsub;
mod replication;
mod scripting;
mod scripts;
mod snapshot;
mod stats;
mod text;
mod threads;
mod throttle;
mod tracking;
#[cfg(debug_assertions)]
mod unit_check;
mod version;
mod worker;

pub use acl::{UserLineError, UsersError};
pub use aof::log::{AppendLog, Chunk, Ends, noted_place};
pub use aof::stream::Cursor;
pub use applier::{Applied, Applier};
pub use clients::session::{ClientClass, ClientShared, ConnInfo, ConnKind, Session};
pub use clock::{instant, mono_ms, wall_ms, wall_s};
pub use cluster::migration::{Migration, MigrationState, Migrations, Operation, Progress};
pub use cluster::{ForBus, Request, WakeBus};
pub use command::names::{Names, RenameError};
pub use context::beside::{Beside, Received};
pub use context::flow::Flow;
pub use debug_copy::{Copy, Twin};
pub use delivery::invalidation::Invalidation;
pub use delivery::mailbox::{Mail, Told, Wake};
pub use documents::documents;
pub use engine::{Engine, EngineOptions, random_id};
pub use error::{CommandError, CommandResult};
pub use host::{
    ApplyError, CertificateFacts, ConfigHost, CpuTimes, Exchange, ExchangeError, Fragmentation, Host,
    HostMemory, LogHost, LogLevel, Logged, MemoryHost, PeerHost, ProcessHost, ReloadError, ReloadOptions,
    RewriteError, SavingHost, ShutdownFlags, SystemError, TlsCertificates,
};
pub use keyspace::hash::{hash_by_slot, set_hash_seed};
pub use keyspace::locks::{Busy, MayWait, ScriptTurn, spawn_background, spawn_background_with_stack};
pub use larder_lua::STACK_BYTES_MIN;
pub use ledger::{NoShards, assert_no_shard_is_held};
pub use local::{
    Delivery, FoundKey, KeyFilter, Level, LocalWorker, Order, Permit, Place, Ran, Slice, Wanted,
    is_about_connection,
};
pub use maintenance::cron::Cron;
pub use maintenance::export_link::ExportLink;
pub use maintenance::slot_keys::SlotKeys;
pub use metrics::{Census, Figures, LATENCY_ROWS};
pub use panic_on_demand::panic_if_armed;
pub use persistence::state::{LoadProgress, LogState, Persistence, SaveState};
pub use pubsub::Message;
pub use replication::reception::Caught;
pub use replication::replica::{Filter, Phase, Replica, ReplicaInfo, Replicas};
pub use replication::state::{LinkState, Replication, State, Upstream};
pub use snapshot::as_commands::{commands_of, function_command, select_command};
pub use snapshot::dropped::Dropped;
pub use snapshot::load::{Loader, Overdue, Replay};
pub use snapshot::slot_export::{ExportError, SlotExport};
pub use snapshot::{Content, DatabaseSize, History, Record, Snapshot};
pub use stats::counters::ThreadStats;
pub use text::patterns::Patterns;
pub use threads::on_thread_start;
pub use version::{REDIS_VERSION, VALKEY_VERSION};
pub use worker::{PREFETCH_MAX, Worker};
