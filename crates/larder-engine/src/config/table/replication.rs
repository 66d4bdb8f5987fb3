//! Primaries and replicas.

use super::row::*;
use crate::config::choices::{Choice, PropagationErrorBehavior};
use crate::config::special::Special;

/// What these options shape.
const REPLICAS: &str = "replicas";

pub(super) static OPTIONS: &[Opt] = &[
    special("replicaof", Special::ReplicaOf, "").alias(&["slaveof"]).immutable().absent("Replication"),
    text("masterauth", "").alias(&["primaryauth"]).sensitive().dormant(REPLICAS),
    text("masteruser", "").alias(&["primaryuser"]).sensitive().dormant(REPLICAS),
    yes_no("replica-serve-stale-data", "yes").alias(&["slave-serve-stale-data"]).dormant(REPLICAS),
    yes_no("replica-read-only", "yes").alias(&["slave-read-only"]).dormant(REPLICAS),
    yes_no("replica-lazy-flush", "yes").alias(&["slave-lazy-flush"]).dormant(REPLICAS),
    yes_no("replica-ignore-maxmemory", "yes").alias(&["slave-ignore-maxmemory"]).dormant(REPLICAS),
    yes_no("replica-ignore-disk-write-errors", "no").dormant(REPLICAS),
    yes_no("replica-announced", "yes").dormant(REPLICAS),
    text("replica-announce-ip", "").alias(&["slave-announce-ip"]).dormant(REPLICAS),
    int("replica-announce-port", 0, 65535, "0").alias(&["slave-announce-port"]).dormant(REPLICAS),
    int("replica-priority", 0, INT_MAX, "100").alias(&["slave-priority"]).dormant(REPLICAS),
    int("min-replicas-to-write", 0, INT_MAX, "0")
        .alias(&["min-slaves-to-write"])
        .hot_int(|h| &h.min_replicas_to_write),
    int("min-replicas-max-lag", 0, INT_MAX, "10")
        .alias(&["min-slaves-max-lag"])
        .hot_int(|h| &h.min_replicas_max_lag),
    memory("repl-backlog-size", 1, LONG_MAX, "10485760"),
    int("repl-backlog-ttl", 0, LONG_MAX, "3600").dormant(REPLICAS),
    yes_no("repl-disable-tcp-nodelay", "no").dormant(REPLICAS),
    yes_no("repl-diskless-sync", "yes").dormant(REPLICAS),
    int("repl-diskless-sync-delay", 0, INT_MAX, "5").dormant(REPLICAS),
    int("repl-diskless-sync-max-replicas", 0, INT_MAX, "0").dormant(REPLICAS),
    one_of(
        "repl-diskless-load",
        &[("disabled", 0), ("on-empty-db", 1), ("swapdb", 2), ("flush-before-load", 3)],
        "disabled",
    )
    .dormant(REPLICAS),
    yes_no("repl-mptcp", "no").immutable().dormant(REPLICAS),
    yes_no("dual-channel-replication-enabled", "no").dormant(REPLICAS),
    int("repl-ping-replica-period", 1, INT_MAX, "10").alias(&["repl-ping-slave-period"]).dormant(REPLICAS),
    int("repl-timeout", 1, INT_MAX, "60").dormant(REPLICAS),
    one_of("propagation-error-behavior", PropagationErrorBehavior::NAMES, "ignore"),
];
