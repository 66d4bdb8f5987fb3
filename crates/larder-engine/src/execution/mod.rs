//! How a command is executed: it is found, admitted, its shards are locked, it runs, and its effects are made known.

pub(crate) mod admission;
pub(crate) mod authorization;
pub(crate) mod blocking;
pub(crate) mod checks;
pub(crate) mod command_log;
pub(crate) mod dispatch;
pub(crate) mod locking;
pub(crate) mod lookup;
pub(crate) mod memory;
pub(crate) mod monitor;
mod parts;
pub(crate) mod redirection;
pub(crate) mod replay;
mod settling;
mod silence;
pub(crate) mod slot_stats;
pub(crate) mod tracking;
pub(crate) mod transaction;
pub(crate) mod unit;
