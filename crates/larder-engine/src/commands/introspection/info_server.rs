//! The section of INFO on the process.

use super::info_lines::lines;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::CommandResult;
use crate::version::{Product, REDIS_VERSION, VALKEY_VERSION};
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn server(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    let engine = context.engine;
    let uptime = (context.now_ms().saturating_sub(engine.started_wall_ms)) / 1000;
    let hz = engine.config.hot.hz.load(Relaxed);
    let mode = if engine.cluster.is_on() { "cluster" } else { "standalone" };
    let (commit, build) = engine.host.build();
    text.push_str("# Server\r\n");
    lines!(text,
        "redis_version": REDIS_VERSION,
        // Client libraries decide by it, as by HELLO, which features there are.
        "server_name": Product::Valkey.word(),
        "larder_version": env!("CARGO_PKG_VERSION"),
        "valkey_version": VALKEY_VERSION,
        "valkey_release_stage": "ga",
        "redis_git_sha1": &commit[..commit.len().min(8)],
        "redis_git_dirty": 0,
        "redis_build_id": build,
    );
    let product = engine.config.product();
    let _ = write!(text, "{}_mode:{mode}\r\n", if product == Product::Redis { "redis" } else { "server" });
    lines!(text,
        "os": engine.host.os(),
        "arch_bits": usize::BITS,
        "monotonic_clock": "POSIX clock_gettime",
        "multiplexing_api": if cfg!(target_os = "linux") { "epoll" } else { "kqueue" },
        // What Valkey shows when another compiler built it.
        "gcc_version": "0.0.0",
        "process_id": std::process::id(),
        "process_supervised": engine.host.supervisor(),
        "run_id": engine.run_id,
        "tcp_port": engine.config.first_port(),
        "server_time_usec": context.worker.clock.wall_us(),
        "uptime_in_seconds": uptime,
        "uptime_in_days": uptime / 86_400,
        "hz": hz,
        "configured_hz": hz,
        "clients_hz": hz,
        "lru_clock": context.now_s() & 0xff_ffff,
        "executable": engine.host.executable(),
        "config_file": engine.host.config_file(),
        "threads": engine.threads,
        "io_threads_active": u8::from(engine.threads > 1),
        "availability_zone": engine.config.value("availability-zone"),
    );
    if let Some(by_ms) = engine.replication.ends_by_ms() {
        lines!(text, "shutdown_in_milliseconds": by_ms.saturating_sub(crate::clock::wall_ms()),);
    }
    listeners(engine, text);
    Ok(())
}

/// A line for each way to connect.
fn listeners(engine: &Engine, text: &mut String) {
    let config = &engine.config;
    let bind: String = config.value("bind").split(' ').map(|address| format!("bind={address},")).collect();
    let by_port = |name: &str, port: String| (port != "0").then(|| format!("name={name},{bind}port={port}"));
    let socket = config.value("unixsocket");
    let unix = (!socket.is_empty()).then(|| format!("name=unix,bind={socket}"));
    let all = [by_port("tcp", config.value("port")), unix, by_port("tls", config.value("tls-port"))];
    for (at, listener) in all.into_iter().flatten().enumerate() {
        let _ = write!(text, "listener{at}:{listener}\r\n");
    }
}
