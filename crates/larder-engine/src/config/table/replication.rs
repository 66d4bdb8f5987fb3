//! Primaries and replicas.

use super::row::*;
use crate::config::choices::{Choice, DisklessLoad, PropagationErrorBehavior};
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    special("replicaof", Special::ReplicaOf, "").alias(&["slaveof"]).immutable(),
    text("masterauth", "").alias(&["primaryauth"]).sensitive(),
    text("masteruser", "").alias(&["primaryuser"]).sensitive(),
    yes_no("replica-serve-stale-data", "yes").alias(&["slave-serve-stale-data"]),
    yes_no("replica-read-only", "yes").alias(&["slave-read-only"]),
    yes_no("replica-lazy-flush", "yes").alias(&["slave-lazy-flush"]),
    yes_no("replica-ignore-maxmemory", "yes").alias(&["slave-ignore-maxmemory"]),
    yes_no("replica-ignore-disk-write-errors", "no"),
    yes_no("replica-announced", "yes"),
    text("replica-announce-ip", "").alias(&["slave-announce-ip"]),
    int("replica-announce-port", 0, 65535, "0").alias(&["slave-announce-port"]),
    int("replica-priority", 0, INT_MAX, "100").alias(&["slave-priority"]),
    int("min-replicas-to-write", 0, INT_MAX, "0")
        .alias(&["min-slaves-to-write"])
        .hot_int(|h| &h.min_replicas_to_write),
    int("min-replicas-max-lag", 0, INT_MAX, "10")
        .alias(&["min-slaves-max-lag"])
        .hot_int(|h| &h.min_replicas_max_lag),
    memory("repl-backlog-size", 1, LONG_MAX, "10485760"),
    int("repl-backlog-ttl", 0, LONG_MAX, "3600"),
    yes_no("repl-disable-tcp-nodelay", "no"),
    yes_no("repl-diskless-sync", "yes"),
    int("repl-diskless-sync-delay", 0, INT_MAX, "5"),
    int("repl-diskless-sync-max-replicas", 0, INT_MAX, "0"),
    one_of("repl-diskless-load", DisklessLoad::NAMES, "disabled")
        .without("swapdb", "Loading a snapshot of the primary beside the data"),
    yes_no("repl-mptcp", "no").immutable().absent("Multipath TCP to a primary"),
    yes_no("dual-channel-replication-enabled", "no").absent("A second connection for the snapshot"),
    int("repl-ping-replica-period", 1, INT_MAX, "10").alias(&["repl-ping-slave-period"]),
    int("repl-timeout", 1, INT_MAX, "60"),
    one_of("propagation-error-behavior", PropagationErrorBehavior::NAMES, "ignore"),
];
