//! What threads of the engine do beside commands: active expiry, eviction, freeing, compressing, measuring;
//! the memory of connections; what time brings to replication; what the bus of the cluster does to the
//! engine, and the keys of slots.

pub(crate) mod background;
pub(crate) mod client_eviction;
mod cluster;
mod cold;
pub(crate) mod cron;
mod defrag;
pub(crate) mod export_link;
mod list_blocks;
mod own_deadlines;
mod pace;
mod replication;
mod shared_fields;
pub(crate) mod slot_keys;
