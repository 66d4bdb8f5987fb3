//! How a replica inside of a program is set up.

use crate::store::options::Options;
use std::path::PathBuf;
use std::time::Duration;

/// Options of a replica.
#[derive(Clone, Debug)]
pub struct ReplicaOptions {
    pub(crate) store: Options,
    pub(crate) patterns: Vec<Vec<u8>>,
    pub(crate) patience: Duration,
    pub(crate) timeout_s: u64,
    pub(crate) authorities: Option<PathBuf>,
    /// The files of a certificate and of its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    pub(crate) key_password: String,
}

impl Default for ReplicaOptions {
    fn default() -> Self {
        ReplicaOptions {
            store: Options::new(),
            patterns: Vec::new(),
            patience: Duration::from_secs(60),
            timeout_s: 10,
            authorities: None,
            identity: None,
            key_password: String::new(),
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

    /// The file of the authorities that are trusted, in PEM. A `rediss://` address needs it; the certificate of the primary must be of one of them,
    /// and for the host of the address.
    #[must_use]
    pub fn authorities(mut self, path: impl Into<PathBuf>) -> ReplicaOptions {
        self.authorities = Some(path.into());
        self
    }

    /// The files of a certificate, with those that vouch for it, and of its private key, in PEM: for a primary that asks its clients for one
    /// (`tls-auth-clients`).
    #[must_use]
    pub fn identity(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> ReplicaOptions {
        self.identity = Some((certificate.into(), key.into()));
        self
    }

    /// The password of that key, if it is encrypted (PKCS#8).
    #[must_use]
    pub fn key_password(mut self, password: &str) -> ReplicaOptions {
        password.clone_into(&mut self.key_password);
        self
    }

    /// Options of the store that holds the data. The primary's `databases` must not be more than those here.
    #[must_use]
    pub fn store(mut self, options: Options) -> ReplicaOptions {
        self.store = options;
        self
    }
}
