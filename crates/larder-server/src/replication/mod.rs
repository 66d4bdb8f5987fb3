//! Moving the bytes of replication: snapshots to replicas, and all that comes from a primary.
//!
//! The stream to replicas is sent by the workers that have their connections (`worker/streams.rs`).

mod attempt;
pub mod compression;
mod handshake;
pub mod link;
mod receive;
pub mod syncs;
