//! Primaries and replicas.

use super::row::*;
use crate::config::choices::{Choice, DisklessLoad, LinkCompression, PropagationErrorBehavior};
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    special("replicaof", Special::ReplicaOf, "").alias(&["slaveof"]).immutable()
        .does("Host and port of the primary. `REPLICAOF` changes it, and `CONFIG REWRITE` stores the change.", "replication/roles.rs"),
    text("masterauth", "").alias(&["primaryauth"]).sensitive().any_byte()
        .does("Password with which this replica authenticates to its primary.", "replication/roles.rs"),
    text("masteruser", "").alias(&["primaryuser"]).sensitive()
        .does("User as which this replica authenticates to its primary; empty is the default user.", "replication/roles.rs"),
    yes_no("replica-serve-stale-data", "yes").alias(&["slave-serve-stale-data"])
        .does("Serves reads while the link to the primary is down; with `no`, they get `MASTERDOWN` errors.", "replication/roles.rs"),
    yes_no("replica-read-only", "yes").alias(&["slave-read-only"])
        .does("Refuses writes from clients on a replica.", "replication/roles.rs"),
    yes_no("replica-lazy-flush", "yes").alias(&["slave-lazy-flush"])
        .does("Frees the old data of a replica in the background before it loads a snapshot.", "replication/roles.rs"),
    yes_no("replica-ignore-maxmemory", "yes").alias(&["slave-ignore-maxmemory"])
        .does("Disables eviction on replicas; they delete what the primary evicts.", "replication/roles.rs"),
    yes_no("replica-ignore-disk-write-errors", "no")
        .does("Keeps a replica running that cannot write its append-only file; with `no`, it exits.", "persistence/disk.rs"),
    yes_no("replica-announced", "yes")
        .does("Lets Sentinels list this replica.", "replication/roles.rs"),
    text("replica-announce-ip", "").alias(&["slave-announce-ip"])
        .does("Address of this replica that the primary reports; empty is the address of its connection.", "replication/roles.rs"),
    int("replica-announce-port", 0, 65535, "0").alias(&["slave-announce-port"])
        .does("Port of this replica that the primary reports; 0 is `port`.", "replication/roles.rs"),
    int("replica-priority", 0, INT_MAX, "100").alias(&["slave-priority"])
        .does("Priority for promotion by Sentinel: lower is preferred, 0 means never.", "replication/roles.rs"),
    int("min-replicas-to-write", 0, INT_MAX, "0")
        .alias(&["min-slaves-to-write"])
        .hot_int(|h| &h.min_replicas_to_write)
        .does("Minimum number of connected replicas with which a primary accepts writes; 0 disables the check.", "replication/roles.rs"),
    int("min-replicas-max-lag", 0, INT_MAX, "10")
        .alias(&["min-slaves-max-lag"])
        .hot_int(|h| &h.min_replicas_max_lag)
        .does("Seconds since its last acknowledgement up to which a replica counts for `min-replicas-to-write`; 0 disables the check.", "replication/roles.rs"),
    memory("repl-backlog-size", 1, LONG_MAX, "10485760")
        .does("Bytes of the replication stream that are kept for replicas that reconnect; at least 16 KB.", "replication/faults.rs"),
    int("repl-backlog-ttl", 0, LONG_MAX, "3600")
        .does("Seconds without replicas after which the backlog is freed; 0 means never.", "replication/roles.rs"),
    yes_no("repl-disable-tcp-nodelay", "no")
        .does("Disables `TCP_NODELAY` for replica links.", "replication/roles.rs"),
    yes_no("repl-diskless-sync", "yes")
        .does("Streams snapshots to replicas; with `no`, writes them to a file first.", "replication/followers.rs"),
    int("repl-diskless-sync-delay", 0, INT_MAX, "5")
        .does("Seconds to wait for more replicas before a snapshot with `repl-diskless-sync` starts.", "replication/main.rs"),
    int("repl-diskless-sync-max-replicas", 0, INT_MAX, "0")
        .does("Number of waiting replicas at which a snapshot starts before `repl-diskless-sync-delay` is over; 0 disables it.", "replication/roles.rs"),
    one_of("repl-diskless-load", DisklessLoad::NAMES, "disabled")
        .does("How a replica loads a snapshot: from a file (`disabled`), directly if it has no data (`on-empty-db`), directly after a flush (`flush-before-load`), or concurrently with serving the old data of the same history (`swapdb`).", "replication/loading_beside.rs"),
    one_of("repl-compression", LinkCompression::NAMES, "no")
        .does("Asks a Larder primary to compress the snapshot and the stream: `lz4` (fast) or `zstd` (small). Takes effect with the next link.", "replication/compressed.rs"),
    yes_no("repl-mptcp", "no").immutable().does("Connects to the primary with Multipath TCP.", "options/main.rs"),
    yes_no("dual-channel-replication-enabled", "no").ignored("one connection for snapshot and stream"),
    int("repl-ping-replica-period", 1, INT_MAX, "10").alias(&["repl-ping-slave-period"])
        .does("Seconds between pings to replicas.", "replication/roles.rs"),
    int("repl-timeout", 1, INT_MAX, "60")
        .does("Seconds of silence after which a replication link is closed.", "replication/main.rs"),
    one_of("propagation-error-behavior", PropagationErrorBehavior::NAMES, "ignore")
        .does("Reaction to a command from the append-only file or the primary that fails: `ignore` logs it, `panic` exits, `panic-on-replicas` exits if it came from the primary.", "replication/roles.rs"),
];
