//! Primaries and replicas.

use super::row::*;
use crate::config::choices::{Choice, DisklessLoad, LinkCompression, PropagationErrorBehavior};
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    special("replicaof", Special::ReplicaOf, "").alias(&["slaveof"]).immutable()
        .does("Host and port of the primary; `REPLICAOF` changes it, and `CONFIG REWRITE` keeps that.", "replication/roles.rs"),
    text("masterauth", "").alias(&["primaryauth"]).sensitive().any_byte()
        .does("Password for the primary.", "replication/roles.rs"),
    text("masteruser", "").alias(&["primaryuser"]).sensitive()
        .does("User for the primary.", "replication/roles.rs"),
    yes_no("replica-serve-stale-data", "yes").alias(&["slave-serve-stale-data"])
        .does("Serves reads while the link to the primary is down.", "replication/roles.rs"),
    yes_no("replica-read-only", "yes").alias(&["slave-read-only"])
        .does("Refuses writes of clients on a replica.", "replication/roles.rs"),
    yes_no("replica-lazy-flush", "yes").alias(&["slave-lazy-flush"])
        .does("Frees the old data in the background before a snapshot is loaded.", "replication/roles.rs"),
    yes_no("replica-ignore-maxmemory", "yes").alias(&["slave-ignore-maxmemory"])
        .does("A replica evicts nothing by itself.", "replication/roles.rs"),
    yes_no("replica-ignore-disk-write-errors", "no")
        .does("`no`: a replica that cannot write its append-only file ends.", "persistence/disk.rs"),
    yes_no("replica-announced", "yes")
        .does("Sentinels list the replica.", "replication/roles.rs"),
    text("replica-announce-ip", "").alias(&["slave-announce-ip"])
        .does("The address that the primary shows for the replica.", "replication/roles.rs"),
    int("replica-announce-port", 0, 65535, "0").alias(&["slave-announce-port"])
        .does("The port that the primary shows for the replica.", "replication/roles.rs"),
    int("replica-priority", 0, INT_MAX, "100").alias(&["slave-priority"])
        .does("Which replica Sentinel prefers; shown by `INFO replication`.", "replication/roles.rs"),
    int("min-replicas-to-write", 0, INT_MAX, "0")
        .alias(&["min-slaves-to-write"])
        .hot_int(|h| &h.min_replicas_to_write)
        .does("Refuses writes while fewer replicas follow.", "replication/roles.rs"),
    int("min-replicas-max-lag", 0, INT_MAX, "10")
        .alias(&["min-slaves-max-lag"])
        .hot_int(|h| &h.min_replicas_max_lag)
        .does("Seconds after which a replica that acknowledges nothing does not count; 0 turns that off.", "replication/roles.rs"),
    memory("repl-backlog-size", 1, LONG_MAX, "10485760")
        .does("Bytes of the stream that are kept for replicas that come back.", "replication/faults.rs"),
    int("repl-backlog-ttl", 0, LONG_MAX, "3600")
        .does("Seconds without replicas after which a primary forgets them; 0 is never.", "replication/roles.rs"),
    yes_no("repl-disable-tcp-nodelay", "no")
        .does("Gathers small writes to replicas.", "replication/roles.rs"),
    yes_no("repl-diskless-sync", "yes")
        .does("Sends snapshots as they are made; `no`: by a file, so that their length comes before.", "replication/followers.rs"),
    int("repl-diskless-sync-delay", 0, INT_MAX, "5")
        .does("Seconds to wait for more replicas before a snapshot begins.", "replication/main.rs"),
    int("repl-diskless-sync-max-replicas", 0, INT_MAX, "0")
        .does("Replicas at which a snapshot does not wait for more; 0 is no number.", "replication/roles.rs"),
    one_of("repl-diskless-load", DisklessLoad::NAMES, "disabled")
        .does("Loads a snapshot of the primary from a file (`disabled`), or as it comes: on an empty server only, after a flush, or beside the data, which stays until the snapshot is whole and is served if it is of the same history (`swapdb`).", "replication/loading_beside.rs"),
    one_of("repl-compression", LinkCompression::NAMES, "no")
        .does("Asks the primary to compress the snapshot and the stream: fast (`lz4`) or tight (`zstd`). Other servers than Larder send them as ever. A change holds from the next link on.", "replication/compressed.rs"),
    yes_no("repl-mptcp", "no").immutable().does("Connects to the primary by Multipath TCP.", "options/main.rs"),
    yes_no("dual-channel-replication-enabled", "no").ignored("Larder sends the snapshot and the stream by one connection"),
    int("repl-ping-replica-period", 1, INT_MAX, "10").alias(&["repl-ping-slave-period"])
        .does("Seconds between signs of life in the stream.", "replication/roles.rs"),
    int("repl-timeout", 1, INT_MAX, "60")
        .does("Seconds after which a silent end of a link is given up.", "replication/main.rs"),
    one_of("propagation-error-behavior", PropagationErrorBehavior::NAMES, "ignore")
        .does("What a failing command of the append-only file or of the primary does: `ignore` logs it, `panic` ends the server, `panic-on-replicas` does so for those of the primary.", "replication/roles.rs"),
];
