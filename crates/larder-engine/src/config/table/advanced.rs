//! Logs of commands, latency, scripts.

use super::row::*;
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    int("slowlog-log-slower-than", -1, LONG_MAX, "10000")
        .alias(&["commandlog-execution-slower-than"])
        .hot_int(|h| &h.slowlog_log_slower_than)
        .does("Microseconds from which a command is in the log of slow ones.", "secrets.rs"),
    int("slowlog-max-len", 0, LONG_MAX, "128")
        .alias(&["commandlog-slow-execution-max-len"])
        .hot_int(|h| &h.slowlog_max_len)
        .does("Entries of the log of slow commands.", "secrets.rs"),
    int("commandlog-request-larger-than", -1, LONG_MAX, "1048576")
        .hot_int(|h| &h.commandlog_request_larger_than)
        .does("Bytes of a request from which it is in the log of large ones.", "secrets.rs"),
    int("commandlog-large-request-max-len", 0, LONG_MAX, "128")
        .hot_int(|h| &h.commandlog_large_request_max_len)
        .does("Entries of the log of large requests.", "secrets.rs"),
    int("commandlog-reply-larger-than", -1, LONG_MAX, "1048576")
        .hot_int(|h| &h.commandlog_reply_larger_than)
        .does("Bytes of a reply from which it is in the log of large ones.", "secrets.rs"),
    int("commandlog-large-reply-max-len", 0, LONG_MAX, "128")
        .hot_int(|h| &h.commandlog_large_reply_max_len)
        .does("Entries of the log of large replies.", "secrets.rs"),
    int("latency-monitor-threshold", 0, LONG_MAX, "0")
        .hot_int(|h| &h.latency_monitor_threshold)
        .does("Milliseconds from which `LATENCY` remembers an event; 0 is never.", "secrets.rs"),
    yes_no("latency-tracking", "yes")
        .hot_bool(|h| &h.latency_tracking)
        .does("Keeps histograms of the times of commands.", "options/data.rs"),
    special("latency-tracking-info-percentiles", Special::Percentiles, "50 99 99.9")
        .does("Percentiles that `INFO latencystats` shows.", "options/data.rs"),
    int("busy-reply-threshold", 0, LONG_MAX, "5000")
        .alias(&["lua-time-limit"])
        .hot_int(|h| &h.busy_reply_threshold)
        .does("Milliseconds after which others are told that a script is busy.", "scripting.rs"),
    yes_no("lua-enable-insecure-api", "no")
        .alias(&["lua-enable-deprecated-api"])
        .hidden()
        .protected()
        .hot_bool(|h| &h.lua_enable_insecure_api)
        .does("Scripts have `getfenv`, `setfenv` and `newproxy`.", "options/main.rs"),
];
