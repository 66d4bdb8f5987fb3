//! Snapshots and the append-only file.

use super::row::*;
use crate::config::choices::{AppendFsync, Choice, RdbVersionCheck};
use crate::config::error::OptionError;
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    special("save", Special::Save, "3600 1 300 100 60 10000"),
    checked_text("dbfilename", db_file_name, "dump.rdb").protected(),
    yes_no("rdbchecksum", "yes").immutable(),
    yes_no("rdbcompression", "yes"),
    yes_no("rdb-del-sync-files", "no"),
    yes_no("rdb-save-incremental-fsync", "yes"),
    one_of("rdb-target-version", &[("10", 10), ("11", 11), ("80", 80)], "11"),
    one_of("rdb-version-check", RdbVersionCheck::NAMES, "strict").hot_int(|h| h.rdb_version_check.number()),
    int("rdb-key-save-delay", i32::MIN as i128, INT_MAX, "0").hidden(),
    int("key-load-delay", i32::MIN as i128, INT_MAX, "0").hidden(),
    memory("loading-process-events-interval-bytes", 1024, INT_MAX, "2097152")
        .hidden()
        .dormant("pauses of loading: clients are answered by threads of their own"),
    yes_no("stop-writes-on-bgsave-error", "yes").hot_bool(|h| &h.stop_writes_on_bgsave_error),
    yes_no("appendonly", "no"),
    checked_text("appendfilename", aof_file_name, "appendonly.aof").immutable(),
    checked_text("appenddirname", aof_dir_name, "appendonlydir").immutable(),
    one_of("appendfsync", AppendFsync::NAMES, "everysec").hot_int(|h| h.appendfsync.number()),
    yes_no("no-appendfsync-on-rewrite", "no"),
    int("auto-aof-rewrite-percentage", 0, INT_MAX, "100"),
    memory("auto-aof-rewrite-min-size", 0, LONG_MAX, "67108864"),
    yes_no("aof-rewrite-incremental-fsync", "yes"),
    yes_no("aof-load-truncated", "yes"),
    yes_no("aof-use-rdb-preamble", "yes"),
    yes_no("aof-timestamp-enabled", "no").hot_bool(|h| &h.aof_timestamp_enabled),
    yes_no("aof-disable-auto-gc", "no").hidden(),
];

fn db_file_name(name: &str) -> Result<(), OptionError> {
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
