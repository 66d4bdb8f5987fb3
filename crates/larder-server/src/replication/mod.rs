//! Moving the bytes of replication: snapshots to replicas, and all that comes from a primary.
//!
//! The stream to replicas is sent by the workers that have their connections (`worker/streams.rs`).

pub mod link;
pub mod outlets;
mod receive;
pub mod syncs;
