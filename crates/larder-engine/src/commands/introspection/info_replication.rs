//! The section of INFO on replication.

use crate::clock::mono_ms;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::CommandResult;
use crate::replication::failover::FailoverPhase;
use crate::replication::state::{LinkState, Upstream};
use std::fmt::Write;

macro_rules! line {
    ($text:expr, $name:literal, $value:expr) => {
        let _ = write!($text, concat!($name, ":{}\r\n"), $value);
    };
}

pub(super) fn replication(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    let engine = context.engine;
    let state = engine.replication.state().clone();
    let end = engine.append_log.stream_end();
    text.push_str("# Replication\r\n");
    line!(text, "role", if state.upstream.is_some() { "slave" } else { "master" });
    if let Some(upstream) = &state.upstream {
        upstream_lines(engine, upstream, end, text);
    }
    replica_lines(engine, context.now_ms(), text);
    let backlog = engine.append_log.backlog();
    let has_stream = engine.replication.has_stream.load(std::sync::atomic::Ordering::Relaxed);
    let failover = engine.replication.failover_phase().map_or("no-failover", FailoverPhase::name);
    line!(text, "master_failover_state", failover);
    let former = state.history.former();
    line!(text, "master_replid", state.history.id());
    line!(text, "master_replid2", former.map_or("0".repeat(40), |(id, _)| id.to_string()));
    line!(text, "master_repl_offset", end);
    line!(text, "second_repl_offset", former.map_or(-1, |(_, until)| until as i64 + 1));
    line!(text, "repl_backlog_active", u8::from(has_stream));
    line!(text, "repl_backlog_size", engine.config.value("repl-backlog-size"));
    line!(text, "repl_backlog_first_byte_offset", if has_stream { backlog.start + 1 } else { 0 });
    line!(text, "repl_backlog_histlen", backlog.end - backlog.start);
    Ok(())
}

/// What a replica says of its primary.
fn upstream_lines(engine: &Engine, upstream: &Upstream, applied: u64, text: &mut String) {
    let (is_up, times, now) = (upstream.link == LinkState::Connected, &upstream.times, mono_ms());
    let silence_s = times.heard().map_or(-1, |heard| (now.saturating_sub(heard) / 1000) as i64);
    let since_io = if is_up { silence_s } else { -1 };
    line!(text, "master_host", upstream.host);
    line!(text, "master_port", upstream.port);
    line!(text, "master_link_status", if is_up { "up" } else { "down" });
    line!(text, "master_last_io_seconds_ago", since_io);
    line!(text, "master_sync_in_progress", u8::from(upstream.link == LinkState::Transfer));
    line!(text, "slave_read_repl_offset", upstream.received.max(applied));
    line!(text, "slave_repl_offset", applied);
    line!(text, "replicas_repl_buffer_size", 0);
    line!(text, "replicas_repl_buffer_peak", 0);
    if upstream.link == LinkState::Transfer {
        let (total, read) = upstream.transfer;
        let percent = if total == 0 { 0.0 } else { 100.0 * read as f64 / total as f64 };
        line!(text, "master_sync_total_bytes", total);
        line!(text, "master_sync_read_bytes", read);
        line!(text, "master_sync_left_bytes", total as i64 - read as i64);
        line!(text, "master_sync_perc", format_args!("{percent:.2}"));
        line!(text, "master_sync_last_io_seconds_ago", silence_s);
    }
    if !is_up {
        let down_s = times.down_ms(now).map_or(-1, |ms| (ms / 1000) as i64);
        line!(text, "master_link_down_since_seconds", down_s);
    }
    line!(text, "slave_priority", engine.config.value("replica-priority"));
    line!(text, "slave_read_only", u8::from(engine.config.is_yes("replica-read-only")));
    line!(text, "replica_announced", u8::from(engine.config.is_yes("replica-announced")));
}

/// What a server says of its replicas.
fn replica_lines(engine: &Engine, now_ms: u64, text: &mut String) {
    let replicas = engine.replication.replicas.list();
    line!(text, "connected_slaves", replicas.len());
    if engine.wants_replicas() {
        line!(text, "min_slaves_good_slaves", engine.good_replicas());
    }
    for (index, replica) in replicas.iter().enumerate() {
        let lag_s = if replica.is_online() { replica.lag_ms(now_ms) / 1000 } else { 0 };
        let (ip, port) = (replica.address(), replica.info.port);
        let (phase, offset) = (replica.phase().name(), replica.acked());
        let _ = write!(
            text,
            "slave{index}:ip={ip},port={port},state={phase},offset={offset},lag={lag_s},type=replica\r\n"
        );
    }
    line!(text, "replicas_waiting_psync", 0);
}
