//! MEMORY.

use crate::context::Context;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::host::HostMemory;
use crate::keyspace::cold_state::ColdFigures;
use crate::keyspace::kind::value_bytes;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::shapes::SHAPES_MAX;
use larder_resp::{Args, Reply};
use std::fmt::Write as _;
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
    // One that is overdue uses memory until it is deleted.
    let table = context.table(&key);
    let own = table.get(key.hash, key.bytes).map(|entry| value_bytes(&entry, samples));
    let share = table.share_bytes(key.hash, key.bytes);
    let bytes = own.zip(share).map(|(own, share)| own + share as u64);
    match bytes {
        Some(bytes) => context.reply.int(bytes as i64),
        None => context.reply.null(),
    }
    Ok(())
}

/// Bytes of a key's entry beside key and value: header, slot, and its share of air and directory.
const ENTRY_OVERHEAD_BYTES: u64 = 8;
/// Bytes more for an expiry, and its share of the minima.
const EXPIRY_BYTES: u64 = 6;

/// What memory is used for.
pub(super) struct Overview {
    pub memory: HostMemory,
    pub peak: u64,
    pub startup: u64,
    pub clients: u64,
    pub log: u64,
    /// What the stream for replicas takes, and what of that is beyond its backlog, for slow replicas alone.
    pub stream: (u64, u64),
    /// The cached scripts, and the libraries of functions.
    pub scripts: u64,
    pub functions: u64,
    /// Of the databases that have keys: number, keys, keys that expire.
    pub databases: Vec<(usize, u64, u64)>,
    /// Values that are kept compressed.
    pub cold: ColdFigures,
}

impl Overview {
    pub(super) fn of(context: &mut Context<'_>) -> CommandResult<Overview> {
        let engine = context.engine;
        let memory = engine.host.memory();
        engine.note_memory(memory.used);
        let mut databases: Vec<_> = (0..engine.database_count()).map(|db| (db, 0, 0)).collect();
        context.each_lent_shard(|data| {
            for (table, (_, keys, expires)) in data.tables().iter().zip(&mut databases) {
                *keys += table.len() as u64;
                *expires += table.expires_len() as u64;
            }
        })?;
        databases.retain(|(_, keys, _)| *keys > 0);
        Ok(Overview {
            memory,
            peak: engine.rates.used_memory_peak.load(Relaxed),
            startup: engine.startup_memory(),
            clients: engine.client_bytes(),
            log: engine.append_log.buffer_bytes(),
            stream: (engine.append_log.backlog().memory_bytes, engine.append_log.beyond_backlog()),
            scripts: engine.scripts.usage().bytes as u64,
            functions: engine.scripts.libraries().memory_bytes() as u64,
            databases,
            cold: engine.cold.figures(),
        })
    }

    fn keys(&self) -> u64 {
        self.databases.iter().map(|(_, keys, _)| keys).sum()
    }

    /// Bytes of the backlog for replicas.
    pub(super) fn backlog(&self) -> u64 {
        self.stream.0.saturating_sub(self.stream.1)
    }

    /// Bytes that are no data.
    pub(super) fn overhead(&self) -> u64 {
        let expires: u64 = self.databases.iter().map(|(_, _, expires)| expires).sum();
        let tables = self.keys() * ENTRY_OVERHEAD_BYTES + expires * EXPIRY_BYTES;
        let scripts = self.scripts + self.functions;
        (self.startup + self.clients + self.log + self.stream.0 + scripts + tables).min(self.memory.used)
    }

    /// Bytes of the data.
    pub(super) fn dataset(&self) -> u64 {
        self.memory.used - self.overhead()
    }

    /// The share of the data in what has come since the start.
    pub(super) fn dataset_percent(&self) -> f64 {
        percent(self.dataset(), self.memory.used.saturating_sub(self.startup))
    }

    pub(super) fn peak_percent(&self) -> f64 {
        percent(self.memory.used, self.peak)
    }
}

/// A part of the reply to STATS.
enum Figure {
    Count(u64),
    Difference(i64),
    Ratio(f64),
}

pub(super) fn stats(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let overview = Overview::of(context)?;
    let front = front_figures(&overview);
    let back = back_figures(&overview);
    let reply = &mut context.reply;
    reply.map(front.len() + overview.databases.len() + back.len());
    write_figures(reply, &front);
    for (db, keys, expires) in &overview.databases {
        reply.bulk(format!("db.{db}").as_bytes());
        reply.map(2);
        let parts = [
            ("overhead.hashtable.main", Figure::Count(keys * ENTRY_OVERHEAD_BYTES)),
            ("overhead.hashtable.expires", Figure::Count(expires * EXPIRY_BYTES)),
        ];
        write_figures(reply, &parts);
    }
    write_figures(reply, &back);
    Ok(())
}

