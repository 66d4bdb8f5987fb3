//! Client-side caching: who is told that a key has changed.
//!
//! Three parts:
//! - what a connection asked for ([`state::Tracking`]): only its worker looks at it;
//! - which keys were read by whom (`keyspace::readers`): one table in each shard, under the lock that readers and writers
//!   of the key hold anyway;
//! - which prefixes are listened to ([`broadcast::Prefixes`]).
//!
//! The thread that changes a key takes its readers out of the table and notes them (`delivery::invalidations`); when its command is done
//! and the shard unlocked, each worker that owns some of them gets one mail. The owner decides: the connection may have
//! turned tracking off, may not want to hear of its own changes, or has its messages redirected, in which case the mail
//! goes on to the worker of the other connection. An invalidation may therefore come late, but never too early: the
//! reply that made a client cache a value is in its output before its worker looks at its mail.
//!
//! Changes for prefixes are collected and sent at the end of each iteration of an event loop, each key once.
//!
//! Keys are told by name, whatever database they are in, as in Redis.

pub(crate) mod broadcast;
mod state;

pub(crate) use state::{Options, Tracking};

use broadcast::Prefixes;
use std::sync::atomic::AtomicUsize;

/// What all threads share.
#[derive(Default)]
pub(crate) struct Trackers {
    /// Connections that have tracking turned on.
    pub clients: AtomicUsize,
    /// Keys in the tables of all shards.
    pub keys: AtomicUsize,
    pub prefixes: Prefixes,
    /// The shard where keys are forgotten next.
    pub(crate) cursor: AtomicUsize,
}

impl Trackers {
    /// Whether anybody must be told of changes that no table knows of.
    #[inline]
    pub(crate) fn broadcasts(&self) -> bool {
        !self.prefixes.is_empty()
    }
}
