//! Those subcommands of DEBUG that test suites steer a server with: replies of every type, keys by the thousand, and
//! what must not happen to a server that holds data.

use crate::context::{Context, inline};
use crate::error::{CommandError, CommandResult};
use crate::host::LogLevel;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::hash::HashEncoding;
use larder_collections::key_table::Entry;
use larder_collections::key_table::{ExpireChange, INLINE_MAX, NewValue, ValueRef};
use larder_collections::set::SetEncoding;
use larder_collections::shapes;
use larder_collections::sorted_set::SortedSetEncoding;
use larder_collections::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_resp::{Args, Reply};
use std::sync::atomic::Ordering::Relaxed;

/// The longest value that POPULATE makes.
const POPULATE_BYTES_MAX: usize = 1 << 20;

pub(super) fn change_replication_id(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.engine.host.log(LogLevel::Notice, "Changing replication IDs after receiving change-repl-id");
    context.engine.change_history();
    context.reply.ok();
    Ok(())
}

/// `CLIENT-EVICTION`: nothing more is known of it than CLIENT LIST shows.
pub(super) fn client_eviction(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    if context.engine.config.hot.maxmemory_clients.load(Relaxed) == 0 {
        return Err(CommandError::Fixed("ERR maxmemory-clients is disabled."));
    }
    let text = format!("bytes of all connections: {}\n", context.engine.client_bytes());
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

/// `DICT-RESIZING 0|1`: tables grow and shrink segment by segment, and are never resized as a whole.
pub(super) fn dict_resizing(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.ok();
    Ok(())
}

/// `COMPRESS-ALWAYS 0|1`: whether values of any size are compressed at any time.
pub(super) fn compress_always(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let on = crate::text::number::parse_i64(args.at(2)).is_some_and(|n| n != 0);
    larder_collections::cold::force(on);
    context.engine.debug.compresses_always.store(on, std::sync::atomic::Ordering::Relaxed);
    context.reply.ok();
    Ok(())
}

/// `DEFRAG-ALWAYS 0|1`: whether blocks of all slabs are moved all the time.
pub(super) fn defrag_always(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let on = crate::text::number::parse_i64(args.at(2)).is_some_and(|n| n != 0);
    context.engine.debug.moves_always.store(on, Relaxed);
    context.reply.ok();
    Ok(())
}

/// `EMBEDDED-MAX bytes`: how large a collection may be that lives in the record of its key.
pub(super) fn embedded_max(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    set_count(context, args, larder_collections::key_table::limit_embedded)
}

/// `HASH-SHAPES-FROM count`: how many hashes with the same field names share them from then on.
pub(super) fn hash_shapes_from(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let require = |count| shapes::require_users(u8::try_from(count).unwrap_or(u8::MAX).max(1));
    set_count(context, args, require)
}

/// `HASH-SHAPES-MAX count`: how many lists of field names may be shared at a time.
pub(super) fn hash_shapes_max(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    set_count(context, args, shapes::limit_shapes)
}

fn set_count(context: &mut Context<'_>, args: Args<'_>, set: impl FnOnce(usize)) -> CommandResult {
    let count = number::positive(args.at(2))?;
    set(usize::try_from(count).unwrap_or(usize::MAX));
    context.reply.ok();
    Ok(())
}

/// `SET-DISABLE-DENY-SCRIPTS 0|1`: whether scripts may call commands that they else may not.
pub(super) fn lax_scripts(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let on = crate::text::number::parse_i64(args.at(2)).is_some_and(|n| n != 0);
    context.engine.lax_scripts.store(on, std::sync::atomic::Ordering::Relaxed);
    context.reply.ok();
    Ok(())
}

/// `ERROR text`: the text as an error, line breaks as blanks. Nothing has failed, so it is not counted.
pub(super) fn error(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let line = args.at(2).iter().map(|&byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte });
    context.reply.error(&line.collect::<Vec<u8>>());
    Ok(())
}

