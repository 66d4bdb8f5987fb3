//! Cluster: what makes the server a node, and how nodes deal with each other.

use super::row::*;
use crate::config::error::OptionError;
use crate::config::kind::Kind;
use crate::config::kind::Names;
use crate::config::number::Unit;
use larder_cluster::packet::{IP_BYTES_MAX, is_value};
use std::net::{Ipv4Addr, Ipv6Addr};

/// What options of gossip shape: nodes gossip as Valkey does by default.
const GOSSIP: &str = "how often nodes gossip, and of how many others";

/// Files of tests.
const NODES: &str = "cluster/nodes.rs";
const REDIRECTS: &str = "cluster/redirects.rs";
const MIGRATION: &str = "cluster/migration.rs";

const ENDPOINTS: Names = &[("ip", 0), ("hostname", 1), ("unknown-endpoint", 2)];

pub(super) static OPTIONS: &[Opt] = &[
    yes_no("cluster-enabled", "no").immutable().does("The server is a node of a cluster.", NODES),
    text("cluster-config-file", "nodes.conf")
        .immutable()
        .does("The file in which the node keeps what it knows of the cluster; it writes it itself.", NODES),
    one_of("cluster-config-save-behavior", &[("sync", 0), ("best-effort", 1)], "sync")
        .does("What happens when that file cannot be written: the server ends, or goes on.", NODES),
    int("cluster-databases", 1, INT_MAX, "1")
        .immutable()
        .does("Number of databases of a node of a cluster.", REDIRECTS),
    int("cluster-port", 0, 65535, "0")
        .immutable()
        .does("Port for the other nodes; 0 is that for clients and 10,000.", NODES),
    int("cluster-node-timeout", 0, LONG_MAX, "15000")
        .does("Milliseconds of silence after which a node may have failed.", NODES),
    int("cluster-ping-interval", 0, LONG_MAX, "0").hidden().dormant(GOSSIP),
    int("cluster-message-gossip-perc", 0, INT_MAX, "10").hidden().dormant(GOSSIP),
    int("cluster-blacklist-ttl", LONG_MIN, LONG_MAX, "60")
        .does("Seconds for which a node that is forgotten is not taken in again.", NODES),
    int("cluster-manual-failover-timeout", 1, INT_MAX, "5000")
        .does("Milliseconds after which CLUSTER FAILOVER is given up.", NODES),
    int("cluster-migration-barrier", 0, INT_MAX, "1")
        .does("Replicas that a primary keeps before one of them goes to a primary without any.", NODES),
    int("cluster-replica-validity-factor", 0, INT_MAX, "10").alias(&["cluster-slave-validity-factor"]).does(
        "How old, in node timeouts, the data of a replica may be that wants to be elected; 0 is any.",
        NODES,
    ),
    yes_no("cluster-replica-no-failover", "no")
        .alias(&["cluster-slave-no-failover"])
        .does("This replica never takes its primary's place by itself.", NODES),
    yes_no("cluster-allow-replica-migration", "yes")
        .does("Replicas go to primaries without any, and a primary without slots becomes a replica.", NODES),
    yes_no("cluster-allow-reads-when-down", "no")
        .does("Reads are answered while the cluster is down.", REDIRECTS),
    yes_no("cluster-allow-pubsubshard-when-down", "yes")
        .does("Channels of shards go on while the cluster is down.", REDIRECTS),
    yes_no("cluster-require-full-coverage", "yes")
        .does("The cluster is down while any slot has no node.", REDIRECTS),
    memory("cluster-link-sendbuf-limit", 0, ULONG_MAX, "0")
        .does("Bytes that may wait to be sent to a node before its link is closed; 0 is no limit.", NODES),
    one_of("cluster-preferred-endpoint-type", ENDPOINTS, "ip")
        .does("What clients are told to connect to.", REDIRECTS),
    checked_text("cluster-announce-ip", address, "")
        .any_byte()
        .does("The address that others are told.", NODES),
    checked_text("cluster-announce-client-ipv4", ipv4, "")
        .does("The address that clients are told who come by IPv4.", NODES),
    checked_text("cluster-announce-client-ipv6", ipv6, "")
        .does("The address that clients are told who come by IPv6.", NODES),
    int("cluster-announce-client-port", 0, 65535, "0").does("The port that clients are told.", NODES),
    int("cluster-announce-client-tls-port", 0, 65535, "0")
        .does("The port that clients are told who use TLS.", NODES),
    checked_text("cluster-announce-hostname", hostname, "").does("The name of the host.", NODES),
    checked_text("cluster-announce-human-nodename", node_name, "")
        .any_byte()
        .does("A name of the node, for logs.", NODES),
    int("cluster-announce-port", 0, 65535, "0").does("The port that others are told.", NODES),
    int("cluster-announce-tls-port", 0, 65535, "0").does("The port for TLS that others are told.", NODES),
    int("cluster-announce-bus-port", 0, 65535, "0")
        .does("The port for other nodes that others are told.", NODES),
    int("cluster-slot-migration-log-max-len", 0, LONG_MAX, "1000")
        .does("Migrations of slots that are over and still shown.", MIGRATION),
    yes_no("cluster-slot-stats-enabled", "no")
        .hot_bool(|h| &h.cluster_slot_stats_enabled)
        .does("Counts times and bytes by slot, for `CLUSTER SLOT-STATS`.", "cluster/slot_stats.rs"),
    option(
        "slot-migration-max-failover-repl-bytes",
        Kind::Int { bounds: (-1, LONG_MAX), unit: Unit::MemoryOrNone },
        "0",
    )
    .does(
        "Bytes of changes that the target of a migration of slots may lack when writes are paused for it; -1 is any.",
        MIGRATION,
    ),
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
    if text.len() > IP_BYTES_MAX {
        return Err(OptionError::AddressTooLong);
    }
    is_value(text.as_bytes()).then_some(()).ok_or(OptionError::AddressCharacter)
}

fn node_name(text: &str) -> Result<(), OptionError> {
    is_value(text.as_bytes()).then_some(()).ok_or(OptionError::NodeNameCharacter)
}
