//! DEBUG: for the developers of the server and for test suites. Guarded by `enable-debug-command`.

use super::debug_tools::{look, unknown};
use super::{debug_tools as tools, digest};
use crate::commands::generic::encoding_name;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::host::LogLevel;
use crate::host::ReloadOptions;
use crate::keyspace::kind::Kind;
use crate::keyspace::shard::Table;
use crate::text::word::is_word;
use crate::text::{glob, number};
use larder_collections::key_table::{TableStats, ValueRef};
use larder_collections::list::{List, ListEncoding};
use larder_collections::value::Value;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

type Handler = fn(&mut Context<'_>, Args<'_>) -> CommandResult;

/// The subcommands: name, fewest and most arguments after it, code.
const SUBCOMMANDS: &[(&str, usize, usize, Handler)] = &[
    ("aof-flush-sleep", 1, 1, tools::flush_sleep),
    ("assert", 0, 0, tools::assert),
    ("change-repl-id", 0, 0, tools::change_replication_id),
    ("client-enforce-reply-list", 1, 1, tools::nothing_to_switch),
    ("client-eviction", 0, 0, tools::client_eviction),
    ("compress-always", 1, 1, tools::compress_always),
    ("defrag-always", 1, 1, tools::defrag_always),
    ("config-rewrite-force-all", 0, 0, tools::rewrite_all),
    ("crash-and-recover", 0, usize::MAX, tools::refused),
    ("delay-rdb-client-free-seconds", 1, 1, tools::nothing_to_switch),
    ("dict-resizing", 1, 1, tools::dict_resizing),
    ("digest", 0, 0, digest_all),
    ("digest-value", 0, usize::MAX, digest_value),
    ("embedded-max", 1, 1, tools::embedded_max),
    ("error", 1, 1, tools::error),
    ("hash-shapes-from", 1, 1, tools::hash_shapes_from),
    ("hash-shapes-max", 1, 1, tools::hash_shapes_max),
    ("hashtable-can-abort-shrink", 1, 1, tools::nothing_to_switch),
    ("help", 0, 0, help),
    ("htstats", 1, 2, htstats),
    ("htstats-key", 1, 2, tools::hash_table_of_key),
    ("jmap", 0, usize::MAX, jmap),
    ("listpack", 1, 1, listpack),
    ("loadaof", 0, 0, load_log),
    ("log", 1, 1, tools::log),
    ("mallctl", 1, usize::MAX, tools::refused),
    ("mallctl-str", 1, usize::MAX, tools::refused),
    ("object", 1, 2, super::debug_object::object),
    ("oom", 0, 0, tools::out_of_memory),
    ("panic", 0, 1, tools::panic),
    ("pause-cron", 1, 1, tools::pause_cron),
    ("populate", 1, 3, tools::populate),
    ("pause-after-fork", 1, 1, tools::nothing_to_switch),
    ("protect-client", 1, 1, tools::protect_client),
    ("protocol", 1, 1, tools::protocol),
    ("quicklist", 1, 2, quicklist),
    ("quicklist-packed-threshold", 1, 1, packed_threshold),
    ("reload", 0, 3, reload),
    ("replicate", 1, usize::MAX, tools::replicate),
    ("replybuffer", 2, 2, tools::reply_buffer),
    ("restart", 0, usize::MAX, tools::refused),
    ("sdslen", 1, 1, tools::string_lengths),
    ("segfault", 0, 0, tools::segfault),
    ("set-active-expire", 1, 1, set_active_expire),
    ("set-disable-deny-scripts", 1, 1, tools::lax_scripts),
    ("set-skip-checksum-validation", 1, 1, tools::skip_checksums),
    ("sleep", 1, 1, sleep),
    ("slotmigration", 2, 2, tools::slot_migration),
    ("stringmatch-len", 2, 2, stringmatch),
    ("structsize", 0, 0, tools::struct_sizes),
];

pub(super) fn debug(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let given = args.len() - 2;
    let found = SUBCOMMANDS
        .iter()
        .find(|(name, min, max, _)| is_word(&args[1], name) && (*min..=*max).contains(&given));
    match found {
        Some((.., run)) => run(context, args),
        None => Err(unknown(args.at(1))),
    }
}

