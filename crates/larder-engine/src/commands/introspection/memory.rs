//! MEMORY.

use crate::commands::is_word;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::number;
use crate::shard::Table;
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::value::Value;
use larder_resp::{Args, Reply};
use std::sync::atomic::Ordering::Relaxed;

/// Blocks of a collection looked at when the caller does not say how many.
const SAMPLES_DEFAULT: u64 = 5;

pub(super) fn usage(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut samples = SAMPLES_DEFAULT;
    for at in (3..args.len()).step_by(2) {
        if !is_word(&args[at], "samples") || at + 1 >= args.len() {
            return Err(CommandError::SYNTAX);
        }
        samples = u64::try_from(number::integer(&args[at + 1])?).map_err(|_| CommandError::SYNTAX)?;
    }
    let key = context.key(args.at(2));
    let bytes = context.peek(&key, |entry| entry.map(|entry| entry_bytes(entry, samples)));
    match bytes {
        Some(bytes) => context.reply.int(bytes as i64),
        None => context.reply.null(),
    }
    Ok(())
}

/// Bytes of a key, its value, and their share of the table. `samples` 0 looks at all blocks.
fn entry_bytes(entry: Entry<'_, Value>, samples: u64) -> u64 {
    let own = match entry.value() {
        ValueRef::Inline { .. } => 0,
        ValueRef::Out(value) => value.memory_bytes(samples),
    };
    Table::entry_bytes(entry) as u64 + own
}

/// What MEMORY STATS and INFO tell of the keyspace: keys, and bytes of the tables.
pub(super) fn keyspace_overhead(context: &mut Context<'_>) -> (u64, u64) {
    let (mut keys, mut bytes) = (0, 0);
    for shard in 0..crate::shard::SHARDS {
        context.with_shard(shard, |data| {
            keys += data.tables().iter().map(|table| table.len() as u64).sum::<u64>();
            bytes += data.tables().iter().map(|table| table.memory_bytes() as u64).sum::<u64>();
        });
    }
    (keys, bytes)
}

pub(super) fn stats(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let memory = context.engine.host.memory();
    context.engine.note_memory(memory.used);
    let peak = context.engine.rates.used_memory_peak.load(Relaxed);
    let (keys, tables) = keyspace_overhead(context);
    let startup = context.engine.startup_memory();
    let dataset = memory.used.saturating_sub(startup);
    let clients: u64 = context
        .engine
        .clients
        .snapshot()
        .iter()
        .map(|c| c.query_cap.load(Relaxed) + c.output_bytes.load(Relaxed))
        .sum();
    let reply = &mut context.reply;
    let numbers = [
        ("peak.allocated", peak),
        ("total.allocated", memory.used),
        ("startup.allocated", startup),
        ("replication.backlog", 0),
        ("clients.slaves", 0),
        ("clients.normal", clients),
        ("cluster.links", 0),
        ("aof.buffer", 0),
        ("lua.caches", 0),
        ("functions.caches", 0),
        ("overhead.total", startup + clients),
        ("keys.count", keys),
        ("keys.bytes-per-key", dataset.checked_div(keys).unwrap_or(0)),
        ("tables.bytes", tables),
        ("dataset.bytes", dataset),
        ("allocator.allocated", memory.allocated),
        ("allocator.active", memory.active),
        ("allocator.resident", memory.resident),
    ];
    let ratios = [
        ("dataset.percentage", percent(dataset, memory.used)),
        ("peak.percentage", percent(memory.used, peak)),
        ("allocator-fragmentation.ratio", ratio(memory.active, memory.allocated)),
        ("allocator-rss.ratio", ratio(memory.resident, memory.active)),
        ("rss-overhead.ratio", ratio(memory.rss, memory.resident)),
        ("fragmentation", ratio(memory.rss, memory.used)),
    ];
    reply.map(numbers.len() + ratios.len());
    for (name, value) in numbers {
        reply.bulk(name.as_bytes());
        reply.int(value as i64);
    }
    for (name, value) in ratios {
        reply.bulk(name.as_bytes());
        write_double(reply, value);
    }
    Ok(())
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * ratio(part, whole)
}

/// A quotient; 0 when there is nothing to divide by.
pub(super) fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

fn write_double(reply: &mut Reply<'_>, value: f64) {
    let text = zmij::Buffer::new().format(value).to_owned();
    if reply.is_resp3() {
        reply.raw(format!(",{text}\r\n").as_bytes());
    } else {
        reply.bulk(text.as_bytes());
    }
}

pub(super) fn doctor(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    const SMALL: u64 = 5 << 20;
    let memory = context.engine.host.memory();
    let peak = context.engine.rates.used_memory_peak.load(Relaxed);
    let mut text = String::new();
    if memory.used < SMALL {
        text += "The server holds almost nothing: there is nothing to say about its memory yet.\n";
    } else {
        if peak > memory.used * 3 / 2 {
            text += "* The peak was more than half above the memory in use now. Memory freed since goes back to the kernel after a \
                     while; MEMORY PURGE asks for it at once.\n";
        }
        if memory.rss > memory.used * 7 / 5 {
            text += "* The resident memory is more than 40 % above the memory in use: much was freed a moment ago, or the allocator's \
                     pages are only partly in use.\n";
        }
        if text.is_empty() {
            text += "No problem was found.\n";
        }
    }
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

pub(super) fn malloc_stats(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let text = context.engine.host.malloc_stats();
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

pub(super) fn purge(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.engine.host.purge();
    context.reply.ok();
    Ok(())
}

pub(super) fn help(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.help(&[
        "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "DOCTOR",
        "    Return memory problems reports.",
        "MALLOC-STATS",
        "    Return internal statistics report from the memory allocator.",
        "PURGE",
        "    Attempt to purge dirty pages for reclamation by the allocator.",
        "STATS",
        "    Return information about the memory usage of the server.",
        "USAGE <key> [SAMPLES <count>]",
        "    Return memory in bytes used by <key> and its value. Nested values are",
        "    sampled up to <count> times (default: 5, 0 means sample all).",
        "HELP",
        "    Prints this help.",
    ]);
    Ok(())
}
