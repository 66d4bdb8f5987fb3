//! What is told of the server as a whole.

use super::census::Count;
use super::page::{Page, Type};
use crate::acl::Reason;
use crate::clients::session::client_flags;
use crate::clock::{mono_ms, wall_ms};
use crate::engine::Engine;
use crate::keyspace::key::SHARDS;
use crate::pubsub::Space;
use crate::replication::state::LinkState;
use crate::version::VALKEY_VERSION;
use std::sync::atomic::Ordering::Relaxed;

use Type::{Counter, Gauge};

pub(super) fn facts(engine: &Engine, page: &mut Page<'_>) {
    page.family("info", Gauge, "Facts about the server, as labels.");
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("valkey_version", VALKEY_VERSION),
        ("run_id", &engine.run_id),
        ("os", &engine.host.os()),
    ];
    page.sample("info", &labels, 1);
    let started = engine.started_wall_ms as f64 / 1e3;
    page.gauge("start_time_seconds", "When the server started, in seconds since 1970.", started);
    page.gauge("threads", "Threads that serve clients.", engine.threads);
    let times = engine.host.cpu();
    page.by(
        "cpu_seconds_total",
        (Counter, "Processor time of the process."),
        "mode",
        [("system", times.sys), ("user", times.user)],
    );
    page.counter("event_loops_total", "Iterations of the event loops.", engine.sum(|s| &s.loops));
    let busy_s = engine.sum(|s| &s.loop_ns) as f64 / 1e9;
    page.counter(
        "event_loop_seconds_total",
        "Time spent in iterations of the event loops, without waiting for events.",
        busy_s,
    );
}

pub(super) fn memory(engine: &Engine, page: &mut Page<'_>) {
    let memory = engine.host.memory();
    engine.note_memory(memory.used);
    let (scripts, backlog) = (&engine.scripts, engine.append_log.backlog());
    page.by(
        "memory_bytes",
        (
            Gauge,
            "Memory by purpose: in use, as the allocator and the kernel count it, and parts of the server.",
        ),
        "of",
        [
            ("used", memory.used),
            ("resident", memory.rss),
            ("peak", engine.rates.used_memory_peak.load(Relaxed)),
            ("allocated", memory.allocated),
            ("allocator_active", memory.active),
            ("allocator_resident", memory.resident),
            ("startup", engine.startup_memory()),
            ("clients", engine.client_bytes()),
            ("log_buffer", engine.append_log.buffer_bytes()),
            ("replication_backlog", backlog.memory_bytes),
            ("scripts", scripts.vm_bytes.load(Relaxed)),
        ],
    );
    let limit = engine.config.hot.maxmemory.load(Relaxed);
    page.gauge("memory_limit_bytes", "The option maxmemory; 0 is no limit.", limit);
    let evicted = engine.eviction.evicted_keys.load(Relaxed);
    page.counter("evicted_keys_total", "Keys evicted to stay below maxmemory.", evicted);
    let (pending, freed) = engine.background.freed();
    page.gauge("lazy_free_pending", "Values waiting to be freed in the background.", pending);
    page.counter("lazy_freed_total", "Values freed in the background.", freed);
}

/// What the shards say of their tables.
struct Tables {
    /// Keys, and those that expire, by database.
    databases: Vec<(usize, usize)>,
    bytes: usize,
}

impl Tables {
    /// `None` while a script runs for too long.
    fn of(engine: &Engine) -> Option<Tables> {
        let mut tables = Tables { databases: vec![(0, 0); engine.database_count()], bytes: 0 };
        for shard in 0..SHARDS {
            let data = engine.shards.try_lock_lent(shard).ok()?;
            for (table, (keys, expires)) in data.tables().iter().zip(&mut tables.databases) {
                *keys += table.len();
                *expires += table.expires_len();
                tables.bytes += table.memory_bytes();
            }
        }
        Some(tables)
    }

    fn write(&self, page: &mut Page<'_>) {
        let used = || self.databases.iter().enumerate().filter(|(_, (keys, _))| *keys > 0);
        page.by(
            "keys",
            (Gauge, "Keys by database."),
            "db",
            used().map(|(db, (keys, _))| (db.to_string(), keys)),
        );
        page.by(
            "keys_with_expiry",
            (Gauge, "Keys with a time to live, by database."),
            "db",
            used().map(|(db, (_, expires))| (db.to_string(), expires)),
        );
        page.gauge("table_bytes", "Memory of the key tables, including short values.", self.bytes);
    }
}

