//! Logs of commands, latency, scripts.

use super::row::*;
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    int("slowlog-log-slower-than", -1, LONG_MAX, "10000")
        .alias(&["commandlog-execution-slower-than"])
        .hot_int(|h| &h.slowlog_log_slower_than)
        .does(
            "Minimum microseconds for a command to be logged as slow; 0 logs all commands, -1 none.",
            "secrets.rs",
        ),
    int("slowlog-max-len", 0, LONG_MAX, "128")
        .alias(&["commandlog-slow-execution-max-len"])
        .hot_int(|h| &h.slowlog_max_len)
        .does("Maximum number of logged slow commands.", "secrets.rs"),
    int("commandlog-request-larger-than", -1, LONG_MAX, "1048576")
        .hot_int(|h| &h.commandlog_request_larger_than)
        .does("Minimum bytes for a request to be logged as large; -1 logs none.", "secrets.rs"),
    int("commandlog-large-request-max-len", 0, LONG_MAX, "128")
        .hot_int(|h| &h.commandlog_large_request_max_len)
        .does("Maximum number of logged large requests.", "secrets.rs"),
    int("commandlog-reply-larger-than", -1, LONG_MAX, "1048576")
        .hot_int(|h| &h.commandlog_reply_larger_than)
        .does("Minimum bytes for a reply to be logged as large; -1 logs none.", "secrets.rs"),
    int("commandlog-large-reply-max-len", 0, LONG_MAX, "128")
        .hot_int(|h| &h.commandlog_large_reply_max_len)
        .does("Maximum number of logged large replies.", "secrets.rs"),
    int("latency-monitor-threshold", 0, LONG_MAX, "0")
        .hot_int(|h| &h.latency_monitor_threshold)
        .does("Minimum milliseconds for `LATENCY` to record an event; 0 disables it.", "secrets.rs"),
    yes_no("latency-tracking", "yes").hot_bool(|h| &h.latency_tracking).does(
        "Keeps a latency histogram for each command, for `INFO latencystats` and `LATENCY HISTOGRAM`.",
        "options/data.rs",
    ),
    special("latency-tracking-info-percentiles", Special::Percentiles, "50 99 99.9")
        .does("Percentiles shown by `INFO latencystats`.", "options/data.rs"),
    int("busy-reply-threshold", 0, LONG_MAX, "5000")
        .alias(&["lua-time-limit"])
        .hot_int(|h| &h.busy_reply_threshold)
        .does(
            "Milliseconds after which a running script makes other clients get `BUSY` errors; 0 means never.",
            "scripting.rs",
        ),
    yes_no("lua-enable-insecure-api", "no")
        .alias(&["lua-enable-deprecated-api"])
        .hidden()
        .protected()
        .hot_bool(|h| &h.lua_enable_insecure_api)
        .does("Enables `getfenv`, `setfenv` and `newproxy` in scripts.", "options/main.rs"),
];
