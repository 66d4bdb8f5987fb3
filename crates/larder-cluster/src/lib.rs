//! The cluster bus as a state machine, without I/O and without a clock.

#![forbid(unsafe_code)]

mod action;
mod claims;
mod cluster;
mod commands;
mod config_file;
mod describe;
mod election;
mod facts;
mod failover;
mod failure;
mod id;
mod key_slot;
mod link;
mod manual;
mod manual_failover;
mod members;
mod moment;
mod node;
mod node_key;
mod open_slots;
mod outbox;
pub mod packet;
mod receive;
mod replica_migration;
mod reports;
mod send;
mod settings;
mod slot_map;
mod slot_set;
mod stats;
mod table;
mod tick;
mod views;

pub use action::Action;
pub use cluster::Cluster;
pub use commands::{Command, CommandError, FailoverMode, Origin, Reply, SlotState};
pub use config_file::{ConfigError, SavedConfig, SavedNode, Wrong, parse as parse_nodes_conf};
pub use facts::{Env, Facts};
pub use id::{ID_BYTES, NodeId};
pub use key_slot::{crc16, hash_tag, key_slot};
pub use link::{Direction, LinkId};
pub use moment::Moment;
pub use node::{Address, Names, Node};
pub use node_key::NodeKey;
pub use settings::Settings;
pub use slot_map::{MapNode, SlotMap};
pub use slot_set::{BITMAP_BYTES, SLOTS, SlotSet};
pub use stats::{Stats, Traffic};
pub use table::{NODES_MAX, Table};
pub use tick::TICK_MS;
pub use views::{HealthView, LinkView, NodeView, ShardView, SlotRangeView, Viewer};
