//! Cluster: what shapes one is accepted, so that existing files load; that there be one is refused.

use super::row::*;
use crate::config::error::OptionError;
use crate::config::kind::Kind;
use crate::config::kind::Names;
use crate::config::number::Unit;
use std::net::{Ipv4Addr, Ipv6Addr};

/// What these options shape.
const CLUSTER: &str = "nodes of a cluster";

const ENDPOINTS: Names = &[("ip", 0), ("hostname", 1), ("unknown-endpoint", 2)];

pub(super) static OPTIONS: &[Opt] = &[
    yes_no("cluster-enabled", "no").immutable().absent("Cluster mode"),
    text("cluster-config-file", "nodes.conf").immutable().dormant(CLUSTER),
    one_of("cluster-config-save-behavior", &[("sync", 0), ("best-effort", 1)], "sync").dormant(CLUSTER),
    int("cluster-databases", 1, INT_MAX, "1").immutable().dormant(CLUSTER),
    int("cluster-port", 0, 65535, "0").immutable().dormant(CLUSTER),
    int("cluster-node-timeout", 0, LONG_MAX, "15000").dormant(CLUSTER),
    int("cluster-ping-interval", 0, LONG_MAX, "0").hidden().dormant(CLUSTER),
    int("cluster-message-gossip-perc", 0, INT_MAX, "10").hidden().dormant(CLUSTER),
    int("cluster-blacklist-ttl", LONG_MIN, LONG_MAX, "60").dormant(CLUSTER),
    int("cluster-manual-failover-timeout", 1, INT_MAX, "5000").dormant(CLUSTER),
    int("cluster-migration-barrier", 0, INT_MAX, "1").dormant(CLUSTER),
    int("cluster-replica-validity-factor", 0, INT_MAX, "10")
        .alias(&["cluster-slave-validity-factor"])
        .dormant(CLUSTER),
    yes_no("cluster-replica-no-failover", "no").alias(&["cluster-slave-no-failover"]).dormant(CLUSTER),
    yes_no("cluster-allow-replica-migration", "yes").dormant(CLUSTER),
    yes_no("cluster-allow-reads-when-down", "no").dormant(CLUSTER),
    yes_no("cluster-allow-pubsubshard-when-down", "yes").dormant(CLUSTER),
    yes_no("cluster-require-full-coverage", "yes").dormant(CLUSTER),
    memory("cluster-link-sendbuf-limit", 0, ULONG_MAX, "0").dormant(CLUSTER),
    one_of("cluster-preferred-endpoint-type", ENDPOINTS, "ip").dormant(CLUSTER),
    checked_text("cluster-announce-ip", address, "").dormant(CLUSTER),
    checked_text("cluster-announce-client-ipv4", ipv4, "").dormant(CLUSTER),
    checked_text("cluster-announce-client-ipv6", ipv6, "").dormant(CLUSTER),
    int("cluster-announce-client-port", 0, 65535, "0").dormant(CLUSTER),
    int("cluster-announce-client-tls-port", 0, 65535, "0").dormant(CLUSTER),
    checked_text("cluster-announce-hostname", hostname, "").dormant(CLUSTER),
    checked_text("cluster-announce-human-nodename", node_name, "").dormant(CLUSTER),
    int("cluster-announce-port", 0, 65535, "0").dormant(CLUSTER),
    int("cluster-announce-tls-port", 0, 65535, "0").dormant(CLUSTER),
    int("cluster-announce-bus-port", 0, 65535, "0").dormant(CLUSTER),
    int("cluster-slot-migration-log-max-len", 0, LONG_MAX, "1000").dormant(CLUSTER),
    yes_no("cluster-slot-stats-enabled", "no").dormant(CLUSTER),
    option(
        "slot-migration-max-failover-repl-bytes",
        Kind::Int { bounds: (-1, LONG_MAX), unit: Unit::MemoryOrNone },
        "0",
    )
    .dormant(CLUSTER),
];

fn hostname(name: &str) -> Result<(), OptionError> {
    if name.len() >= 256 {
        return Err(OptionError::HostNameTooLong);
    }
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.') {
        return Err(OptionError::HostNameCharacter);
    }
    Ok(())
}

fn ipv4(address: &str) -> Result<(), OptionError> {
    let is_one = address.is_empty() || address.parse::<Ipv4Addr>().is_ok();
    is_one.then_some(()).ok_or(OptionError::NotIpv4)
}

fn ipv6(address: &str) -> Result<(), OptionError> {
    let is_one = address.is_empty() || address.parse::<Ipv6Addr>().is_ok();
    is_one.then_some(()).ok_or(OptionError::NotIpv6)
}

fn address(text: &str) -> Result<(), OptionError> {
    let is_one = text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:/".contains(&b));
    is_one.then_some(()).ok_or(OptionError::AddressCharacter)
}

fn node_name(text: &str) -> Result<(), OptionError> {
    let is_one = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"./-_".contains(&b));
    is_one.then_some(()).ok_or(OptionError::NodeNameCharacter)
}
