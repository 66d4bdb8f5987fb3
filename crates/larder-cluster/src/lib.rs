//! The cluster bus as a state machine: no I/O, no clock, no threads.
//!
//! A [`Cluster`] is one node. The program that has the sockets, the files and the data gives it inputs, and
//! does what it wants done:
//!
//! ```text
//!  inputs, each with the time and the Facts                actions(), in the order in which they are done
//!
//!  accepted, connected, closed, receive  --+           +-->  Save, Write        before what it promises
//!  tick, ten times a second              --+- Cluster -+-->  BecomeReplicaOf, Promote, FlushAll
//!  command, publish, configure           --+           +-->  UseSlotMap         for those that serve clients
//!  writes_paused, offset_reached         --+           +-->  Sync, DropSlotKeys
//!  take_slots                            --+           +-->  in the order in which they arose: PauseWrites,
//!                                                            ResumeWrites, WaitForOffset, Dial, Send,
//!                                                            Close, Deliver
//! ```
//!
//! The loop of a driver: wait for sockets and the tick; give every input; call [`Cluster::actions`] and do them; answer the commands. Inputs
//! may be gathered: what is saved covers all that is sent after it. But a driver that gathers must act before an input that depends on what
//! it was told to do ([`Cluster::writes_paused`] comes after `PauseWrites` is done).
//!
//! Layers, each of which uses only those above it:
//!
//! - `id`, `history`, `node_key`, `slot_set`, `key_slot`, `moment`, `packet`: values and bytes.
//! - `node`, `link`, `reports`, `table`, `open_slots`, `describe`, `config_file`, `slot_map`: what is known, and its texts.
//! - `primary_link`, `standing`: what a replica may claim in an election.
//! - `settings`, `facts`, `action`, `outbox`, `stats`, `election`, `manual`: what goes in and out, and what is remembered.
//! - `cluster`: the state, its beginning and its end. On top of it, each a part of its methods:
//!   `send`, `members`, `roles`, `claims`, `failure`, `failover`, `manual_failover`,
//!   `replica_migration`, `receive`, `tick`, `commands`, `views`.
//!
//! Invariants:
//! - C1: a vote, an epoch that is begun, and slots that are claimed are in the text of a `Save`, or of a `Write` with a `Sync`, before they
//!   are in a packet; slots that an operator moves without a new epoch in that of a `Write`. A map in which the node has a slot that it did not
//!   have comes after a `Save`, too.
//! - C2: a node votes once in an epoch, over all its lives.
//! - C3: a slot goes to another primary only under a later epoch, or if its owner has ceased to claim it.
//! - C4: any bytes on any link leave a state that is consistent (`check_invariants`, those of `table` among it), and cost memory in
//!   proportion to their number.
//!
//! What it costs: a member of a cluster of 200 nodes takes 0.05 % of a core (`tests/simulation/large.rs`).
//!
//! Tested by `tests/codec` (packets), `tests/nodes_conf.rs` (the file), `tests/hostile.rs` (C4), `tests/simulation` (C1 to C3, clusters that
//! must settle whatever a network did to them), `tests/interop` (as a member of clusters of Valkey 9.1 and Redis 7.0, replies to commands).
//! Why it is as it is: `docs/design/cluster.md`.

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
mod history;
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
mod primary_link;
mod receive;
mod replica_migration;
mod reports;
mod roles;
mod send;
mod settings;
mod slot_map;
mod slot_set;
mod standing;
mod stats;
mod table;
mod tick;
mod views;

pub use action::Action;
pub use cluster::Cluster;
pub use commands::{Command, CommandError, FailoverMode, Origin, Reply, SlotState};
pub use config_file::{
    ConfigError, SavedConfig, SavedNode, Wrong, parse as parse_nodes_conf, promises_as_much,
};
pub use election::Hindrance;
pub use facts::{Env, Facts};
pub use history::{History, HistoryId, Place};
pub use id::{ID_BYTES, NodeId};
pub use key_slot::{crc16, hash_tag, key_slot, pattern_slot};
pub use link::{Direction, LinkId};
pub use moment::Moment;
pub use node::{Address, Names, Node};
pub use node_key::NodeKey;
pub use primary_link::{LinkTimes, PrimaryLink};
pub use settings::Settings;
pub use slot_map::{MapNode, SlotMap};
pub use slot_set::{BITMAP_BYTES, SLOTS, SlotSet};
pub use standing::Lineage;
pub use stats::{Stats, Traffic};
pub use table::{NODES_MAX, Table};
pub use tick::TICK_MS;
pub use views::{HealthView, LinkView, NodeView, ShardView, SlotRangeView, Viewer};
