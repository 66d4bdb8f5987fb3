//! Snapshots and the append-only file.

use super::row::*;
use crate::config::choices::{AppendFsync, Choice, RdbVersionCheck};
use crate::config::error::OptionError;
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    special("save", Special::Save, "3600 1 300 100 60 10000")
        .does("Save points: seconds and changes.", "options/main.rs"),
    checked_text("dbfilename", db_file_name, "dump.rdb").protected()
        .does("Name of the RDB file.", "options/main.rs"),
    yes_no("rdbchecksum", "yes").immutable()
        .does("RDB files have a checksum, and it is checked.", "options/main.rs"),
    yes_no("rdbcompression", "yes").hot_bool(|h| &h.rdbcompression)
        .does("Strings in RDB files are compressed.", "common/samples.rs"),
    yes_no("rdb-del-sync-files", "no")
        .does("Deletes the file of a snapshot that came, if nothing else keeps data in files.", "replication/roles.rs"),
    yes_no("rdb-save-incremental-fsync", "yes")
        .does("Syncs an RDB file little by little while it is written.", "persistence/disk.rs"),
    one_of("rdb-target-version", &[("10", 10), ("11", 11), ("80", 80)], "11").hot_int(|h| &h.rdb_target_version)
        .does("Larder's own: the version of RDB files that are written, as far as the data allows.", "dump.rs"),
    one_of("rdb-version-check", RdbVersionCheck::NAMES, "strict").hot_int(|h| h.rdb_version_check.number())
        .does("`strict` reads only versions that are known whole, and what a primary of Redis 8 has sent; `relaxed` reads others as far as their types are known.", "options/main.rs"),
    int("rdb-key-save-delay", i32::MIN as i128, INT_MAX, "0").hidden()
        .does("Microseconds to wait for each key saved, for tests.", "options/main.rs"),
    int("key-load-delay", i32::MIN as i128, INT_MAX, "0").hidden()
        .does("Microseconds to wait for each key loaded, for tests.", "persistence/states.rs"),
    memory("loading-process-events-interval-bytes", 1024, INT_MAX, "2097152")
        .hidden()
        .does("Connections are accepted before the start has loaded all data once this much has been read.", "start.rs"),
    yes_no("stop-writes-on-bgsave-error", "yes").hot_bool(|h| &h.stop_writes_on_bgsave_error)
        .does("Refuses writes while saving in the background fails.", "persistence/faults.rs"),
    yes_no("appendonly", "no")
        .does("Keeps the append-only file.", "options/main.rs"),
    checked_text("appendfilename", aof_file_name, "appendonly.aof").immutable()
        .does("How the names of the append-only files begin.", "options/main.rs"),
    checked_text("appenddirname", aof_dir_name, "appendonlydir").immutable()
        .does("Directory of the append-only files.", "options/main.rs"),
    one_of("appendfsync", AppendFsync::NAMES, "everysec").hot_int(|h| h.appendfsync.number())
        .does("When the append-only file is synced.", "options/main.rs"),
    yes_no("no-appendfsync-on-rewrite", "no")
        .does("Does not sync the append-only file while something is saved or rewritten; `appendfsync always` does all the same.", "options/main.rs"),
    int("auto-aof-rewrite-percentage", 0, INT_MAX, "100")
        .does("Growth in percent at which the append-only file is rewritten.", "persistence/aof.rs"),
    memory("auto-aof-rewrite-min-size", 0, LONG_MAX, "67108864")
        .does("Bytes below which the append-only file is not rewritten by itself.", "persistence/aof.rs"),
    yes_no("aof-rewrite-incremental-fsync", "yes")
        .does("Syncs the base of the append-only file little by little while it is rewritten.", "persistence/disk.rs"),
    yes_no("aof-load-truncated", "yes")
        .does("Loads an append-only file whose end is missing.", "persistence/faults.rs"),
    yes_no("aof-use-rdb-preamble", "yes")
        .does("The base of the append-only file is an RDB file.", "persistence/aof.rs"),
    yes_no("aof-timestamp-enabled", "no").hot_bool(|h| &h.aof_timestamp_enabled)
        .does("Notes the time in the append-only file.", "persistence/aof.rs"),
    yes_no("aof-disable-auto-gc", "no").hidden()
        .does("Leaves append-only files that are not needed any more.", "options/main.rs"),
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
