//! INFO, by section.

use super::info_lines::lines;
use super::keysizes::keysizes;
use super::latency;
use super::memory::{Overview, ratio};
use crate::acl::Reason;
use crate::command::table::table;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::CommandResult;
use crate::keyspace::shard::Table;
use crate::pubsub::Space;
use crate::text::word::is_word;
use larder_resp::Args;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

type Section = fn(&mut Context<'_>, &mut String) -> CommandResult;

/// Who is shown a section that he has not named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Shown {
    /// Only those who name it.
    ByName,
    /// Those who want all.
    ToAll,
    /// Everybody.
    ByDefault,
}

/// Name, who is shown it, and the code.
const SECTIONS: &[(&str, Shown, Section)] = &[
    ("server", Shown::ByDefault, super::info_server::server),
    ("tls", Shown::ToAll, tls),
    ("clients", Shown::ByDefault, super::info_clients::clients),
    ("memory", Shown::ByDefault, memory),
    ("persistence", Shown::ByDefault, persistence),
    ("stats", Shown::ByDefault, stats),
    ("replication", Shown::ByDefault, super::info_replication::replication),
    ("cpu", Shown::ByDefault, cpu),
    ("modules", Shown::ByDefault, modules),
    ("commandstats", Shown::ToAll, commandstats),
    ("errorstats", Shown::ByDefault, errorstats),
    ("latencystats", Shown::ToAll, latencystats),
    ("cluster", Shown::ByDefault, cluster),
    ("cluster_info", Shown::ToAll, cluster_info),
    ("scriptingengines", Shown::ToAll, scripting_engines),
    ("keyspace", Shown::ByDefault, keyspace),
    ("keysizes", Shown::ByName, keysizes),
];

pub(super) fn info(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut text = String::new();
    for (name, shown, write) in SECTIONS {
        if wanted(args, name, *shown) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            write(context, &mut text)?;
        }
    }
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn wanted(args: Args<'_>, name: &str, shown: Shown) -> bool {
    if args.len() == 1 {
        return shown == Shown::ByDefault;
    }
    args.from(1).iter().any(|word| {
        is_word(word, name)
            || (shown >= Shown::ToAll && (is_word(word, "all") || is_word(word, "everything")))
            || (shown == Shown::ByDefault && is_word(word, "default"))
    })
}

/// A section of fixed text.
fn title(text: &mut String, title: &str) -> CommandResult {
    let _ = write!(text, "# {title}\r\n");
    Ok(())
}

/// Whether the server is a node of a cluster.
fn cluster(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    title(text, &format!("Cluster\r\ncluster_enabled:{}", u8::from(context.engine.cluster.is_on())))
}

/// What CLUSTER INFO says.
fn cluster_info(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    title(text, "Cluster Info")?;
    text.push_str(&context.engine.cluster.info());
    Ok(())
}

/// Bytes for people: `1.50K`, `2.00M`.
fn human(bytes: u64) -> String {
    const UNITS: [(&str, u64); 5] =
        [("P", 1 << 50), ("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{:.2}{name}", bytes as f64 / *unit as f64),
        None => format!("{bytes}B"),
    }
}

