//! The options of the cluster, as the state machine takes them.

use crate::shared::Shared;
use crate::tls;
use larder_cluster::{Address, Names, Settings};
use larder_engine::config::Config;

/// How far the port for the bus is from that for clients.
const BUS_PORT_DISTANCE: u16 = 10_000;

/// The port on which this node listens for others; `None` when there is no such number.
pub fn bus_port(config: &Config) -> Option<u16> {
    match port(config, "cluster-port") {
        0 => base_port(config).checked_add(BUS_PORT_DISTANCE),
        port => Some(port),
    }
}

/// The port for clients from which that for the bus is counted.
fn base_port(config: &Config) -> u16 {
    let name = if config.is_yes("tls-cluster") { "tls-port" } else { "port" };
    port(config, name)
}

/// The options as they are now, for a node that listens for others on this port.
pub fn of(config: &Config, bus_port: u16) -> Settings {
    let announced = |name: &str, own: u16| match port(config, name) {
        0 => own,
        port => port,
    };
    let text = |name: &str| -> Box<str> { config.value(name).into() };
    let number = |name: &str| u64::try_from(config.number(name)).unwrap_or(0);
    let address = Address {
        ip: text("cluster-announce-ip"),
        port: announced("cluster-announce-port", port(config, "port")),
        tls_port: announced("cluster-announce-tls-port", port(config, "tls-port")),
        bus_port: announced("cluster-announce-bus-port", bus_port),
    };
    let names = Names {
        hostname: text("cluster-announce-hostname"),
        node_name: text("cluster-announce-human-nodename"),
        client_ipv4: text("cluster-announce-client-ipv4"),
        client_ipv6: text("cluster-announce-client-ipv6"),
        client_port: port(config, "cluster-announce-client-port"),
        client_tls_port: port(config, "cluster-announce-client-tls-port"),
        zone: text("availability-zone"),
    };
    Settings {
        tls_cluster: config.is_yes("tls-cluster"),
        address,
        names,
        node_timeout_ms: number("cluster-node-timeout"),
        require_full_coverage: config.is_yes("cluster-require-full-coverage"),
        replica_validity_factor: number("cluster-replica-validity-factor"),
        replica_ping_period_ms: number("repl-ping-replica-period").saturating_mul(1000),
        no_failover: config.is_yes("cluster-replica-no-failover"),
        migration_barrier: number("cluster-migration-barrier") as usize,
        allow_replica_migration: config.is_yes("cluster-allow-replica-migration"),
        manual_failover_timeout_ms: number("cluster-manual-failover-timeout"),
        blacklist_ttl_s: number("cluster-blacklist-ttl"),
    }
}

/// The TLS that new links of the bus use, if they do.
pub fn bus_tls(shared: &Shared) -> Option<&tls::Context> {
    shared.config.is_yes("tls-cluster").then_some(&shared.tls)
}

/// Bytes that may wait for a node; 0: no limit.
pub fn link_bytes_max(config: &Config) -> usize {
    usize::try_from(config.number("cluster-link-sendbuf-limit")).unwrap_or(0)
}

fn port(config: &Config, name: &str) -> u16 {
    u16::try_from(config.number(name)).unwrap_or(0)
}
