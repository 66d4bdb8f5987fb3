//! Primaries and replicas.

use super::*;

pub(super) static OPTIONS: &[Opt] = &[
    special("replicaof", Special::ReplicaOf, "").alias(&["slaveof"]).immutable(),
    text("masterauth", "").alias(&["primaryauth"]).sensitive(),
    text("masteruser", "").alias(&["primaryuser"]).sensitive(),
    yes_no("replica-serve-stale-data", "yes").alias(&["slave-serve-stale-data"]),
    yes_no("replica-read-only", "yes").alias(&["slave-read-only"]),
    yes_no("replica-lazy-flush", "no").alias(&["slave-lazy-flush"]),
    yes_no("replica-ignore-maxmemory", "yes").alias(&["slave-ignore-maxmemory"]),
    yes_no("replica-ignore-disk-write-errors", "no"),
    yes_no("replica-announced", "yes"),
    text("replica-announce-ip", "").alias(&["slave-announce-ip"]),
    int("replica-announce-port", 0, 65535, "0").alias(&["slave-announce-port"]),
    int("replica-priority", 0, INT_MAX, "100").alias(&["slave-priority"]),
    int("min-replicas-to-write", 0, INT_MAX, "0").alias(&["min-slaves-to-write"]),
    int("min-replicas-max-lag", 0, INT_MAX, "10").alias(&["min-slaves-max-lag"]),
    memory("repl-backlog-size", 1, LONG_MAX, "1048576"),
    int("repl-backlog-ttl", 0, LONG_MAX, "3600"),
    yes_no("repl-disable-tcp-nodelay", "no"),
    yes_no("repl-diskless-sync", "yes"),
    int("repl-diskless-sync-delay", 0, INT_MAX, "5"),
    int("repl-diskless-sync-max-replicas", 0, INT_MAX, "0"),
    one_of("repl-diskless-load", &[("disabled", 0), ("on-empty-db", 1), ("swapdb", 2)], "disabled"),
    yes_no("repl-mptcp", "no").immutable(),
    yes_no("dual-channel-replication-enabled", "no"),
    int("repl-ping-replica-period", 1, INT_MAX, "10").alias(&["repl-ping-slave-period"]),
    int("repl-timeout", 1, INT_MAX, "60"),
    one_of("propagation-error-behavior", &[("ignore", 0), ("panic", 1), ("panic-on-replicas", 2)], "ignore"),
];