fn memory(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    let engine = context.engine;
    let overview = Overview::of(context)?;
    let Overview { memory, peak, startup, clients, .. } = overview;
    let maxmemory = engine.config.hot.maxmemory.load(Relaxed);
    let (pending, freed) = engine.background.freed();
    let shapes = larder_collections::shapes::stats();
    let (cold, dictionaries) = (engine.cold.figures(), larder_collections::cold::stats());
    let (scripts, libraries) = (engine.scripts.usage(), engine.scripts.libraries());
    // Scripts and functions share the interpreters.
    let vm = engine.scripts.vm_bytes.load(Relaxed);
    let vm_functions = engine.scripts.function_bytes.load(Relaxed).min(vm);
    let vm_eval = vm - vm_functions;
    text.push_str("# Memory\r\n");
    lines!(text,
        "used_memory": memory.used,
        "used_memory_human": human(memory.used),
        "used_memory_rss": memory.rss,
        "used_memory_rss_human": human(memory.rss),
        "used_memory_peak": peak,
        "used_memory_peak_human": human(peak),
        "used_memory_peak_perc": format!("{:.2}%", overview.peak_percent()),
        "used_memory_overhead": overview.overhead(),
        "used_memory_startup": startup,
        "used_memory_dataset": overview.dataset(),
        "used_memory_dataset_perc": format!("{:.2}%", overview.dataset_percent()),
        "allocator_allocated": memory.allocated,
        "allocator_active": memory.active,
        "allocator_resident": memory.resident,
        // Such pages are given back at once.
        "allocator_muzzy": 0,
        "total_system_memory": memory.system_total,
        "total_system_memory_human": human(memory.system_total),
        "used_memory_lua": vm_eval,
        "used_memory_vm_eval": vm_eval,
        "used_memory_lua_human": human(vm_eval),
        "used_memory_scripts_eval": scripts.bytes,
        "number_of_cached_scripts": scripts.count,
        "number_of_functions": libraries.function_count(),
        "number_of_libraries": libraries.iter().len(),
        "used_memory_vm_functions": vm_functions,
        "used_memory_vm_total": vm,
        "used_memory_vm_total_human": human(vm),
        "used_memory_functions": libraries.memory_bytes(),
        "used_memory_scripts": scripts.bytes + libraries.memory_bytes(),
        "used_memory_scripts_human": human((scripts.bytes + libraries.memory_bytes()) as u64),
        "maxmemory": maxmemory,
        "maxmemory_human": human(maxmemory),
        "maxmemory_policy": engine.config.value("maxmemory-policy"),
        "allocator_frag_ratio": format!("{:.2}", ratio(memory.active, memory.allocated)),
        "allocator_frag_bytes": memory.active.saturating_sub(memory.allocated),
        "allocator_rss_ratio": format!("{:.2}", ratio(memory.resident, memory.active)),
        "allocator_rss_bytes": memory.resident.saturating_sub(memory.active),
        "rss_overhead_ratio": format!("{:.2}", ratio(memory.rss, memory.resident)),
        "rss_overhead_bytes": memory.rss as i64 - memory.resident as i64,
        "mem_fragmentation_ratio": format!("{:.2}", ratio(memory.rss, memory.used)),
        "mem_fragmentation_bytes": memory.rss as i64 - memory.used as i64,
        "mem_not_counted_for_evict": engine.bytes_not_counted(),
        "mem_replication_backlog": overview.backlog(),
        "mem_total_replication_buffers": overview.stream.0,
        "mem_replicas_repl_buffer": 0,
        "mem_clients_slaves": overview.stream.1,
        "mem_clients_normal": clients,
        "mem_cluster_links": 0,
        "mem_cluster_slot_import": 0,
        "mem_cluster_slot_export": 0,
        "mem_overhead_db_hashtable_rehashing": 0,
        "mem_aof_buffer": engine.append_log.buffer_bytes(),
        "mem_allocator": "jemalloc",
        "active_defrag_running": engine.defrag.running_percent(),
        "lazyfree_pending_objects": pending,
        "lazyfreed_objects": freed,
        "lists_waiting_for_compression": engine.background.compressing(),
        "cold_values": cold.values,
        "cold_values_raw_bytes": cold.raw_bytes,
        "cold_values_packed_bytes": cold.packed_bytes,
        "cold_dictionaries": dictionaries.count,
        "cold_dictionaries_bytes": dictionaries.bytes,
        "hash_shapes": shapes.shapes,
        "hash_shapes_users": shapes.users,
        "hash_shapes_bytes": shapes.bytes,
        "hash_shapes_saved_bytes": shapes.saved_bytes,
    );
    Ok(())
}

