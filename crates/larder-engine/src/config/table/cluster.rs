//! Cluster: accepted and answered, so that existing files load.

use super::*;

const ENDPOINTS: Names = &[("ip", 0), ("hostname", 1), ("unknown-endpoint", 2)];

pub(super) static OPTIONS: &[Opt] = &[
    yes_no("cluster-enabled", "no").immutable(),
    text("cluster-config-file", "nodes.conf").immutable(),
    one_of("cluster-config-save-behavior", &[("sync", 0), ("best-effort", 1)], "sync"),
    int("cluster-databases", 1, INT_MAX, "1").immutable(),
    int("cluster-port", 0, 65535, "0").immutable(),
    int("cluster-node-timeout", 0, LONG_MAX, "15000"),
    int("cluster-ping-interval", 0, LONG_MAX, "1000").hidden(),
    int("cluster-blacklist-ttl", 0, LONG_MAX, "60"),
    int("cluster-manual-failover-timeout", 1, INT_MAX, "5000"),
    int("cluster-migration-barrier", 0, INT_MAX, "1"),
    int("cluster-replica-validity-factor", 0, INT_MAX, "10").alias(&["cluster-slave-validity-factor"]),
    yes_no("cluster-replica-no-failover", "no").alias(&["cluster-slave-no-failover"]),
    yes_no("cluster-allow-replica-migration", "yes"),
    yes_no("cluster-allow-reads-when-down", "no"),
    yes_no("cluster-allow-pubsubshard-when-down", "yes"),
    yes_no("cluster-require-full-coverage", "yes"),
    memory("cluster-link-sendbuf-limit", 0, ULONG_MAX, "0"),
    one_of("cluster-preferred-endpoint-type", ENDPOINTS, "ip"),
    text("cluster-announce-ip", ""),
    text("cluster-announce-client-ipv4", ""),
    text("cluster-announce-client-ipv6", ""),
    int("cluster-announce-client-port", 0, 65535, "0"),
    int("cluster-announce-client-tls-port", 0, 65535, "0"),
    checked_text("cluster-announce-hostname", hostname, ""),
    text("cluster-announce-human-nodename", ""),
    int("cluster-announce-port", 0, 65535, "0"),
    int("cluster-announce-tls-port", 0, 65535, "0"),
    int("cluster-announce-bus-port", 0, 65535, "0"),
    int("cluster-slot-migration-log-max-len", 0, LONG_MAX, "1000"),
    yes_no("cluster-slot-stats-enabled", "no"),
    memory("slot-migration-max-failover-repl-bytes", -1, LONG_MAX, "0"),
];

fn hostname(name: &str) -> Result<(), String> {
    if name.len() >= 256 {
        return Err("Hostnames must be less than 256 characters".to_string());
    }
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.') {
        return Err("Hostnames may only contain alphanumeric characters, hyphens or dots".to_string());
    }
    Ok(())
}
