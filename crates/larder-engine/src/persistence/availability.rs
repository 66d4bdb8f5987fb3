//! What the whole server may not do at the moment.

use crate::command::spec::{Command, flags};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

const LOADING: u16 = 1;
const SNAPSHOT_FAILED: u16 = 1 << 1;
const LOG_FAILED: u16 = 1 << 2;
const CLOSING: u16 = 1 << 3;
const BUSY: u16 = 1 << 4;
const REPLICAS_MISSING: u16 = 1 << 5;
const READ_ONLY: u16 = 1 << 6;
const STALE: u16 = 1 << 7;
const SERVES_MEANWHILE: u16 = 1 << 8;
const CLUSTER: u16 = 1 << 9;

/// Flags that are nearly always clear: one look tells that nothing is refused.
#[derive(Debug, Default)]
pub struct Gate(AtomicU16);

impl Gate {
    /// Whether anything is refused.
    #[inline]
    pub(crate) fn is_shut(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    /// Whether commands are refused for what the whole server may not do; one that runs a script for too long is another matter.
    #[inline]
    pub(crate) fn refuses(&self) -> bool {
        self.0.load(Relaxed) & !(CLUSTER | CLOSING | BUSY | SERVES_MEANWHILE) != 0
    }

    /// Whether nothing is refused but what is another node's.
    #[inline]
    pub(crate) fn is_shut_by_cluster_alone(&self) -> bool {
        self.0.load(Relaxed) == CLUSTER
    }

    /// Whether writes are put off, since the server is about to end: until it has, or has given up. Set while
    /// all shards are held, read while those of the write are.
    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.has(CLOSING)
    }

    /// Whether data is being loaded: into the keyspace, or beside it.
    pub fn is_loading(&self) -> bool {
        self.has(LOADING)
    }

    /// Whether data is being loaded beside the keyspace, which is served meanwhile.
    pub fn serves_while_loading(&self) -> bool {
        self.has(LOADING | SERVES_MEANWHILE)
    }

    /// Whether a command must not run because data is being loaded.
    pub(crate) fn is_loading_for(&self, command: &Command) -> bool {
        self.is_loading()
            && match self.has(SERVES_MEANWHILE) {
                true => command.has(flags::NO_ASYNC_LOADING),
                false => !command.has(flags::LOADING),
            }
    }

    /// Data is being loaded: most commands are refused meanwhile. `beside`: the keyspace is served as it is, and few are.
    pub fn begin_loading(&self, beside: bool) {
        self.set(SERVES_MEANWHILE, beside);
        self.set(LOADING, true);
    }

    /// Data is not being loaded any more.
    pub fn end_loading(&self) {
        self.set(LOADING, false);
        self.set(SERVES_MEANWHILE, false);
    }

    /// The last snapshot failed, or did not: writes are refused, if the configuration says so.
    pub fn set_snapshot_failed(&self, on: bool) {
        self.set(SNAPSHOT_FAILED, on);
    }

    /// The append-only file cannot be written, or can: writes are refused.
    pub fn set_log_failed(&self, on: bool) {
        self.set(LOG_FAILED, on);
    }

    /// A script runs for too long, or has ended.
    pub(crate) fn set_busy(&self, on: bool) {
        self.set(BUSY, on);
    }

    /// Whether a script runs for too long.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.has(BUSY)
    }

    /// Writes wait from now on, or not any more.
    pub fn set_closing(&self, on: bool) {
        self.set(CLOSING, on);
    }

    /// Whether the last snapshot failed.
    pub(crate) fn has_snapshot_failed(&self) -> bool {
        self.has(SNAPSHOT_FAILED)
    }

    /// Whether the append-only file cannot be written.
    pub fn has_log_failed(&self) -> bool {
        self.has(LOG_FAILED)
    }

    /// Whether fewer replicas are there than must be.
    pub(crate) fn lacks_replicas(&self) -> bool {
        self.has(REPLICAS_MISSING)
    }

    fn has(&self, all: u16) -> bool {
        self.0.load(Relaxed) & all == all
    }

    fn set(&self, flag: u16, on: bool) {
        if on {
            self.0.fetch_or(flag, Relaxed);
        } else {
            self.0.fetch_and(!flag, Relaxed);
        }
    }

    /// The server is a node of a cluster: commands may be for other nodes.
    pub(crate) fn set_cluster(&self) {
        self.set(CLUSTER, true);
    }

    /// Fewer replicas follow closely than `min-replicas-to-write` wants, or not.
    pub(crate) fn set_replicas_missing(&self, on: bool) {
        self.set(REPLICAS_MISSING, on);
    }

    /// The server is a replica that clients only read, or not.
    pub(crate) fn set_read_only(&self, on: bool) {
        self.set(READ_ONLY, on);
    }

    /// Whether the server is a replica that clients only read.
    pub(crate) fn is_read_only(&self) -> bool {
        self.has(READ_ONLY)
    }

    /// The server is a replica without a link, whose data must not be served, or not.
    pub(crate) fn set_stale(&self, on: bool) {
        self.set(STALE, on);
    }

    /// Whether the data is too old to be served.
    pub fn is_stale(&self) -> bool {
        self.has(STALE)
    }
}