fn persistence(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    let engine = context.engine;
    let state = engine.persistence();
    let now_s = context.now_ms() / 1000;
    let took = |seconds: Option<u64>| seconds.map_or(-1, |seconds| seconds as i64);
    let since = |at: Option<u64>| took(at.map(|at| now_s.saturating_sub(at)));
    let ok = |failed: bool| if failed { "err" } else { "ok" };
    let (save, log) = (state.save.lock().clone(), state.log.lock().clone());
    let (saved, to_save) = (state.saved_keys.load(Relaxed), state.keys_to_save.load(Relaxed));
    let saves_since_s = save.running_since_s.or_else(|| state.sync_since_s());
    let busy = saves_since_s.is_some() || log.rewriting_since_s.is_some();
    let serves_meanwhile = engine.gate.serves_while_loading();
    text.push_str("# Persistence\r\n");
    lines!(text,
        "loading": u8::from(engine.gate.is_loading() && !serves_meanwhile),
        "async_loading": u8::from(serves_meanwhile),
        "current_cow_peak": 0,
        "current_cow_size": 0,
        "current_cow_size_age": 0,
        "current_fork_perc": format_args!("{:.2}", if busy { 100.0 * saved as f64 / to_save.max(1) as f64 } else { 0.0 }),
        "current_save_keys_processed": if busy { saved } else { 0 },
        "current_save_keys_total": if busy { to_save } else { 0 },
        "rdb_changes_since_last_save": engine.changes().saturating_sub(save.changes),
        "rdb_bgsave_in_progress": u8::from(saves_since_s.is_some()),
        "rdb_last_save_time": save.last_success_s,
        "rdb_last_bgsave_status": ok(save.failed),
        "rdb_last_bgsave_time_sec": took(save.last_took_s),
        "rdb_current_bgsave_time_sec": since(saves_since_s),
        "rdb_saves": save.saves,
        "rdb_last_cow_size": 0,
        "rdb_last_load_keys_expired": state.load.keys_expired.load(Relaxed),
        "rdb_last_load_keys_loaded": state.load.keys_loaded.load(Relaxed),
        "aof_enabled": u8::from(log.enabled),
        "aof_rewrite_in_progress": u8::from(log.rewriting_since_s.is_some()),
        "aof_rewrite_scheduled": u8::from(log.rewrite_scheduled),
        "aof_last_rewrite_time_sec": took(log.last_took_s),
        "aof_current_rewrite_time_sec": since(log.rewriting_since_s),
        "aof_last_bgrewrite_status": ok(log.rewrite_failed),
        "aof_rewrites": log.rewrites,
        "aof_rewrites_consecutive_failures": u8::from(log.rewrite_failed),
        "aof_last_write_status": ok(!log.write_error.is_empty()),
        "aof_last_cow_size": 0,
        "module_fork_in_progress": 0,
        "module_fork_last_cow_size": 0,
        "slot_migration_fork_in_progress": 0,
    );
    if log.enabled {
        lines!(text,
            "aof_current_size": log.size,
            "aof_base_size": log.base_size,
            "aof_pending_rewrite": u8::from(log.rewrite_scheduled),
            "aof_buffer_length": engine.append_log.pending(),
            "aof_pending_bio_fsync": u8::from(engine.append_log.synced() < engine.append_log.end()),
            "aof_delayed_fsync": log.delayed_fsync,
        );
    }
    if engine.gate.is_loading() {
        write_loading(engine, now_s, text);
    }
    Ok(())
}

fn write_loading(engine: &Engine, now_s: u64, text: &mut String) {
    let load = &engine.persistence().load;
    let (total, loaded) = (load.total_bytes.load(Relaxed), load.loaded_bytes.load(Relaxed).max(1));
    let started = load.started_s.load(Relaxed);
    let eta = total.saturating_sub(loaded) * now_s.saturating_sub(started) / loaded;
    lines!(text,
        "loading_start_time": started,
        "loading_total_bytes": total,
        "loading_rdb_used_mem": load.saved_used_memory.load(Relaxed),
        "loading_loaded_bytes": loaded,
        "loading_loaded_perc": format_args!("{:.2}", 100.0 * loaded as f64 / total.max(1) as f64),
        "loading_eta_seconds": eta,
    );
}

