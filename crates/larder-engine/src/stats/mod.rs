//! What is counted and measured.

pub(crate) mod command_log;
pub(crate) mod counter;
pub(crate) mod counters;
pub(crate) mod errors;
pub(crate) mod eviction;
pub(crate) mod histogram;
pub(crate) mod latency;
pub(crate) mod memory_meter;
pub(crate) mod rates;
pub(crate) mod slots;
pub(crate) mod walk_progress;