fn front_figures(overview: &Overview) -> [(&'static str, Figure); 13] {
    [
        ("peak.allocated", Figure::Count(overview.peak)),
        ("total.allocated", Figure::Count(overview.memory.used)),
        ("startup.allocated", Figure::Count(overview.startup)),
        ("replication.backlog", Figure::Count(overview.backlog())),
        ("replicas.repl.buffer", Figure::Count(0)),
        ("clients.slaves", Figure::Count(overview.stream.1)),
        ("clients.normal", Figure::Count(overview.clients)),
        ("cluster.links", Figure::Count(0)),
        ("cluster.slot_import", Figure::Count(0)),
        ("cluster.slot_export", Figure::Count(0)),
        ("aof.buffer", Figure::Count(overview.log)),
        ("lua.caches", Figure::Count(overview.scripts)),
        ("functions.caches", Figure::Count(overview.functions)),
    ]
}

fn back_figures(overview: &Overview) -> [(&'static str, Figure); 25] {
    let memory = &overview.memory;
    let keys = overview.keys();
    let own = memory.used.saturating_sub(overview.startup);
    let beyond = |a: u64, b: u64| Figure::Difference(a as i64 - b as i64);
    [
        // Tables grow by segments: nothing is hashed again, and there is no array of buckets.
        ("overhead.db.hashtable.lut", Figure::Count(0)),
        ("overhead.db.hashtable.rehashing", Figure::Count(0)),
        ("overhead.total", Figure::Count(overview.overhead())),
        ("db.dict.rehashing.count", Figure::Count(0)),
        ("keys.count", Figure::Count(keys)),
        ("keys.bytes-per-key", Figure::Count(own.checked_div(keys).unwrap_or(0))),
        ("dataset.bytes", Figure::Count(overview.dataset())),
        ("dataset.percentage", Figure::Ratio(overview.dataset_percent())),
        ("peak.percentage", Figure::Ratio(overview.peak_percent())),
        ("allocator.allocated", Figure::Count(memory.allocated)),
        ("allocator.active", Figure::Count(memory.active)),
        ("allocator.resident", Figure::Count(memory.resident)),
        // Such pages are given back at once.
        ("allocator.muzzy", Figure::Count(0)),
        ("allocator-fragmentation.ratio", Figure::Ratio(ratio(memory.active, memory.allocated))),
        ("allocator-fragmentation.bytes", beyond(memory.active, memory.allocated)),
        ("allocator-rss.ratio", Figure::Ratio(ratio(memory.resident, memory.active))),
        ("allocator-rss.bytes", beyond(memory.resident, memory.active)),
        ("rss-overhead.ratio", Figure::Ratio(ratio(memory.rss, memory.resident))),
        ("rss-overhead.bytes", beyond(memory.rss, memory.resident)),
        ("fragmentation", Figure::Ratio(ratio(memory.rss, memory.used))),
        ("fragmentation.bytes", beyond(memory.rss, memory.used)),
        ("cold.values", Figure::Count(overview.cold.values)),
        ("cold.values.raw-bytes", Figure::Count(overview.cold.raw_bytes)),
        ("cold.values.packed-bytes", Figure::Count(overview.cold.packed_bytes)),
        ("cold.dictionaries.bytes", Figure::Count(larder_collections::cold::stats().bytes as u64)),
    ]
}

fn write_figures(reply: &mut Reply<'_>, figures: &[(&str, Figure)]) {
    for (name, figure) in figures {
        reply.bulk(name.as_bytes());
        match figure {
            Figure::Count(count) => reply.int(*count as i64),
            Figure::Difference(bytes) => reply.int(*bytes),
            Figure::Ratio(ratio) => write_double(reply, *ratio),
        }
    }
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
                     pages are only partly in use. MEMORY PURGE moves data together; with 'activedefrag yes' the server does so \
                     when it pays.\n";
        }
        let shapes = larder_collections::shapes::stats();
        if shapes.times_full > 0 && shapes.shapes * 8 > SHAPES_MAX * 7 {
            text += "* The registry of shared field names is full: hashes with other lists of names store their names \
                     themselves. Lists that no hash uses are dropped after 30 seconds.\n";
        }
        tell_left_alone(context.engine, &mut text);
        if text.is_empty() {
            text += "No problem was found.\n";
        }
    }
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

/// Says of which keys the values do not become smaller.
fn tell_left_alone(engine: &Engine, text: &mut String) {
    for db in 0..engine.database_count() {
        for prefix in engine.cold.dictionaries(db).left_alone() {
            let _ = writeln!(
                text,
                "* Values of keys that begin with \"{}\" in database {db} stay uncompressed: most did not become smaller by an \
                 eighth.",
                prefix.escape_ascii()
            );
        }
    }
}

pub(super) fn malloc_stats(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let text = context.engine.host.malloc_stats();
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

pub(super) fn purge(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.engine.defrag.ask();
    context.engine.host.purge();
    context.reply.ok();
    Ok(())
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "ANATOMY [PATTERN <pattern>] [DEPTH <parts>] [SAMPLE <count>]",
            "    Return keys and bytes by the pattern of their names, of the first <parts>",
            "    parts (default: 4), from all keys or a sample of <count>.",
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
            "    Print this help.",
        ],
    );
    Ok(())
}
