//! Logs of commands, latency, scripts.

use super::row::*;
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    int("slowlog-log-slower-than", -1, LONG_MAX, "10000")
        .alias(&["commandlog-execution-slower-than"])
        .hot_int(|h| &h.slowlog_log_slower_than),
    int("slowlog-max-len", 0, LONG_MAX, "128")
        .alias(&["commandlog-slow-execution-max-len"])
        .hot_int(|h| &h.slowlog_max_len),
    int("commandlog-request-larger-than", -1, LONG_MAX, "1048576")
        .hot_int(|h| &h.commandlog_request_larger_than),
    int("commandlog-large-request-max-len", 0, LONG_MAX, "128")
        .hot_int(|h| &h.commandlog_large_request_max_len),
    int("commandlog-reply-larger-than", -1, LONG_MAX, "1048576").hot_int(|h| &h.commandlog_reply_larger_than),
    int("commandlog-large-reply-max-len", 0, LONG_MAX, "128").hot_int(|h| &h.commandlog_large_reply_max_len),
    int("latency-monitor-threshold", 0, LONG_MAX, "0").hot_int(|h| &h.latency_monitor_threshold),
    yes_no("latency-tracking", "yes").hot_bool(|h| &h.latency_tracking),
    special("latency-tracking-info-percentiles", Special::Percentiles, "50 99 99.9"),
    int("busy-reply-threshold", 0, LONG_MAX, "5000")
        .alias(&["lua-time-limit"])
        .hot_int(|h| &h.busy_reply_threshold),
    yes_no("lua-enable-insecure-api", "no")
        .alias(&["lua-enable-deprecated-api"])
        .hidden()
        .protected()
        .hot_bool(|h| &h.lua_enable_insecure_api),
];
