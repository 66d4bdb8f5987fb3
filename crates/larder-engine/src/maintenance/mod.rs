//! What threads of the engine do beside commands: active expiry, freeing, compressing, measuring.

pub(crate) mod background;
pub(crate) mod client_eviction;
mod cluster;
pub(crate) mod cron;
mod replication;
pub(crate) mod slot_keys;