pub(super) fn keyspace(engine: &Engine, census: &Count, page: &mut Page<'_>) {
    if let Some(tables) = Tables::of(engine) {
        tables.write(page);
    }
    let hits = (engine.sum(|s| &s.hits), engine.sum(|s| &s.misses));
    page.by(
        "lookups_total",
        (Counter, "Key lookups by commands that read, by result."),
        "result",
        [("hit", hits.0), ("miss", hits.1)],
    );
    let expired = engine.sum(|s| &s.expired) + engine.expired_actively.load(Relaxed);
    page.counter("expired_keys_total", "Keys deleted because they had expired.", expired);
    let fields = engine.sum(|s| &s.expired_fields) + engine.rates.expired_fields.load(Relaxed);
    page.counter("expired_fields_total", "Hash fields deleted because they had expired.", fields);
    let (waits, seconds) = engine.shards.waits();
    page.counter("shard_lock_waits_total", "Waits for a shard lock.", waits);
    page.counter("shard_lock_wait_seconds_total", "Time spent waiting for shard locks.", seconds);
    types(census, page);
    let waiting = engine.background.compressing();
    let (cold, dictionaries) = (engine.cold.figures(), larder_collections::cold::stats());
    page.gauge("cold_values", "Values that are compressed, at the last walk over the keyspace.", cold.values);
    page.gauge("cold_values_raw_bytes", "Bytes of the compressed values before compression.", cold.raw_bytes);
    page.gauge("cold_values_packed_bytes", "Bytes of the compressed values.", cold.packed_bytes);
    page.gauge("cold_dictionaries", "Dictionaries of the compressed values.", dictionaries.count);
    page.gauge("cold_dictionaries_bytes", "Memory of these dictionaries.", dictionaries.bytes);
    let shapes = larder_collections::shapes::stats();
    page.gauge("hash_shapes", "Lists of field names that hashes share.", shapes.shapes);
    page.gauge("hash_shapes_users", "Hashes that use a shared list of field names.", shapes.users);
    page.gauge("hash_shapes_bytes", "Memory of the shared lists of field names.", shapes.bytes);
    page.gauge("hash_shapes_saved_bytes", "Memory that shared field names save.", shapes.saved_bytes);
    page.gauge("lists_waiting_for_compression", "Lists with blocks waiting for compression.", waiting);
}

fn types(census: &Count, page: &mut Page<'_>) {
    page.gauge(
        "census_time_seconds",
        "End of the last complete walk that counted keys by type, in seconds since 1970; 0 before the first.",
        census.done_s,
    );
    let mut family = |name, help, pick: fn(&super::census::Group) -> u64| {
        page.family(name, Gauge, help);
        for (&(kind, encoding), group) in &census.groups {
            page.sample(name, &[("type", kind), ("encoding", encoding)], pick(group));
        }
    };
    family("type_keys", "Keys by type and encoding, as of the last walk.", |group| group.keys);
    family("type_elements", "Elements of collections, as of the last walk.", |group| group.elements);
    family("type_bytes", "Bytes of keys and values, as of the last walk.", |group| group.bytes);
    page.by(
        "list_blocks",
        (Gauge, "Blocks of lists, as of the last walk."),
        "form",
        [
            ("compressed", census.list_blocks_compressed),
            ("plain", census.list_blocks - census.list_blocks_compressed),
        ],
    );
    let plain = census.list_plain_bytes;
    page.gauge("list_plain_bytes", "Bytes that lists would take if no block were compressed.", plain);
}

pub(super) fn clients(engine: &Engine, page: &mut Page<'_>) {
    let all = engine.clients.snapshot();
    let having = |flag| all.iter().filter(|client| client.has(flag)).count();
    page.gauge("clients", "Client connections.", all.len());
    page.gauge("clients_limit", "The option maxclients.", engine.config.hot.maxclients.load(Relaxed));
    page.by(
        "clients_in_state",
        (Gauge, "Client connections by state."),
        "state",
        [
            ("blocked", having(client_flags::BLOCKED)),
            ("pubsub", having(client_flags::PUBSUB)),
            ("tracking", engine.trackers.clients.load(Relaxed)),
        ],
    );
    page.counter("connections_total", "Connections accepted.", engine.sum(|s| &s.connections));
    page.by(
        "connections_closed_total",
        (Counter, "Connections refused, or closed by the server, by the limit that was reached."),
        "limit",
        [
            ("maxclients", engine.sum(|s| &s.rejected_connections)),
            ("query_buffer", engine.sum(|s| &s.query_limit_closes)),
            ("output_buffer", engine.sum(|s| &s.output_limit_closes)),
            ("maxmemory_clients", engine.client_memory.evicted.load(Relaxed)),
        ],
    );
    page.by(
        "net_bytes_total",
        (Counter, "Bytes from and to clients, replicas, and nodes that slots come from or go to."),
        "direction",
        [("in", engine.net_in()), ("out", engine.net_out())],
    );
    page.by(
        "subscriptions",
        (Gauge, "Channels and patterns with subscribers."),
        "kind",
        [
            ("channel", engine.pubsub.len(Space::Channels)),
            ("pattern", engine.pubsub.len(Space::Patterns)),
            ("shard_channel", engine.pubsub.len(Space::ShardChannels)),
        ],
    );
    let denied = |reason| engine.acl.log.denied(reason);
    page.by(
        "access_denied_total",
        (Counter, "Commands and logins refused by access control, by reason."),
        "reason",
        [
            ("auth", denied(Reason::Auth)),
            ("command", denied(Reason::Command)),
            ("database", denied(Reason::Database)),
            ("key", denied(Reason::Key)),
            ("channel", denied(Reason::Channel)),
        ],
    );
}

