//! The keys: shards and their locks, and what each shard knows of its keys besides their values.

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod cold_classes;
pub(crate) mod cold_samples;
pub(crate) mod cold_state;
pub(crate) mod deadlines;
pub(crate) mod deferred;
pub(crate) mod defrag_state;
pub(crate) mod departures;
pub(crate) mod encoding_limits;
pub(crate) mod field_expiry;
pub(crate) mod hash;
pub(crate) mod key;
pub(crate) mod kind;
pub(crate) mod known_hashes;
pub(crate) mod locks;
pub(crate) mod readers;
pub(crate) mod recent_keys;
pub(crate) mod reserved;
pub(crate) mod shard;
pub(crate) mod waiting;
pub(crate) mod watch;