pub(super) fn hash_table_of_key(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    const OTHER: CommandError = CommandError::Fixed(
        "ERR The value stored at the specified key is not represented using an hash table",
    );
    let text = look(context, args.at(2), |entry| {
        let ValueRef::Out(value) = entry.value() else { return Err(OTHER) };
        let is_table = match &*value {
            Value::Hash(hash) => hash.encoding() == HashEncoding::Hashtable,
            Value::Set(set) => set.encoding() == SetEncoding::Hashtable,
            Value::SortedSet(set) => set.encoding() == SortedSetEncoding::Skiplist,
            Value::List(_) | Value::Stream(_) | Value::String(_) | Value::Cold(_) => false,
        };
        if !is_table {
            return Err(OTHER);
        }
        Ok(format!("allocations: {}\nbytes: {}\n", value.free_effort(), value.memory_bytes(0)))
    })?;
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

pub(super) fn log(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let line = format!("DEBUG LOG: {}", String::from_utf8_lossy(args.at(2)));
    context.engine.host.log(LogLevel::Warning, &line);
    context.reply.ok();
    Ok(())
}

/// `PAUSE-CRON 0|1`: expiry, eviction and rates stand still.
pub(super) fn pause_cron(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.engine.cron_paused.store(number::parse_i64(&args[2]).unwrap_or(0) != 0, Relaxed);
    context.reply.ok();
    Ok(())
}

/// `SLOTMIGRATION PREVENT-PAUSE 0|1`: exports stop short of the pause in which their slots are handed over.
pub(super) fn slot_migration(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if !is_word(args.at(2), "prevent-pause") {
        return Err(unknown(args.at(1)));
    }
    let is_prevented = number::parse_i64(&args[3]).unwrap_or(0) != 0;
    context.engine.migrations().no_pause.store(is_prevented, Relaxed);
    context.reply.ok();
    Ok(())
}

/// `POPULATE count [prefix] [size]`: keys `prefix:0` and on with values `value:0` and on, filled up with zeros; keys that are
/// there stay. Not logged, as nothing of DEBUG is.
pub(super) fn populate(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let positive = |at: usize| match args.get(at) {
        Some(text) => {
            let number = number::parse_i64(text).and_then(|n| usize::try_from(n).ok());
            number.ok_or(CommandError::NOT_POSITIVE).map(Some)
        }
        None => Ok(None),
    };
    let (count, size) = (positive(2)?.unwrap_or(0), positive(4)?.unwrap_or(0));
    if size > POPULATE_BYTES_MAX {
        return Err(CommandError::OUT_OF_RANGE);
    }
    let prefix = args.get(3).unwrap_or(b"key");
    for at in 0..count {
        let name = [prefix, format!(":{at}").as_bytes()].concat();
        let mut value = format!("value:{at}").into_bytes();
        if size > 0 {
            value.resize(size, 0);
        }
        populate_one(context, &name, &value)?;
    }
    context.reply.ok();
    Ok(())
}

fn populate_one(context: &mut Context<'_>, name: &[u8], bytes: &[u8]) -> CommandResult {
    let (key, db) = (context.key(name), context.db);
    let (engine, word) = (context.engine, context.worker.access.fresh(context.now_s()));
    let mut told = std::mem::take(&mut context.worker.invalidations);
    let done = context.with_shard(key.shard(), |data| {
        if data.table_mut(db).get(key.hash, name).is_some() {
            return;
        }
        let value = if bytes.len() <= INLINE_MAX {
            NewValue::Inline { kind: inline::STRING, bytes }
        } else {
            NewValue::Out(Value::String(SharedBytes::new(bytes)))
        };
        data.table_mut(db).put(key.hash, name, value, ExpireChange::Clear, word);
        data.changed(&engine.trackers, db, &key, 0, &mut told);
    });
    context.worker.invalidations = told;
    done
}

/// `PROTOCOL type`: a reply of that type.
pub(super) fn protocol(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    const AFTERWARDS: &[u8] = b"Some real reply following the attribute";
    let reply = &mut context.reply;
    let name = args.at(2).to_ascii_lowercase();
    match &*name {
        b"string" => reply.bulk(b"Hello World"),
        b"integer" => reply.int(12345),
        b"double" => reply.double(b"3.141"),
        b"null" => reply.null(),
        b"array" => {
            reply.array(3);
            (0..3).for_each(|n| reply.int(n));
        }
        b"set" => {
            reply.set(3);
            (0..3).for_each(|n| reply.int(n));
        }
        b"map" => {
            reply.map(3);
            for n in 0..3 {
                reply.int(n);
                reply.bool(n == 1);
            }
        }
        b"attrib" => {
            if reply.is_resp3() {
                reply.raw(b"|1\r\n");
                popularity(reply);
            }
            reply.bulk(AFTERWARDS);
        }
        b"push" => {
            if !reply.is_resp3() {
                return Err(CommandError::Fixed("ERR RESP2 is not supported by this command"));
            }
            // It comes after the reply. A script sees the first of both.
            if !context.in_script {
                reply.bulk(b"Some real reply following the push reply");
            }
            reply.push(2);
            reply.bulk(b"server-cpu-usage");
            reply.int(42);
        }
        b"verbatim" => reply.verbatim("txt", b"This is a verbatim\nstring"),
        b"true" => reply.bool(true),
        b"false" => reply.bool(false),
        b"bignum" => reply.big_number("1234567999999999999999999999999999999"),
        _ => {
            return Err(CommandError::Fixed(
                "ERR Wrong protocol type name. Please use one of the following: \
                 string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
            ));
        }
    }
    Ok(())
}

fn popularity(reply: &mut Reply<'_>) {
    reply.bulk(b"key-popularity");
    reply.array(2);
    reply.bulk(b"key:123");
    reply.int(90);
}

/// What would end or damage the server: test suites of the server it comes from do that on purpose, its users never. The
/// allocator's own switches are among it: what is no text is read as an address, and threads rely on their arenas.
pub(super) fn refused(_context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let name = String::from_utf8_lossy(args.at(1)).to_ascii_uppercase();
    Err(CommandError::text(format!("ERR DEBUG {name} is not supported: it would end or damage the server")))
}

/// What steers a mechanism that is not there: a reply is one buffer, tables are not resized as a whole,
/// nothing forks.
pub(super) fn nothing_to_switch(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.ok();
    Ok(())
}

/// `PROTECT-CLIENT id`: a client is never taken away while somebody needs it, so there is nothing to do.
pub(super) fn protect_client(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let id = number::parse_i64(&args[2]).ok_or(CommandError::Fixed("ERR Invalid client id"))?;
    if u64::try_from(id).ok().and_then(|id| context.engine.clients.find(id)).is_none() {
        return Err(CommandError::Fixed("ERR No such client"));
    }
    context.reply.ok();
    Ok(())
}

/// `AOF-FLUSH-SLEEP microseconds`: the wait before each write to the append-only file.
pub(super) fn flush_sleep(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let us = number::parse_i64(&args[2]).and_then(|us| u64::try_from(us).ok()).unwrap_or(0);
    context.engine.debug.flush_sleep_us.store(us, Relaxed);
    context.reply.ok();
    Ok(())
}

/// `SET-SKIP-CHECKSUM-VALIDATION 0|1`: whether the checksums of files and payloads matter.
pub(super) fn skip_checksums(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let skips = number::parse_i64(&args[2]).unwrap_or(0) != 0;
    context.engine.debug.skips_checksums.store(skips, Relaxed);
    context.reply.ok();
    Ok(())
}

/// `CONFIG-REWRITE-FORCE-ALL`: CONFIG REWRITE with every option, those at their defaults as well.
pub(super) fn rewrite_all(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let users = context.engine.user_lines();
    let written = context.engine.host.rewrite_config(&users, true);
    written.map_err(|error| CommandError::text(format!("ERR CONFIG-REWRITE-FORCE-ALL failed: {error}")))?;
    context.reply.ok();
    Ok(())
}

/// `ASSERT`: an assertion fails.
pub(super) fn assert(_context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    panic!("assertion failed: DEBUG ASSERT was called")
}

/// `PANIC [thread]`: this thread panics, or the one of this name when it begins its next piece of work.
pub(super) fn panic(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(thread) = args.get(2) else { panic!("DEBUG PANIC was called") };
    crate::panic_on_demand::arm(&String::from_utf8_lossy(thread));
    context.reply.ok();
    Ok(())
}

/// `SEGFAULT`: an access to memory that is nobody's.
pub(super) fn segfault(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.engine.host.segfault();
    Ok(())
}

/// `OOM`: an allocation fails.
pub(super) fn out_of_memory(_context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(isize::MAX as usize)));
    Ok(())
}