pub(super) fn persistence(engine: &Engine, page: &mut Page<'_>) {
    let state = engine.persistence();
    let (save, log) = (state.save.lock().clone(), state.log.lock().clone());
    page.gauge("loading", "1 while the server is loading data.", u8::from(engine.gate.is_loading()));
    page.gauge(
        "snapshot_in_progress",
        "1 while a snapshot is saved or sent to replicas.",
        u8::from(save.running_since_s.is_some() || state.sync_since_s().is_some()),
    );
    page.gauge(
        "snapshot_last_success_time_seconds",
        "Time of the last successful snapshot, in seconds since 1970.",
        save.last_success_s,
    );
    page.gauge("snapshot_last_failed", "1 if the last snapshot failed.", u8::from(save.failed));
    if let Some(seconds) = save.last_took_s {
        page.gauge("snapshot_last_duration_seconds", "Duration of the last snapshot.", seconds);
    }
    let changes = engine.changes().saturating_sub(save.changes);
    page.gauge("changes_since_snapshot", "Changes to the data since the last snapshot.", changes);
    page.gauge("log_enabled", "1 if the append-only file is on.", u8::from(log.enabled));
    if !log.enabled {
        return;
    }
    page.gauge("log_bytes", "Size of the append-only file.", log.size);
    page.gauge("log_base_bytes", "Size of the append-only file after the last rewrite.", log.base_size);
    page.gauge(
        "log_pending_bytes",
        "Bytes not yet written to the append-only file.",
        engine.append_log.pending(),
    );
    let unsynced = engine.append_log.end().saturating_sub(engine.append_log.synced());
    page.gauge(
        "log_unsynced_bytes",
        "Bytes of the append-only file that are not known to be on disk.",
        unsynced,
    );
    page.gauge(
        "log_rewriting",
        "1 while the append-only file is rewritten.",
        u8::from(log.rewriting_since_s.is_some()),
    );
    page.counter("log_rewrites_total", "Rewrites of the append-only file.", log.rewrites);
    page.gauge(
        "log_rewrite_failed",
        "1 if the last rewrite of the append-only file failed.",
        u8::from(log.rewrite_failed),
    );
    page.gauge(
        "log_write_failed",
        "1 if the append-only file cannot be written.",
        u8::from(!log.write_error.is_empty()),
    );
    page.counter(
        "log_delayed_syncs_total",
        "Syncs of the append-only file that were delayed by a previous one.",
        log.delayed_fsync,
    );
}

pub(super) fn replication(engine: &Engine, page: &mut Page<'_>) {
    let state = engine.replication.state().clone();
    let end = engine.append_log.stream_end();
    page.by(
        "role",
        (Gauge, "1 for the role of the server."),
        "role",
        [("primary", u8::from(state.upstream.is_none())), ("replica", u8::from(state.upstream.is_some()))],
    );
    page.gauge("replication_offset", "End of the replication stream, in bytes.", end);
    if let Some(upstream) = &state.upstream {
        let is_up = u8::from(upstream.link == LinkState::Connected);
        page.gauge("primary_link_up", "1 while the link to the primary is up.", is_up);
        let silence_ms = upstream.times.heard().map(|heard| mono_ms().saturating_sub(heard));
        let last_io = silence_ms.map_or(0.0, |silence| wall_ms().saturating_sub(silence) as f64 / 1e3);
        page.gauge(
            "primary_last_io_time_seconds",
            "Time of the last data from the primary, in seconds since 1970.",
            last_io,
        );
    }
    let replicas = engine.replication.replicas.list();
    page.gauge("replicas", "Connected replicas.", replicas.len());
    page.family(
        "replica_lag_bytes",
        Gauge,
        "Bytes of the replication stream that a replica has not acknowledged.",
    );
    for replica in &replicas {
        let port = replica.info.port.to_string();
        let labels = [("ip", replica.address()), ("port", &port), ("state", replica.phase().name())];
        page.sample("replica_lag_bytes", &labels, end.saturating_sub(replica.acked()));
    }
    let counted = [
        ("full", engine.replication.full_syncs.load(Relaxed)),
        ("partial", engine.replication.partial_syncs.load(Relaxed)),
        ("partial_refused", engine.replication.refused_partial_syncs.load(Relaxed)),
    ];
    page.by("synchronizations_total", (Counter, "Synchronizations of replicas, by kind."), "kind", counted);
}
