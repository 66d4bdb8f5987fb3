//! What threads of the engine do beside commands: active expiry, freeing, compressing, measuring.

pub(crate) mod background;
pub(crate) mod client_eviction;
pub(crate) mod cron;
mod replication;
