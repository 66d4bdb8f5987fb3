//! The options that shape what a node does and announces.

use crate::node::{Address, Names};

/// The options of a cluster, by their names in `valkey.conf` where they have one. Changed with [`crate::Cluster::configure`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether the bus uses TLS: the ports for TLS stand first then.
    pub tls_cluster: bool,
    /// `cluster-announce-ip`, and the ports that are announced. Without an address it is learned by the first MEET.
    pub address: Address,
    /// The other names that are announced.
    pub names: Names,
    /// `cluster-node-timeout`, in ms.
    pub node_timeout_ms: u64,
    /// `cluster-require-full-coverage`.
    pub require_full_coverage: bool,
    /// `cluster-replica-validity-factor`; 0: data of any age will do.
    pub replica_validity_factor: u64,
    /// `repl-ping-replica-period`, in ms.
    pub replica_ping_period_ms: u64,
    /// `cluster-replica-no-failover`.
    pub no_failover: bool,
    /// `cluster-migration-barrier`.
    pub migration_barrier: usize,
    /// `cluster-allow-replica-migration`.
    pub allow_replica_migration: bool,
    /// `cluster-manual-failover-timeout`, in ms.
    pub manual_failover_timeout_ms: u64,
    /// `cluster-blacklist-ttl`, in seconds.
    pub blacklist_ttl_s: u64,
}

/// Longest times that are told apart, in ms: a thousand years.
const TIME_MS_MAX: u64 = 1 << 45;

impl Settings {
    /// The defaults of Valkey for a node at these ports.
    pub fn new(port: u16, tls_port: u16, bus_port: u16) -> Self {
        Settings {
            tls_cluster: false,
            address: Address { ip: "".into(), port, tls_port, bus_port },
            names: Names::default(),
            node_timeout_ms: 15_000,
            require_full_coverage: true,
            replica_validity_factor: 10,
            replica_ping_period_ms: 10_000,
            no_failover: false,
            migration_barrier: 1,
            allow_replica_migration: true,
            manual_failover_timeout_ms: 5000,
            blacklist_ttl_s: 60,
        }
    }

    /// With times that can be multiplied by small numbers.
    pub(crate) fn bounded(mut self) -> Self {
        for time in [
            &mut self.node_timeout_ms,
            &mut self.manual_failover_timeout_ms,
            &mut self.replica_ping_period_ms,
        ] {
            *time = (*time).min(TIME_MS_MAX);
        }
        self
    }

    /// How long a node whose name is not known is kept, in ms.
    pub(crate) fn handshake_timeout_ms(&self) -> u64 {
        self.node_timeout_ms.max(1000)
    }

    /// The unit of the delays of an election, in ms.
    pub(crate) fn election_delay_ms(&self) -> u64 {
        (self.node_timeout_ms / 30).min(500)
    }
}
