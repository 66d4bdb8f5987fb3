//! The process: threads, log, files, signals, scheduling.

use super::row::*;
use crate::config::choices::{
    Choice, LogFormat, LogThreshold, LogTimestampFormat, OomScoreAdj, SHUTDOWN, Supervised,
};
use crate::config::error::OptionError;
use crate::config::kind::Kind;
use crate::config::kind::Names;
use crate::config::special::Special;

const FACILITIES: Names = &[
    ("user", 8),
    ("local0", 128),
    ("local1", 136),
    ("local2", 144),
    ("local3", 152),
    ("local4", 160),
    ("local5", 168),
    ("local6", 176),
    ("local7", 184),
];
const TITLE: &str = "{title} {listen-addr} {server-mode}";
/// What a process title may be made of.
const TITLE_VARIABLES: [&str; 7] =
    ["title", "listen-addr", "server-mode", "port", "tls-port", "unixsocket", "config-file"];

pub(super) static OPTIONS: &[Opt] = &[
    // The default is the number of cores, see `Config::new`.
    int("threads", 1, 1024, "1").alias(&["io-threads"]).immutable(),
    int("prefetch-batch-max-size", 0, 128, "16").dormant("prefetching for threads of input and output"),
    yes_no("daemonize", "no").immutable(),
    one_of("supervised", Supervised::NAMES, "no").immutable(),
    text("pidfile", "").immutable(),
    one_of("loglevel", LogThreshold::NAMES, "notice"),
    text("logfile", "").immutable(),
    one_of("log-format", LogFormat::NAMES, "legacy"),
    one_of("log-timestamp-format", LogTimestampFormat::NAMES, "legacy"),
    yes_no("hide-user-data-from-log", "yes").hot_bool(|h| &h.hide_user_data_from_log),
    yes_no("syslog-enabled", "no").immutable(),
    text("syslog-ident", "larder").immutable(),
    one_of("syslog-facility", FACILITIES, "local0").immutable(),
    yes_no("always-show-logo", "no").immutable(),
    yes_no("set-proc-title", "yes").immutable(),
    checked_text("proc-title-template", title_template, TITLE),
    yes_no("crash-log-enabled", "yes"),
    yes_no("crash-memcheck-enabled", "no").absent("Testing memory in a crash"),
    text("debug-context", "").hidden().immutable(),
    yes_no("enable-debug-assert", "no").hidden().immutable().absent("Assertions for debugging"),
    text("ignore-warnings", "").dormant("warnings that stop the start"),
    checked_text("locale-collate", locale, "").dormant("orders of strings other than that of bytes"),
    text("availability-zone", ""),
    special("dir", Special::Dir, ".").protected(),
    option("shutdown-on-sigint", Kind::Flags(SHUTDOWN), "default"),
    option("shutdown-on-sigterm", Kind::Flags(SHUTDOWN), "default"),
    int("shutdown-timeout", 0, INT_MAX, "10"),
    one_of("oom-score-adj", OomScoreAdj::NAMES, "no"),
    special("oom-score-adj-values", Special::OomScores, "0 200 800"),
    yes_no("disable-thp", "yes").immutable(),
    yes_no("jemalloc-bg-thread", "yes"),
    text("server-cpulist", "").alias(&["server_cpulist"]).immutable(),
    text("bio-cpulist", "").alias(&["bio_cpulist"]).immutable(),
    text("aof-rewrite-cpulist", "").alias(&["aof_rewrite_cpulist"]).immutable(),
    text("bgsave-cpulist", "").alias(&["bgsave_cpulist"]).immutable(),
    int("hz", 0, INT_MAX, "10").hot_int(|h| &h.hz),
    int("databases", 1, INT_MAX, "16").immutable().hot_int(|h| &h.databases),
    int("watchdog-period", 0, INT_MAX, "0").hidden(),
    yes_no("use-exit-on-panic", "no").hidden(),
];

fn title_template(template: &str) -> Result<(), OptionError> {
    if template.is_empty() {
        return Err(OptionError::TitleTemplate);
    }
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let known = rest[open + 1..].split_once('}').filter(|(name, _)| TITLE_VARIABLES.contains(name));
        let Some((_, after)) = known else {
            return Err(OptionError::TitleTemplate);
        };
        rest = after;
    }
    Ok(())
}

/// Strings are compared byte by byte, as in the locale C.
fn locale(name: &str) -> Result<(), OptionError> {
    match name {
        "" | "C" | "POSIX" => Ok(()),
        _ => Err(OptionError::Locale),
    }
}