fn digest_all(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.walks()?;
    let text = digest::of_everything(context)?.hex();
    context.reply.simple(&text);
    Ok(())
}

fn digest_value(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.array(args.len() - 2);
    for name in args.from(2).iter() {
        let text = digest::of_value(context, name)?.hex();
        context.reply.simple(&text);
    }
    Ok(())
}

/// `RELOAD [MERGE] [NOFLUSH] [NOSAVE]`: the keyspace goes to the file and comes back.
fn reload(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut options = ReloadOptions { save: true, flush: true, merge: false };
    for word in args.from(2).iter() {
        if is_word(word, "merge") {
            // Keys that are there already are replaced either way; libraries of functions only so.
            options.merge = true;
        } else if is_word(word, "noflush") {
            options.flush = false;
        } else if is_word(word, "nosave") {
            options.save = false;
        } else {
            return Err(CommandError::Fixed(
                "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.",
            ));
        }
    }
    context
        .engine
        .host
        .reload(options, context.no_shards()?)
        .map_err(|error| CommandError::text(format!("ERR {error}").trim_end().to_owned()))?;
    deliver_invalidation(context);
    context.reply.ok();
    Ok(())
}

/// Has the client that has replaced all data get the invalidation of all keys before its next reply.
fn deliver_invalidation(context: &Context<'_>) {
    context.worker.heard_itself.set(true);
}

fn load_log(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let no_shards = context.no_shards()?;
    context.engine.host.reload_log(no_shards).map_err(|error| CommandError::text(format!("ERR {error}")))?;
    deliver_invalidation(context);
    context.reply.ok();
    Ok(())
}

fn jmap(_context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    Err(CommandError::Fixed("ERR DEBUG JMAP is not supported"))
}

fn sleep(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let seconds = number::parse_f64(&args[2]).unwrap_or(0.0);
    if let Ok(time) = Duration::try_from_secs_f64(seconds) {
        context.engine.put_to_sleep(time);
    }
    context.reply.ok();
    Ok(())
}

fn set_active_expire(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let on = number::parse_i64(&args[2]).unwrap_or(0) != 0;
    context.engine.config.hot.active_expire_enabled.store(on, Relaxed);
    context.reply.ok();
    Ok(())
}

fn stringmatch(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let max = context.engine.config.hot.string_bytes_max();
    let len = number::positive(&args[2])? as u64;
    if len > max {
        return Err(CommandError::STRING_TOO_LONG);
    }
    let text = vec![b'a'; len as usize];
    glob::matches(&args[3], &text);
    context.reply.ok();
    Ok(())
}

/// Blocks are laid out by their size alone: an element larger than a block lives by itself. So the threshold is checked
/// and changes nothing.
fn packed_threshold(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let size = std::str::from_utf8(&args[2])
        .ok()
        .and_then(crate::config::parse_memory)
        .filter(|&size| size > 0 && size < 1 << 32);
    if size.is_none() && &args[2] != b"0" {
        return Err(CommandError::Fixed(
            "ERR argument must be a memory value bigger than 1 and smaller than 4gb",
        ));
    }
    context.reply.ok();
    Ok(())
}

/// About how many bytes a small collection takes.
fn listpack_bytes(value: &ValueRef<'_, Value>) -> usize {
    match value {
        ValueRef::Inline { bytes, .. } => bytes.len(),
        ValueRef::Out(value) => value.memory_bytes(0) as usize,
    }
}

fn listpack(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let text = look(context, args.at(2), |entry| {
        let value = entry.value();
        if encoding_name(args.at(2), &entry) != "listpack" {
            return Err(CommandError::Fixed("ERR Not a listpack encoded object."));
        }
        Ok(format!("a small {} of {} bytes", Kind::of(&value).name(), listpack_bytes(&value)))
    })?;
    context.engine.host.log(LogLevel::Notice, &text);
    context.reply.simple("Listpack structure printed on stdout");
    Ok(())
}

