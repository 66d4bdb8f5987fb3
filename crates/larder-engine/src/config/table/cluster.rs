//! Cluster: what makes the server a node, and how nodes deal with each other.

use super::row::*;
use crate::config::error::OptionError;
use crate::config::kind::Kind;
use crate::config::kind::Names;
use crate::config::number::Unit;
use larder_cluster::packet::{IP_BYTES_MAX, is_value};
use std::net::{Ipv4Addr, Ipv6Addr};

/// What options of gossip shape: nodes gossip as Valkey does by default.
const GOSSIP: &str = "gossip between nodes";

/// Files of tests.
const NODES: &str = "cluster/nodes.rs";
const REDIRECTS: &str = "cluster/redirects.rs";
const MIGRATION: &str = "cluster/migration.rs";

const ENDPOINTS: Names = &[("ip", 0), ("hostname", 1), ("unknown-endpoint", 2)];

pub(super) static OPTIONS: &[Opt] = &[
    yes_no("cluster-enabled", "no").immutable().does("Runs the server as a cluster node.", NODES),
    text("cluster-config-file", "nodes.conf")
        .immutable()
        .does("File in `dir` with the node's view of the cluster. The server writes it; do not edit it.", NODES),
    one_of("cluster-config-save-behavior", &[("sync", 0), ("best-effort", 1)], "sync").does(
        "Whether the server exits (`sync`) or continues (`best-effort`) if it cannot write `cluster-config-file`.",
        NODES,
    ),
    int("cluster-databases", 1, INT_MAX, "1")
        .immutable()
        .does("Number of databases in cluster mode.", REDIRECTS),
    int("cluster-port", 0, 65535, "0")
        .immutable()
        .does("Port of the cluster bus; 0 is the client port plus 10,000.", NODES),
    int("cluster-node-timeout", 0, LONG_MAX, "15000")
        .does("Milliseconds without an answer after which a node is considered failing.", NODES),
    int("cluster-ping-interval", 0, LONG_MAX, "0").hidden().dormant(GOSSIP),
    int("cluster-message-gossip-perc", 0, INT_MAX, "10").hidden().dormant(GOSSIP),
    int("cluster-blacklist-ttl", LONG_MIN, LONG_MAX, "60")
        .does("Seconds after `CLUSTER FORGET` for which the node is not added again.", NODES),
    int("cluster-manual-failover-timeout", 1, INT_MAX, "5000")
        .does("Milliseconds after which `CLUSTER FAILOVER`, or the last step of a slot migration, is aborted.", NODES),
    int("cluster-migration-barrier", 0, INT_MAX, "1")
        .does("Minimum number of replicas that a primary keeps when replicas migrate.", NODES),
    int("cluster-replica-validity-factor", 0, INT_MAX, "10")
        .alias(&["cluster-slave-validity-factor"])
        .does("Maximum age of the data with which a replica stands for election, in multiples of `cluster-node-timeout`; 0 is no limit.", NODES),
    yes_no("cluster-replica-no-failover", "no")
        .alias(&["cluster-slave-no-failover"])
        .does("Disables automatic failover to this replica.", NODES),
    yes_no("cluster-allow-replica-migration", "yes").does(
        "Lets replicas migrate to primaries without replicas, and makes a primary without slots a replica.",
        NODES,
    ),
    yes_no("cluster-allow-reads-when-down", "no").does("Serves reads while the cluster is down.", REDIRECTS),
    yes_no("cluster-allow-pubsubshard-when-down", "yes")
        .does("Serves shard channels while the cluster is down.", REDIRECTS),
    yes_no("cluster-require-full-coverage", "yes")
        .does("Considers the cluster down while any slot has no owner.", REDIRECTS),
    memory("cluster-link-sendbuf-limit", 0, ULONG_MAX, "0")
        .does("Unsent bytes at which a link to a node is closed; 0 is no limit.", NODES),
    one_of("cluster-preferred-endpoint-type", ENDPOINTS, "ip").does(
        "What redirections name: the address (`ip`), the host name (`hostname`) or nothing, which stands for the address that the client uses (`unknown-endpoint`).",
        REDIRECTS,
    ),
    checked_text("cluster-announce-ip", address, "")
        .any_byte()
        .does("Address announced to nodes and clients; empty is the address that other nodes see.", NODES),
    checked_text("cluster-announce-client-ipv4", ipv4, "")
        .does("Address announced to clients that use IPv4; empty is the node's address.", NODES),
    checked_text("cluster-announce-client-ipv6", ipv6, "")
        .does("Address announced to clients that use IPv6; empty is the node's address.", NODES),
    int("cluster-announce-client-port", 0, 65535, "0").does("Port announced to clients; 0 is the port announced to nodes.", NODES),
    int("cluster-announce-client-tls-port", 0, 65535, "0").does("TLS port announced to clients; 0 is the TLS port announced to nodes.", NODES),
    checked_text("cluster-announce-hostname", hostname, "")
        .does("Host name announced to nodes and clients.", NODES),
    checked_text("cluster-announce-human-nodename", node_name, "")
        .any_byte()
        .does("Name of the node in logs.", NODES),
    int("cluster-announce-port", 0, 65535, "0").does("Port announced to nodes and clients; 0 is `port`.", NODES),
    int("cluster-announce-tls-port", 0, 65535, "0").does("TLS port announced to nodes and clients; 0 is `tls-port`.", NODES),
    int("cluster-announce-bus-port", 0, 65535, "0").does("Bus port announced to nodes; 0 is the port of the cluster bus.", NODES),
    int("cluster-slot-migration-log-max-len", 0, LONG_MAX, "1000")
        .does("Maximum number of finished slot migrations that `CLUSTER GETSLOTMIGRATIONS` shows.", MIGRATION),
    yes_no("cluster-slot-stats-enabled", "no")
        .hot_bool(|h| &h.cluster_slot_stats_enabled)
        .does("Counts execution time and bytes per slot, for `CLUSTER SLOT-STATS`.", "cluster/slot_stats.rs"),
    option(
        "slot-migration-max-failover-repl-bytes",
        Kind::Int { bounds: (-1, LONG_MAX), unit: Unit::MemoryOrNone },
        "0",
    )
    .does(
        "Bytes by which the target of a slot migration may lag when writes pause for its last step; -1 is no limit.",
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
