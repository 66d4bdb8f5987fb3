//! How a replica inside of a program is set up.

use crate::store::options::Options;
use std::time::Duration;

/// Options of a replica.
#[derive(Clone, Debug)]
pub struct ReplicaOptions {
    pub(crate) store: Options,
    pub(crate) patterns: Vec<Vec<u8>>,
    pub(crate) patience: Duration,
    pub(crate) timeout_s: u64,
}

impl Default for ReplicaOptions {
    fn default() -> Self {
        ReplicaOptions {
            store: Options::new(),
            patterns: Vec::new(),
            patience: Duration::from_secs(60),
            timeout_s: 10,
        }
    }
}

impl ReplicaOptions {
    /// All keys, a minute for the first snapshot, 10 seconds of silence until a link is taken for broken.
    pub fn new() -> ReplicaOptions {
        ReplicaOptions::default()
    }

    /// Holds only keys that match this pattern, or one of the others that are given. The primary sends everything all the same:
    /// docs/embed.md says what that costs.
    #[must_use]
    pub fn pattern(mut self, pattern: impl AsRef<[u8]>) -> ReplicaOptions {
        self.patterns.push(pattern.as_ref().to_vec());
        self
    }

    /// How long [`Replica::connect_with`](crate::Replica::connect_with) waits until the data is there.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> ReplicaOptions {
        self.patience = patience;
        self
    }

    /// Seconds without a byte from the primary after which the link is taken for broken (`repl-timeout`); connecting takes no longer either.
    /// At least one.
    #[must_use]
    pub fn timeout_s(mut self, seconds: u64) -> ReplicaOptions {
        self.timeout_s = seconds.max(1);
        self
    }

    /// Options of the store that holds the data. The primary's `databases` must not be more than those here.
    #[must_use]
    pub fn store(mut self, options: Options) -> ReplicaOptions {
        self.store = options;
        self
    }
}
