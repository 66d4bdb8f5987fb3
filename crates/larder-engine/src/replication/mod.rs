//! Primaries and replicas: what the server is, the names of its history, and who follows it.
//!
//! The bytes of the stream are in [`aof::stream`](crate::aof); what is here says where in it everybody is. Handlers change the state
//! (`commands/replication`), the server moves bytes (its own module `replication`).

pub(crate) mod failover;
pub(crate) mod own_deadlines;
pub(crate) mod reception;
pub(crate) mod replica;
pub(crate) mod state;
pub(crate) mod unit;
pub(crate) mod waiting;