fn stats(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    let mut tracked = 0;
    context.each_lent_shard(|data| tracked += data.read_keys.items())?;
    let engine = context.engine;
    let rates = &engine.rates;
    let (defrag_ms, defrag_now_ms) = engine.defrag.time_ms(engine.mono_us());
    let moved = engine.defrag.moved();
    let (exceeded_ms, exceeded_now_ms) = engine.eviction.exceeded_ms(engine.mono_us());
    let kb = |bytes: u64| format!("{:.2}", bytes as f64 / 1024.0);
    text.push_str("# Stats\r\n");
    lines!(text,
        "total_connections_received": engine.sum(|s| &s.connections),
        "total_commands_processed": engine.sum(|s| &s.processed),
        "instantaneous_ops_per_sec": rates.ops_per_second.load(Relaxed),
        "total_net_input_bytes": engine.net_in(),
        "total_net_output_bytes": engine.net_out(),
        "total_net_repl_input_bytes": engine.replication.bytes_in.load(Relaxed),
        "total_net_repl_output_bytes": engine.replication.bytes_out.load(Relaxed),
        "total_net_cluster_slot_import_bytes": engine.cluster.migrations.bytes_in.load(Relaxed),
        "total_net_cluster_slot_export_bytes": engine.cluster.migrations.bytes_out.load(Relaxed),
        "instantaneous_input_kbps": kb(rates.in_bytes_per_second.load(Relaxed)),
        "instantaneous_output_kbps": kb(rates.out_bytes_per_second.load(Relaxed)),
        "instantaneous_input_repl_kbps": kb(rates.replication_in_bytes_per_second.load(Relaxed)),
        "instantaneous_output_repl_kbps": kb(rates.replication_out_bytes_per_second.load(Relaxed)),
        "rejected_connections": engine.sum(|s| &s.rejected_connections),
        "sync_full": engine.replication.full_syncs.load(Relaxed),
        "sync_partial_ok": engine.replication.partial_syncs.load(Relaxed),
        "sync_partial_err": engine.replication.refused_partial_syncs.load(Relaxed),
        "expired_keys": engine.sum(|s| &s.expired) + engine.expired_actively.load(Relaxed),
        "expired_fields": engine.sum(|s| &s.expired_fields) + rates.expired_fields.load(Relaxed),
        "expired_stale_perc": "0.00",
        "expired_keys_with_volatile_items_stale_perc": "0.00",
        "expired_time_cap_reached_count": rates.expire_stopped_early.load(Relaxed),
        "expire_cycle_cpu_milliseconds": rates.expire_time_us.load(Relaxed) / 1000,
        "evicted_keys": engine.eviction.evicted_keys.load(Relaxed),
        "evicted_scripts": engine.scripts.usage().evicted,
        "evicted_clients": engine.client_memory.evicted.load(Relaxed),
        "total_eviction_exceeded_time": exceeded_ms,
        "current_eviction_exceeded_time": exceeded_now_ms,
        "keyspace_hits": engine.sum(|s| &s.hits),
        "keyspace_misses": engine.sum(|s| &s.misses),
        "pubsub_channels": engine.pubsub.len(Space::Channels),
        "pubsub_patterns": engine.pubsub.len(Space::Patterns),
        "pubsubshard_channels": engine.pubsub.len(Space::ShardChannels),
        "latest_fork_usec": 0,
        "total_forks": 0,
        "migrate_cached_sockets": engine.host.kept_connections(),
        "slave_expires_tracked_keys": engine.replication.own_deadlines.len(),
        "active_defrag_hits": moved.blocks,
        "active_defrag_misses": moved.left,
        "active_defrag_key_hits": moved.keys,
        "active_defrag_key_misses": moved.keys_left,
        "total_active_defrag_time": defrag_ms,
        "current_active_defrag_time": defrag_now_ms,
        "tracking_total_keys": engine.trackers.keys.load(Relaxed),
        "tracking_total_items": tracked,
        "tracking_total_prefixes": engine.trackers.prefixes.len(),
        "unexpected_error_replies": engine.replication.unexpected_errors.load(Relaxed),
        "total_error_replies": engine.sum(|s| &s.errors),
        "dump_payload_sanitizations": 0,
        "total_reads_processed": engine.sum(|s| &s.reads),
        "total_writes_processed": engine.sum(|s| &s.writes),
        "client_query_buffer_limit_disconnections": engine.sum(|s| &s.query_limit_closes),
        "client_output_buffer_limit_disconnections": engine.sum(|s| &s.output_limit_closes),
        "reply_buffer_shrinks": 0,
        "reply_buffer_expands": 0,
        // A worker reads, executes and writes itself: no other thread does it for another.
        "io_threaded_reads_processed": 0,
        "io_threaded_writes_processed": 0,
        "io_threaded_freed_objects": 0,
        "io_threaded_accept_processed": 0,
        "io_threaded_poll_processed": 0,
        "io_threaded_total_prefetch_batches": 0,
        "io_threaded_total_prefetch_entries": 0,
        "eventloop_cycles": engine.sum(|s| &s.loops),
        "eventloop_duration_sum": engine.sum(|s| &s.loop_ns) / 1000,
        "eventloop_duration_cmd_sum": command_ns(engine) / 1000,
        "instantaneous_eventloop_cycles_per_sec": rates.loops_per_second.load(Relaxed),
        "instantaneous_eventloop_duration_usec": rates.loop_us.load(Relaxed),
        "acl_access_denied_auth": engine.acl.log.denied(Reason::Auth),
        "acl_access_denied_cmd": engine.acl.log.denied(Reason::Command),
        "acl_access_denied_db": engine.acl.log.denied(Reason::Database),
        "acl_access_denied_key": engine.acl.log.denied(Reason::Key),
        "acl_access_denied_channel": engine.acl.log.denied(Reason::Channel),
        "acl_access_denied_tls_cert": engine.acl.log.denied(Reason::TlsCertificate),
    );
    Ok(())
}

