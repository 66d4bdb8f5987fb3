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
    int("threads", 1, 1024, "1")
        .alias(&["io-threads"])
        .immutable()
        .does("Number of threads that serve clients. The default is the number of cores.", "options/main.rs"),
    int("prefetch-batch-max-size", 0, 128, "16").dormant("prefetching in I/O threads"),
    yes_no("daemonize", "no").immutable().does("Runs the server in the background.", "start.rs"),
    one_of("supervised", Supervised::NAMES, "no")
        .immutable()
        .does("Supervisor that the server notifies when it is ready: `systemd`, `upstart`, whichever started it (`auto`), or none (`no`).", "options/main.rs"),
    text("pidfile", "").immutable().does("File for the process ID. Empty is `/var/run/larder.pid` with `daemonize yes`, and no file otherwise.", "start.rs"),
    one_of("loglevel", LogThreshold::NAMES, "notice")
        .does("Lowest level of messages that are logged. `nothing` logs none.", "options/main.rs"),
    text("logfile", "").immutable().does("Log file; empty logs to standard output.", "start.rs"),
    one_of("log-format", LogFormat::NAMES, "legacy").does("Format of log lines: that of Redis (`legacy`), `key=value` pairs (`logfmt`) or JSON objects (`json`).", "options/process.rs"),
    one_of("log-timestamp-format", LogTimestampFormat::NAMES, "legacy")
        .does("Format of times in log lines: `02 Nov 2026 08:01:09.007` (`legacy`), ISO 8601 (`iso8601`) or milliseconds since 1970 (`milliseconds`).", "options/process.rs"),
    yes_no("hide-user-data-from-log", "yes")
        .hot_bool(|h| &h.hide_user_data_from_log)
        .does("Omits command arguments from crash reports and the log.", "crashes.rs"),
    yes_no("syslog-enabled", "no").immutable().does("Also writes the log to syslog.", "options/main.rs"),
    text("syslog-ident", "larder").immutable().does("Name of the server in syslog.", "options/main.rs"),
    one_of("syslog-facility", FACILITIES, "local0").immutable().does("Facility of the messages in syslog.", "options/main.rs"),
    yes_no("always-show-logo", "no")
        .immutable()
        .does("Prints the logo even if the output is not a terminal.", "options/main.rs"),
    yes_no("set-proc-title", "yes")
        .immutable()
        .does("Sets the title of the process, as `ps` shows it, from `proc-title-template`.", "options/main.rs"),
    checked_text("proc-title-template", title_template, TITLE)
        .does("Template of the process title. Variables: `{title}`, `{listen-addr}`, `{server-mode}`, `{port}`, `{tls-port}`, `{unixsocket}`, `{config-file}`.", "options/main.rs"),
    yes_no("crash-log-enabled", "yes")
        .does("Writes a report to the log when the server crashes.", "crashes.rs"),
    yes_no("crash-memcheck-enabled", "no").ignored("no memory test after a crash"),
    text("debug-context", "").hidden().immutable().does("Text added to crash reports.", "options/main.rs"),
    yes_no("enable-debug-assert", "no").hidden().immutable().ignored("no optional assertions"),
    text("ignore-warnings", "").dormant("startup warnings that prevent the start"),
    checked_text("locale-collate", locale, "").dormant("collation of strings"),
    text("availability-zone", "").does("Availability zone of the server, reported by `INFO` and `HELLO`.", "options/main.rs"),
    special("dir", Special::Dir, ".")
        .protected()
        .does("Working directory, which contains the data files.", "options/main.rs"),
    option("shutdown-on-sigint", Kind::Flags(SHUTDOWN), "default")
        .does("How `SIGINT` shuts the server down. `default` saves if save points are configured and waits for replicas. `save` always saves, `nosave` never; `now` does not wait for replicas; `force` ignores errors; `safe` refuses to stop a cluster primary that has slots; `failover` first makes a replica the primary, in a cluster.", "options/process.rs"),
    option("shutdown-on-sigterm", Kind::Flags(SHUTDOWN), "default")
        .does("How `SIGTERM` shuts the server down; see `shutdown-on-sigint`.", "options/process.rs"),
    int("shutdown-timeout", 0, INT_MAX, "10")
        .does("Maximum seconds that a primary waits at shutdown until its replicas have all writes; 0 does not wait.", "replication/roles.rs"),
    one_of("oom-score-adj", OomScoreAdj::NAMES, "no")
        .does("Sets the OOM score of the process, from the first of `oom-score-adj-values`: added to the initial score (`relative`, `yes`) or instead of it (`absolute`). `no` keeps the initial score.", "options/main.rs"),
    special("oom-score-adj-values", Special::OomScores, "0 200 800").does(
        "OOM scores of a primary, a replica and a child process, each -2000 to 2000. Larder uses the first and limits it to -1000 to 1000.",
        "options/main.rs",
    ),
    yes_no("disable-thp", "yes")
        .immutable()
        .does("Disables transparent huge pages for the process.", "options/process.rs"),
    yes_no("jemalloc-bg-thread", "yes").does(
        "Returns free memory to the system in a background thread of the allocator.",
        "options/process.rs",
    ),
    text("server-cpulist", "")
        .alias(&["server_cpulist"])
        .immutable()
        .does("CPUs of the threads that serve clients, for example `0-3,8`; empty leaves the choice to the kernel.", "options/main.rs"),
    text("bio-cpulist", "")
        .alias(&["bio_cpulist"])
        .immutable()
        .does("CPUs of background threads, for example `0-3,8`; empty leaves the choice to the kernel.", "options/main.rs"),
    text("aof-rewrite-cpulist", "")
        .alias(&["aof_rewrite_cpulist"])
        .immutable()
        .does("CPUs of the thread that rewrites the append-only file, for example `0-3,8`; empty leaves the choice to the kernel.", "options/main.rs"),
    text("bgsave-cpulist", "")
        .alias(&["bgsave_cpulist"])
        .immutable()
        .does("CPUs of the thread that writes snapshots, for example `0-3,8`; empty leaves the choice to the kernel.", "options/main.rs"),
    int("hz", 0, INT_MAX, "10")
        .hot_int(|h| &h.hz)
        .does("Number of times per second that periodic tasks run, such as background expiry; limited to 1 to 500.", "options/main.rs"),
    int("databases", 1, INT_MAX, "16")
        .immutable()
        .hot_int(|h| &h.databases)
        .does("Number of databases; `cluster-databases` replaces it in cluster mode.", "memory.rs"),
    int("watchdog-period", 0, INT_MAX, "0").hidden().does(
        "Milliseconds after which the stack of a blocked thread is logged; 0 disables it.",
        "crashes.rs",
    ),
    yes_no("use-exit-on-panic", "no")
        .hidden()
        .does("Exits with code 1 after a panic, instead of terminating by a signal.", "options/main.rs"),
];

fn title_template(template: &str) -> Result<(), OptionError> {
    if template.trim_ascii().is_empty() {
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

/// Strings are compared byte by byte, as in these locales.
fn locale(name: &str) -> Result<(), OptionError> {
    match name {
        "" | "C" | "C.UTF-8" | "C.utf8" | "POSIX" => Ok(()),
        _ => Err(OptionError::Locale),
    }
}
