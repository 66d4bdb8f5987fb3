//! The section of INFO on connections.

use super::info_lines::lines;
use crate::clients::session::client_flags;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::CommandResult;
use crate::keyspace::waiting::WaitedKeys;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn clients(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    let engine = context.engine;
    let paused = paused(engine, context.now_ms());
    let links = engine.cluster.map().map_or(0, |map| 2 * (map.nodes.len() - 1));
    let (mut watched, mut waited) = (0, WaitedKeys::default());
    context.each_lent_shard(|data| {
        watched += data.watched.len();
        data.waiting.count_keys(&mut waited);
    })?;
    let all = engine.clients.snapshot();
    let max = |pick: fn(&crate::clients::session::ClientShared) -> u64| {
        all.iter().map(|client| pick(client)).max().unwrap_or(0)
    };
    text.push_str("# Clients\r\n");
    lines!(text,
        "connected_clients": engine.clients.len().saturating_sub(engine.replication.replicas.len()),
        "cluster_connections": links,
        "maxclients": engine.config.hot.maxclients.load(Relaxed),
        "client_recent_max_input_buffer": max(|c| c.query_cap.load(Relaxed)),
        "client_recent_max_output_buffer": max(|c| c.output_bytes.load(Relaxed)),
        "blocked_clients": engine.clients.count(|client| client.has(client_flags::BLOCKED)),
        "tracking_clients": engine.trackers.clients.load(Relaxed),
        "pubsub_clients": engine.clients.count(|client| client.has(client_flags::PUBSUB)),
        "watching_clients": engine.clients.count(|client| client.watched() > 0),
        "clients_in_timeout_table": 0,
        "total_watched_keys": watched,
        "total_blocking_keys": waited.all,
        "total_blocking_keys_on_nokey": waited.end_without_key,
        "paused_reason": paused.0,
        "paused_actions": paused.1,
        "paused_timeout_milliseconds": paused.2,
    );
    Ok(())
}

/// Why something is paused, what, and for how many ms more. A server that waits for replicas before it ends pauses writes
/// without an end, which is shown unless clients pause everything.
fn paused(engine: &Engine, now_ms: u64) -> (&'static str, &'static str, u64) {
    let state = engine.pause.state(now_ms).unwrap_or(("none", "none", 0));
    let ends = engine.replication.ends_by_ms().is_some() && state.1 != "all";
    if ends { ("shutdown_in_progress", "write", i64::MAX as u64 - now_ms) } else { state }
}