fn quicklist(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    const OTHER: CommandError = CommandError::Fixed("ERR Not a quicklist encoded object.");
    let describe = |list: &List| {
        format!(
            "list of {} elements in {} blocks, {} bytes",
            list.len(),
            list.node_count(),
            list.memory_bytes(0)
        )
    };
    let text = look(context, args.at(2), |entry| match entry.value() {
        ValueRef::Out(value) => match &*value {
            Value::List(list) if list.encoding() == ListEncoding::Quicklist => Ok(describe(list)),
            _ => Err(OTHER),
        },
        ValueRef::Inline { .. } => Err(OTHER),
    })?;
    context.engine.host.log(LogLevel::Notice, &text);
    context.reply.simple("Quicklist structure printed on stdout");
    Ok(())
}

fn htstats(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let db = number::integer(&args[2])?;
    let db = usize::try_from(db).ok().filter(|&db| db < context.engine.database_count());
    let db = db.ok_or(CommandError::Fixed("ERR Out of range database"))?;
    let mut total = TableStats::default();
    context.each_lent_shard(|data| {
        if let Some(stats) = data.table(db).map(Table::stats) {
            total.merge(&stats);
        }
    })?;
    let text = format!("[Dictionary HT]\n{total}\n");
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "CHANGE-REPL-ID",
            "    Change the replication IDs of the instance.",
            "CLIENT-EVICTION",
            "    Tell what connections hold.",
            "COMPRESS-ALWAYS <0|1>",
            "    Compress all values all the time, whether they shrink or not.",
            "DEFRAG-ALWAYS <0|1>",
            "    Move all blocks all the time, wherever they lie.",
            "DICT-RESIZING <0|1>",
            "    Accepted for the sake of test suites; tables grow segment by segment.",
            "DIGEST",
            "    Output a hex signature representing the current DB content.",
            "DIGEST-VALUE <key> [<key> ...]",
            "    Output a hex signature of the values of all the specified keys.",
            "EMBEDDED-MAX <bytes>",
            "    Keep collections up to this size in the record of their key (default and maximum: 512).",
            "ERROR <string>",
            "    Return an error with that text.",
            "HASH-SHAPES-FROM <count>",
            "    Share field names from this many hashes with the same names on (default: 16).",
            "HASH-SHAPES-MAX <count>",
            "    Share at most this many lists of field names (default and maximum: 4096).",
            "HTSTATS <dbid>",
            "    Return the shape of the tables of a database.",
            "HTSTATS-KEY <key>",
            "    Return the size of the table of a large collection.",
            "LISTPACK <key>",
            "    Describe a small collection in the log.",
            "LOADAOF",
            "    Write everything to the AOF, and load the AOF again.",
            "LOG <message>",
            "    Write a line to the log.",
            "OBJECT <key> [fast]",
            "    Show low level info about `key` and associated value; fast: without its length.",
            "PAUSE-CRON <0|1>",
            "    Stop what the server does by itself ten times a second, or go on with it.",
            "POPULATE <count> [<prefix>] [<size>]",
            "    Create <count> string keys named key:<num>, or with another prefix.",
            "PROTOCOL <type>",
            "    Reply with a value of that type.",
            "QUICKLIST <key> [0|1]",
            "    Describe a list of several blocks in the log.",
            "QUICKLIST-PACKED-THRESHOLD <size>",
            "    Accepted for the sake of test suites; blocks are laid out by their size alone.",
            "RELOAD [option ...]",
            "    Save the RDB on disk and reload it back to memory. Valid <option> values:",
            "    * MERGE: keys of the file replace those in memory.",
            "    * NOFLUSH: what is in memory stays.",
            "    * NOSAVE: the file is loaded as it is.",
            "REPLICATE <command> [<argument> ...]",
            "    Send replicas a command that is not executed here.",
            "REPLYBUFFER <subcommand> <value>",
            "    Accepted for the sake of test suites.",
            "SDSLEN <key>",
            "    Show the lengths of a key and its string.",
            "SET-ACTIVE-EXPIRE <0|1>",
            "    Setting it to 0 disables expiring keys in background when they are not",
            "    accessed. Setting it to 1 reenables the default.",
            "SLEEP <seconds>",
            "    Stop the thread for <seconds>. Decimals allowed.",
            "SLOTMIGRATION PREVENT-PAUSE <0|1>",
            "    Keep slots that leave from being handed over, or let them go.",
            "STRINGMATCH-LEN <len> <pattern>",
            "    Match a string of that length against the pattern.",
            "STRUCTSIZE",
            "    Return the sizes of some structures.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