/// Time spent in commands, by all threads.
fn command_ns(engine: &Engine) -> u64 {
    let mut nanos = 0;
    engine.each_stats(|stats| nanos += stats.commands.iter().map(|command| command.nanos.get()).sum::<u64>());
    nanos
}

fn tls(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    text.push_str("# TLS\r\n");
    let certificates = context.engine.host.tls_certificates();
    let now_s = (context.worker.clock.wall_ms() / 1000) as i64;
    let all =
        [("server", certificates.server), ("client", certificates.client), ("ca", certificates.authority)];
    for (whose, facts) in all {
        let serial = facts.as_ref().map_or("none", |facts| &facts.serial);
        let left_s = facts.as_ref().map_or(0, |facts| (facts.expires_s - now_s).max(0));
        let _ = write!(
            text,
            "tls_{whose}_cert_serial:{serial}\r\ntls_{whose}_cert_expires_in_seconds:{left_s}\r\n"
        );
    }
    Ok(())
}

/// The one that MODULE LIST shows.
fn modules(_context: &mut Context<'_>, text: &mut String) -> CommandResult {
    text.push_str("# Modules\r\n");
    lines!(text, "module": "name=lua,ver=1,api=1,filters=0,usedby=[],using=[],options=[]",);
    Ok(())
}