/// `REPLICATE command`: replicas are sent what nobody has executed here, in the order of what else is done with the shard of its first key.
pub(super) fn replicate(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let shard = context.engine.key(args.get(3).unwrap_or_default()).shard();
    context.with_shard_held(shard, |context| context.propagate_to_replicas(args.from(2)))?;
    context.reply.ok();
    Ok(())
}

/// `REPLYBUFFER PEAK-RESET-TIME time` and `RESIZING 0|1`: buffers of replies go back to the event loop at once.
pub(super) fn reply_buffer(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let resizes = is_word(args.at(2), "resizing");
    if !resizes && !is_word(args.at(2), "peak-reset-time") {
        return Err(unknown(args.at(1)));
    }
    let is_time = is_word(args.at(3), "never") || is_word(args.at(3), "reset");
    if resizes || !is_time {
        number::integer(args.at(3))?;
    }
    context.reply.ok();
    Ok(())
}

/// `SDSLEN key`: lengths of the key and of its value, and how much is kept free after the value.
pub(super) fn string_lengths(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    const OTHER: CommandError = CommandError::Fixed("ERR Not an sds encoded string.");
    let name = args.at(2);
    let text = look(context, name, |entry| {
        let (len, bytes) = match entry.value() {
            ValueRef::Inline { bytes, .. } if number::is_integer(bytes) => return Err(OTHER),
            ValueRef::Inline { bytes, .. } => (bytes.len(), bytes.len()),
            ValueRef::Out(value) => match &*value {
                Value::String(string) => (string.len(), string.heap_bytes()),
                _ => return Err(OTHER),
            },
        };
        Ok(format!(
            "key_sds_len:{key}, key_sds_avail:0, key_zmalloc: {key}, val_sds_len:{len}, val_sds_avail:{}, val_zmalloc: {bytes}",
            bytes - len,
            key = name.len(),
        ))
    })?;
    context.reply.simple(&text);
    Ok(())
}

pub(super) fn struct_sizes(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let text = format!(
        "bits:{} connection:{} shard:{} value:{}",
        usize::BITS,
        size_of::<crate::clients::session::ClientShared>(),
        size_of::<crate::keyspace::shard::ShardData>(),
        size_of::<Value>()
    );
    context.reply.bulk(text.as_bytes());
    Ok(())
}

/// Calls `f` with the entry of a key, or gives the error for a missing one.
pub(super) fn look<R>(
    context: &mut Context<'_>,
    name: &[u8],
    f: impl FnOnce(Entry<'_, Value>) -> CommandResult<R>,
) -> CommandResult<R> {
    let (key, db) = (context.key(name), context.db);
    context.with_shard(key.shard(), |data| {
        let entry = data.table(db).and_then(|table| table.get(key.hash, name));
        f(entry.ok_or(CommandError::NO_SUCH_KEY)?)
    })?
}

/// There is no such subcommand.
pub(super) fn unknown(name: &[u8]) -> CommandError {
    let mut text = b"ERR unknown subcommand or wrong number of arguments for '".to_vec();
    text.extend_from_slice(&name[..name.len().min(128)]);
    text.extend_from_slice(b"'. Try DEBUG HELP.");
    CommandError::Text(text)
}
