//! Snapshots and the append-only file.

use super::row::*;
use crate::config::choices::{AppendFsync, Choice, RdbVersionCheck};
use crate::config::error::OptionError;
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    special("save", Special::Save, "3600 1 300 100 60 10000")
        .does("Save points: pairs of seconds and changes; `\"\"` disables snapshots. With `60 1000`, the server writes a snapshot if the last one is older than 60 seconds and there were at least 1000 changes.", "options/main.rs"),
    checked_text("dbfilename", db_file_name, "dump.rdb").protected()
        .does("Name of the RDB file in `dir`.", "options/main.rs"),
    yes_no("rdbchecksum", "yes").immutable()
        .does("Writes and verifies checksums of RDB files.", "options/main.rs"),
    yes_no("rdbcompression", "yes").hot_bool(|h| &h.rdbcompression)
        .does("Compresses strings in RDB files and `DUMP` payloads with LZF.", "common/samples.rs"),
    yes_no("rdb-del-sync-files", "no")
        .does("On a replica, deletes the file of a received snapshot after loading it, if `save` is empty and `appendonly` is `no`.", "replication/roles.rs"),
    yes_no("rdb-save-incremental-fsync", "yes")
        .does("Syncs RDB files in steps of 1 MB while they are written, instead of once at the end.", "persistence/disk.rs"),
    one_of("rdb-target-version", &[("10", 10), ("11", 11), ("80", 80)], "11").hot_int(|h| &h.rdb_target_version)
        .does("Version of RDB files to write: `10` (Redis 7.0), `11` (Redis 7.2 to 8, Valkey 7.2 to 8) or `80` (Valkey 9). Data that needs a newer version is written in that version. Not in Valkey.", "dump.rs"),
    one_of("rdb-version-check", RdbVersionCheck::NAMES, "strict").hot_int(|h| h.rdb_version_check.number())
        .does("Versions of RDB files and snapshots to read: known ones, and snapshots of a Redis 8 primary (`strict`), or also newer ones whose types are all known (`relaxed`).", "options/main.rs"),
    int("rdb-key-save-delay", i32::MIN as i128, INT_MAX, "0").hidden()
        .does("Microseconds to wait per saved key, for tests.", "options/main.rs"),
    int("key-load-delay", i32::MIN as i128, INT_MAX, "0").hidden()
        .does("Microseconds to wait per loaded key, for tests.", "persistence/states.rs"),
    memory("loading-process-events-interval-bytes", 1024, INT_MAX, "2097152")
        .hidden()
        .does("Bytes that are loaded at startup before the server accepts connections, whose commands get `LOADING` errors. It accepts them after one second in any case.", "start.rs"),
    yes_no("stop-writes-on-bgsave-error", "yes").hot_bool(|h| &h.stop_writes_on_bgsave_error)
        .does("Refuses writes after a failed background save until one succeeds, if `save` has save points.", "persistence/faults.rs"),
    yes_no("appendonly", "no")
        .does("Logs all writes in the append-only file.", "options/main.rs"),
    checked_text("appendfilename", aof_file_name, "appendonly.aof").immutable()
        .does("Prefix of the names of append-only files.", "options/main.rs"),
    checked_text("appenddirname", aof_dir_name, "appendonlydir").immutable()
        .does("Directory of append-only files, in `dir`.", "options/main.rs"),
    one_of("appendfsync", AppendFsync::NAMES, "everysec").hot_int(|h| h.appendfsync.number())
        .does("When to sync the append-only file. `always` syncs before each reply to a write, `everysec` once a second, and `no` leaves it to the kernel.", "options/main.rs"),
    yes_no("no-appendfsync-on-rewrite", "no")
        .does("Skips syncs of the append-only file during saves and rewrites, except with `appendfsync always`.", "options/main.rs"),
    int("auto-aof-rewrite-percentage", 0, INT_MAX, "100")
        .does("Growth of the append-only file since its last rewrite, in percent, that triggers a rewrite; 0 disables automatic rewrites.", "persistence/aof.rs"),
    memory("auto-aof-rewrite-min-size", 0, LONG_MAX, "67108864")
        .does("Minimum bytes of the append-only file for an automatic rewrite.", "persistence/aof.rs"),
    yes_no("aof-rewrite-incremental-fsync", "yes")
        .does("Syncs the new base file in steps of 1 MB during a rewrite, instead of once at the end.", "persistence/disk.rs"),
    yes_no("aof-load-truncated", "yes")
        .does("Starts if the append-only file ends in an incomplete command: saves its bytes in another file and cuts it off. With `no`, the server does not start.", "persistence/faults.rs"),
    yes_no("aof-use-rdb-preamble", "yes")
        .does("Writes the base of the append-only file in RDB format; with `no`, as commands.", "persistence/aof.rs"),
    yes_no("aof-timestamp-enabled", "no").hot_bool(|h| &h.aof_timestamp_enabled)
        .does("Writes timestamps to the append-only file.", "persistence/aof.rs"),
    yes_no("aof-disable-auto-gc", "no").hidden()
        .does("Keeps append-only files that are no longer needed.", "options/main.rs"),
];

fn db_file_name(name: &str) -> Result<(), OptionError> {
    not_empty(name, "dbfilename")?;
    plain_name(name, "dbfilename", "filename")
}

fn aof_file_name(name: &str) -> Result<(), OptionError> {
    not_empty(name, "appendfilename")?;
    plain_name(name, "appendfilename", "filename")
}

fn aof_dir_name(name: &str) -> Result<(), OptionError> {
    not_empty(name, "appenddirname")?;
    plain_name(name, "appenddirname", "dirname")
}

fn not_empty(name: &str, option: &'static str) -> Result<(), OptionError> {
    if name.is_empty() { Err(OptionError::Empty(option)) } else { Ok(()) }
}

fn plain_name(name: &str, option: &'static str, what: &'static str) -> Result<(), OptionError> {
    if name.contains('/') { Err(OptionError::Path(option, what)) } else { Ok(()) }
}