fn scripting_engines(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    let scripts = &context.engine.scripts;
    let (used, overhead) = (scripts.vm_bytes.load(Relaxed), scripts.usage().bytes);
    text.push_str("# Scripting Engines\r\n");
    lines!(text,
        "engines_count": 1,
        "engines_total_used_memory": used,
        "engines_total_memory_overhead": overhead,
        "engine_0": format_args!("name=LUA,module=lua,abi_version=4,used_memory={used},memory_overhead={overhead}"),
    );
    Ok(())
}

fn cpu(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    let times = context.engine.host.cpu();
    text.push_str("# CPU\r\n");
    lines!(text,
        "used_cpu_sys": format!("{:.6}", times.sys),
        "used_cpu_user": format!("{:.6}", times.user),
        "used_cpu_sys_children": "0.000000",
        "used_cpu_user_children": "0.000000",
        "used_cpu_sys_main_thread": format!("{:.6}", times.first_sys),
        "used_cpu_user_main_thread": format!("{:.6}", times.first_user),
        "used_active_time_main_thread": format!("{:.6}", context.engine.first_worker_ns() as f64 / 1e9),
    );
    Ok(())
}

fn commandstats(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    text.push_str("# Commandstats\r\n");
    for found in table().all() {
        let (mut calls, mut nanos, mut rejected, mut failed) = (0, 0, 0, 0);
        context.engine.each_stats(|stats| {
            let stats = &stats.commands[usize::from(found.id)];
            calls += stats.calls.get();
            nanos += stats.nanos.get();
            rejected += stats.rejected.get();
            failed += stats.failed.get();
        });
        if calls + rejected + failed == 0 {
            continue;
        }
        let micros = nanos / 1000;
        let each = if calls == 0 { 0.0 } else { nanos as f64 / 1000.0 / calls as f64 };
        let name = found.full_name();
        let _ = write!(
            text,
            "cmdstat_{name}:calls={calls},usec={micros},usec_per_call={each:.2},rejected_calls={rejected},failed_calls={failed}\r\n"
        );
    }
    Ok(())
}

fn errorstats(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    text.push_str("# Errorstats\r\n");
    for (code, count) in context.engine.errors.snapshot() {
        let _ = write!(text, "errorstat_{code}:count={count}\r\n");
    }
    Ok(())
}

fn latencystats(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    text.push_str("# Latencystats\r\n");
    let percentiles = context.engine.config.value("latency-tracking-info-percentiles");
    for found in table().all() {
        let summary = latency::summary(context, found.id);
        if summary.total() == 0 {
            continue;
        }
        let values: Vec<String> = percentiles
            .split_whitespace()
            .filter_map(|p| Some((p, p.parse::<f64>().ok()?)))
            .map(|(p, percent)| format!("p{p}={:.3}", summary.percentile(percent) as f64 / 1000.0))
            .collect();
        let _ = write!(text, "latency_percentiles_usec_{}:{}\r\n", found.full_name(), values.join(","));
    }
    Ok(())
}

fn keyspace(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    text.push_str("# Keyspace\r\n");
    for db in 0..context.engine.database_count() {
        let (mut keys, mut expires, mut with_fields, mut sum_ms) = (0, 0, 0, 0_u128);
        let engine = context.engine;
        let mut shard = 0;
        context.each_lent_shard(|data| {
            let at = shard;
            shard += 1;
            let Some(table) = data.table(db) else { return };
            keys += engine.cluster.migrations.hidden().visible_len(at, table);
            expires += Table::expires_len(table);
            sum_ms += table.expires_sum_ms();
            with_fields += data.field_expiry.len(db);
        })?;
        if keys > 0 {
            let mean_ms = sum_ms.checked_div(expires as u128).unwrap_or(0);
            let avg_ttl = mean_ms.saturating_sub(u128::from(context.now_ms()));
            let _ = write!(
                text,
                "db{db}:keys={keys},expires={expires},avg_ttl={avg_ttl},keys_with_volatile_items={with_fields}\r\n"
            );
        }
    }
    Ok(())
}
